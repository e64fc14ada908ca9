"""The `sharding_indexed` codec. It knows where inner chunks lie in a shard's bytes, once it is given the index; it
fetches nothing itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems, is_integer, nearest
from omnizarr.codecs.bytes_ import Bytes
from omnizarr.codecs.chain import Chain
from omnizarr.codecs.contract import (
    BoundSerializer,
    Buffer,
    ByteSpec,
    ChunkSpec,
    Codec,
    Serializer,
    codecs,
)
from omnizarr.codecs.crc32c import Crc32c
from omnizarr.codecs.parsing import codec_of, parse_codecs
from omnizarr.codecs.sharding.index import Index
from omnizarr.config import config
from omnizarr.dtypes import is_fill
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["BoundSharding", "Sharding"]

_MEMBERS = ("chunk_shape", "codecs", "index_codecs", "index_location")


@dataclass(frozen=True, slots=True)
class Sharding(Serializer):
    """Inner chunks of `chunk_shape`, encoded by `codecs`, with an index encoded by `index_codecs` at one end."""

    name: ClassVar[str] = "sharding_indexed"
    chunk_shape: tuple[int, ...]
    codecs: tuple[Codec, ...] = (Bytes("little"),)
    index_codecs: tuple[Codec, ...] = (Bytes("little"), Crc32c())
    index_location: Literal["start", "end"] = "end"

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunk_shape", tuple(int(length) for length in self.chunk_shape))
        object.__setattr__(self, "codecs", tuple(codec_of(codec, "codecs") for codec in self.codecs))
        object.__setattr__(self, "index_codecs", tuple(codec_of(codec, "index_codecs") for codec in self.index_codecs))
        if any(length < 1 for length in self.chunk_shape):
            raise ArgumentError(
                f"`chunk_shape`: expected lengths of at least 1, found {self.chunk_shape}", argument="chunk_shape"
            )
        if self.index_location not in ("start", "end"):
            raise ArgumentError(
                f'`index_location`: expected "start" or "end", found {self.index_location!r}', argument="index_location"
            )

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Sharding | None:
        before = len(problems.found)
        where = f"{path}.configuration"
        for member in configuration:
            if member not in _MEMBERS:
                problems.add(f"{where}.{member}", "unknown member", hint=nearest(member, _MEMBERS))
        shape = configuration.get("chunk_shape")
        if not isinstance(shape, list) or not all(is_integer(length) and length > 0 for length in shape):
            problems.expected(f"{where}.chunk_shape", "a list of integers of at least 1", shape)
        inner = parse_codecs(configuration.get("codecs"), f"{where}.codecs", problems)
        index = parse_codecs(configuration.get("index_codecs"), f"{where}.index_codecs", problems)
        location = configuration.get("index_location", "end")
        if location not in ("start", "end"):
            problems.expected(f"{where}.index_location", '"start" or "end"', location)
        if len(problems.found) > before:
            return None
        assert isinstance(shape, list)
        return cls(tuple(shape), inner, index, location)

    def configuration(self) -> dict[str, Json]:
        return {
            "chunk_shape": list(self.chunk_shape),
            "codecs": [codec.to_json() for codec in self.codecs],
            "index_codecs": [codec.to_json() for codec in self.index_codecs],
            "index_location": self.index_location,
        }

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundSharding | None:
        where = f"{path}.configuration"
        if len(self.chunk_shape) != len(spec.shape):
            problems.add(
                f"{where}.chunk_shape",
                f"has {len(self.chunk_shape)} lengths, but the shard has {len(spec.shape)} dimensions",
            )
            return None
        for axis, (inner, outer) in enumerate(zip(self.chunk_shape, spec.shape, strict=True)):
            if outer % inner:
                problems.add(f"{where}.chunk_shape[{axis}]", f"{inner} does not divide the shard's length {outer}")
                return None
        grid = tuple(outer // inner for inner, outer in zip(self.chunk_shape, spec.shape, strict=True))
        chain = Chain.bind(self.codecs, ChunkSpec(self.chunk_shape, spec.dtype, spec.fill), f"{where}.codecs", problems)
        empty = np.array(2**64 - 1, np.uint64)
        entries = ChunkSpec((*grid, 2), np.dtype(np.uint64), empty)
        index = Chain.bind(self.index_codecs, entries, f"{where}.index_codecs", problems)
        if index is not None and index.encoded.size is None:
            problems.add(f"{where}.index_codecs", "the index must have a fixed size, so no codec may compress it (R97)")
            return None
        if chain is None or index is None:
            return None
        return BoundSharding(spec, grid, chain, index, at_start=self.index_location == "start")


class BoundSharding(BoundSerializer):
    """A sharding codec that knows its shards."""

    def __init__(self, spec: ChunkSpec, grid: tuple[int, ...], inner: Chain, index: Chain, *, at_start: bool) -> None:
        self.spec = spec
        self.grid = grid
        """How many inner chunks a shard has along each dimension."""
        self.inner = inner
        self._index = index
        assert index.encoded.size is not None
        self.index_size: int = index.encoded.size
        self.at_start = at_start
        self.count = prod(grid)
        self.encoded = ByteSpec(None, config.max_chunk_bytes)

    @property
    def index_range(self) -> tuple[int, int | None]:
        """Where the index lies in a shard, as a byte range."""
        return (0, self.index_size) if self.at_start else (-self.index_size, None)

    def decode_index(self, data: Buffer, shard_size: int | None = None) -> Index:
        """The index, from the bytes that lie at `index_range`."""
        if len(data) != self.index_size:
            raise CodecError(
                Sharding.name,
                f"the shard is too short for its index: expected {self.index_size} bytes, found {len(data)}",
            )
        return Index(self._index.decode(data).reshape(-1, 2), shard_size)

    def split(self, data: Buffer) -> list[Buffer | None]:
        """A shard's inner chunks as views, in C order; None for the empty ones."""
        view = memoryview(data)
        start, length = self.index_range
        index = self.decode_index(view[start:] if length is None else view[:length], len(view))
        return [None if place is None else view[place[0] : place[0] + place[1]] for place in index]

    def join(self, parts: Sequence[Buffer | None]) -> Buffer:
        """A shard made of encoded inner chunks, in C order; None for the empty ones."""
        entries = np.full((self.count, 2), 2**64 - 1, np.uint64)
        position = self.index_size if self.at_start else 0
        pieces: list[Buffer] = []
        for number, part in enumerate(parts):
            if part is not None:
                entries[number] = position, len(part)
                position += len(part)
                pieces.append(part)
        index = self._index.encode(entries.reshape(*self.grid, 2))
        return b"".join([index, *pieces] if self.at_start else [*pieces, index])

    def cells(self) -> Iterator[tuple[slice, ...]]:
        """Where each inner chunk lies in the shard's array, in C order."""
        shape = self.inner.spec.shape
        return product(
            *([slice(i * size, (i + 1) * size) for i in range(n)] for n, size in zip(self.grid, shape, strict=True))
        )

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        fill = self.spec.fill
        parts = (array[cell] for cell in self.cells())
        return self.join([None if is_fill(part, fill) else self.inner.encode(part) for part in parts])

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        array = np.empty(self.spec.shape, self.spec.dtype)
        for cell, part in zip(self.cells(), self.split(data), strict=True):
            array[cell] = self.spec.fill if part is None else self.inner.decode(part)
        return array


codecs.register(Sharding.name, Sharding)
