"""Chunk manifests: a JSON object that gives the file, the offset and the length of each chunk.

    {"0.0": {"path": "s3://bucket/model.nc", "offset": 6144, "length": 48}, …}

A manifest may have millions of entries. It is read entry by entry into arrays of numbers, which take 24 bytes per entry
and dimension at most, instead of about 500 bytes in dictionaries.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr import _json
from omnizarr._json import Json, is_integer, utf8_text
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.errors import ArgumentError, MetadataError

__all__ = ["FilePart", "Manifest", "dump_manifest", "parse_manifest"]

_LARGEST = 2**63

# The form in which most programs write an entry. Others are parsed in steps, about ten times slower.
_ENTRY = re.compile(
    r'[ \t\r\n]*"([0-9a-z./]*)"[ \t\r\n]*:[ \t\r\n]*\{'
    r'[ \t\r\n]*"path"[ \t\r\n]*:[ \t\r\n]*"([^"\\\x00-\x1f]*)"[ \t\r\n]*,'
    r'[ \t\r\n]*"offset"[ \t\r\n]*:[ \t\r\n]*(0|[1-9][0-9]{0,17})[ \t\r\n]*,'
    r'[ \t\r\n]*"length"[ \t\r\n]*:[ \t\r\n]*(0|[1-9][0-9]{0,17})[ \t\r\n]*\}[ \t\r\n]*([,}])'
)
_SPACE = re.compile(r"[ \t\r\n]*")
_COORDINATE = r"(?:0|[1-9][0-9]{0,17})"


class FilePart(NamedTuple):
    """A part of a file."""

    path: str
    offset: int
    length: int


class Manifest:
    """The parts of files by chunk. Treat as read-only."""

    def __init__(
        self,
        rank: int,
        coordinates: npt.NDArray[np.int64],
        paths: Sequence[str],
        path_numbers: npt.NDArray[np.uint32],
        offsets: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
    ) -> None:
        self._rank = rank
        self._paths = paths
        limits = [int(limit) + 1 for limit in coordinates.max(axis=0)] if len(coordinates) else [1] * rank
        self._strides = _strides(limits)
        self._limits = limits
        numbers = self._numbers(coordinates)
        order = np.argsort(numbers, kind="stable")
        last = np.ones(len(order), bool)
        last[:-1] = numbers[order[1:]] != numbers[order[:-1]]  # of repeated members, the last one counts (R154)
        order = order[last]
        self._chunks = numbers[order]
        self._path_numbers, self._offsets, self._lengths = path_numbers[order], offsets[order], lengths[order]

    def __len__(self) -> int:
        return len(self._chunks)

    def _numbers(self, coordinates: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """A number for each chunk, in the order of coordinates."""
        numbers = np.zeros(len(coordinates), np.int64)
        for axis, stride in enumerate(self._strides):
            numbers += coordinates[:, axis] * stride
        return numbers

    def find(self, coordinates: Sequence[int]) -> FilePart | None:
        """The part of a file that holds a chunk; None if the manifest has no entry for it."""
        number = 0
        for coordinate, stride, limit in zip(coordinates, self._strides, self._limits, strict=True):
            if coordinate >= limit:
                return None
            number += coordinate * stride
        row = int(self._chunks.searchsorted(number))
        if row == len(self._chunks) or self._chunks[row] != number:
            return None
        return FilePart(self._paths[self._path_numbers[row]], int(self._offsets[row]), int(self._lengths[row]))

    def chunks(self) -> Iterator[tuple[int, ...]]:
        """The coordinates of all chunks, in order."""
        for number in self._chunks:
            rest, chunk = int(number), []
            for stride in self._strides:
                coordinate, rest = divmod(rest, stride)
                chunk.append(coordinate)
            yield tuple(chunk)


def _strides(limits: Sequence[int]) -> list[int]:
    strides = [1] * len(limits)
    for axis in range(len(limits) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * limits[axis]
    if limits and strides[0] * limits[0] >= _LARGEST:
        raise MetadataError(f"a chunk manifest has chunks up to {[limit - 1 for limit in limits]}, which are too many")
    return strides


def parse_manifest(data: bytes | bytearray | memoryview, rank: int, keys: ChunkKeys, what: str, limit: int) -> Manifest:
    """The manifest of an array with `rank` dimensions; MetadataError if it is invalid. `what` names it in errors."""
    if len(data) > limit:
        raise MetadataError(
            f"{what} is {len(data)} bytes long, more than the limit of {limit}",
            hint="raise the limit with `omnizarr.config.set(max_document_bytes=...)`",
        )
    try:
        text = utf8_text(bytes(data))
    except UnicodeDecodeError as error:
        raise MetadataError(f"{what} is not UTF-8 text: {error}") from None
    rows = _Rows(rank, keys, what)
    at = _expect(text, _skip(text, 0), "{", what)
    end = _skip(text, at)
    if text[end : end + 1] == "}":
        at = end + 1
    else:
        while True:
            match = _ENTRY.match(text, at)
            if match is not None:
                rows.add(match[1], match[2], int(match[3]), int(match[4]))
                at, after = match.end(), match[5]
            else:
                at, after = _slow_entry(text, at, rows, what)
            if after == "}":
                break
    if text[at:].strip(" \t\r\n"):
        raise MetadataError(f"{what} is not valid JSON: there is more text after the object")
    return rows.manifest()


class _Rows:
    """The entries so far."""

    def __init__(self, rank: int, keys: ChunkKeys, what: str) -> None:
        self._rank = rank
        self._keys = keys
        self._what = what
        self._form = re.compile(r"\.".join([_COORDINATE] * rank) if rank else "0?")
        self._paths: dict[str, int] = {}
        self._coordinates, self._path_numbers = array("q"), array("I")
        self._offsets, self._lengths = array("q"), array("q")

    def add(self, key: str, path: str, offset: int, length: int) -> None:
        if self._form.fullmatch(key):
            coordinates: Iterable[int] = map(int, key.split(".")) if self._rank else ()
        else:
            parsed = self._keys.coordinates(key, self._rank)
            if parsed is None or any(coordinate >= _LARGEST for coordinate in parsed):
                raise MetadataError(
                    f"{self._what}: {_json.describe(key)} is not the key of a chunk; expected {self._rank} coordinates "
                    "joined by dots"
                )
            coordinates = parsed
        if not path:
            return  # an absent chunk, as VirtualiZarr marks it in memory
        self._coordinates.extend(coordinates)
        self._path_numbers.append(self._paths.setdefault(path, len(self._paths)))
        self._offsets.append(offset)
        self._lengths.append(length)

    def manifest(self) -> Manifest:
        count = len(self._offsets)
        return Manifest(
            self._rank,
            np.array(self._coordinates, np.int64).reshape(count, self._rank),
            list(self._paths),
            np.array(self._path_numbers, np.uint32),
            np.array(self._offsets, np.int64),
            np.array(self._lengths, np.int64),
        )


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _expect(text: str, at: int, character: str, what: str) -> int:
    if text[at : at + 1] != character:
        actual = text[at : at + 20]
        raise MetadataError(f"{what} is not valid: expected `{character}` at character {at}, found {actual!r}")
    return at + 1


_DECODER = json.JSONDecoder()


def _slow_entry(text: str, at: int, rows: _Rows, what: str) -> tuple[int, str]:
    """Add one entry of any form; returns where the next one begins, and the character before it."""
    at = _skip(text, at)
    _expect(text, at, '"', what)
    try:
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _expect(text, _skip(text, at), ":", what))
        value, at = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError) as error:
        if isinstance(error, MetadataError):
            raise
        raise MetadataError(f"{what} is not valid JSON at character {at}: {error}") from None
    rows.add(key, *_checked(value, key, what))
    at = _skip(text, at)
    after = text[at : at + 1]
    if after not in (",", "}"):
        _expect(text, at, "}", what)
    return at + 1, after


def _checked(value: Json, key: str, what: str) -> tuple[str, int, int]:
    if isinstance(value, dict) and {"path", "offset", "length"} <= value.keys():
        path, offset, length = value["path"], value["offset"], value["length"]
        if isinstance(path, str) and all(is_integer(number) and 0 <= number < _LARGEST for number in (offset, length)):
            return path, offset, length
    raise MetadataError(
        f"{what}: entry {_json.describe(key)}: expected an object with `path`, a text, and `offset` and `length`, "
        f"integers of at least 0; found {_json.describe(value)}"
    )


def dump_manifest(entries: Mapping[tuple[int, ...], tuple[str, int, int]], rank: int) -> bytes:
    """A manifest as JSON, one entry per line. ArgumentError if an entry is invalid."""
    lines = []
    for chunk, part in entries.items():
        if not isinstance(chunk, tuple) or len(chunk) != rank or not all(_is_size(number) for number in chunk):
            raise ArgumentError(
                f"`entries`: expected the coordinates of a chunk, {rank} integers of at least 0, found {chunk!r}",
                argument="entries",
            )
        if not (
            isinstance(part, tuple | list)
            and len(part) == 3
            and isinstance(part[0], str)
            and part[0]
            and _is_size(part[1])
            and _is_size(part[2])
        ):
            raise ArgumentError(
                f"`entries`: expected a path, an offset and a length for chunk {chunk}, found {part!r}",
                argument="entries",
            )
        key = ".".join(str(int(number)) for number in chunk) or "0"
        value = {"path": part[0], "offset": int(part[1]), "length": int(part[2])}
        lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return ("{" + ",\n".join(lines) + "}\n").encode()


def _is_size(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and 0 <= int(value) < _LARGEST
