"""`crc32`, `crc32c`, `adler32`, `fletcher32` and `jenkins_lookup3`: a checksum of four bytes beside the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.bytes_to_bytes.crc32c import checksum as crc32c
from omnizarr.codecs.config_members import check, choice, integer, or_null, rule
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, check_size
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.errors import CodecError

__all__ = ["Adler32", "BoundChecksum", "Crc32", "Fletcher32", "JenkinsLookup3", "NumcodecsCrc32c"]

_LENGTH = 4

ChecksumLocation: TypeAlias = Literal["start", "end"]
_LOCATION = choice("start", "end", optional=True)


@cache
def _deflate() -> Any:
    return import_library("deflate")  # its checksums are ten times as fast as those of zlib


@dataclass(frozen=True, slots=True)
class Crc32(Numcodec, BytesCodec):
    """`{"id": "crc32", "location": "start"}`: the checksum of gzip."""

    name: ClassVar[str] = "numcodecs.crc32"
    id: ClassVar[str] = "crc32"
    location: ChecksumLocation = field(default="start", metadata=or_null(_LOCATION))

    def __post_init__(self) -> None:
        _default_location(self, "start")
        check(self)

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundChecksum:
        return BoundChecksum(spec, self.id, lambda data: int(_deflate().crc32(data)), self.location)


@dataclass(frozen=True, slots=True)
class Adler32(Numcodec, BytesCodec):
    """`{"id": "adler32", "location": "start"}`: the checksum of zlib."""

    name: ClassVar[str] = "numcodecs.adler32"
    id: ClassVar[str] = "adler32"
    location: ChecksumLocation = field(default="start", metadata=or_null(_LOCATION))

    def __post_init__(self) -> None:
        _default_location(self, "start")
        check(self)

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundChecksum:
        return BoundChecksum(spec, self.id, lambda data: int(_deflate().adler32(data)), self.location)


@dataclass(frozen=True, slots=True)
class NumcodecsCrc32c(Numcodec, BytesCodec):
    """`{"id": "crc32c", "location": "end"}`: the same as the core codec `crc32c` if the location is `end`."""

    name: ClassVar[str] = "numcodecs.crc32c"
    id: ClassVar[str] = "crc32c"
    location: ChecksumLocation = field(default="end", metadata=or_null(_LOCATION))

    def __post_init__(self) -> None:
        _default_location(self, "end")
        check(self)

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundChecksum:
        return BoundChecksum(spec, self.id, lambda data: crc32c()(data), self.location)


def _default_location(codec: Crc32 | Adler32 | NumcodecsCrc32c, location: ChecksumLocation) -> None:
    if codec.location is None:  # numcodecs also accepts null for the default
        object.__setattr__(codec, "location", location)


@dataclass(frozen=True, slots=True)
class Fletcher32(Numcodec, BytesCodec):
    """`{"id": "fletcher32"}`: the checksum of the HDF5 filter, after the data."""

    name: ClassVar[str] = "numcodecs.fletcher32"
    id: ClassVar[str] = "fletcher32"

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundChecksum:
        return BoundChecksum(spec, self.id, _fletcher32, "end")


def _fletcher32(data: Buffer) -> int:
    if not len(data):
        return 0  # numcodecs fails for empty data
    # numcodecs has no function for the checksum alone; the copy that `encode` makes costs little in comparison.
    encoded = import_library("numcodecs.fletcher32").Fletcher32().encode(data)
    return int.from_bytes(encoded[-_LENGTH:], "little")


def _is_prefix(value: Json) -> bool:
    return isinstance(value, bytes) or (
        isinstance(value, list) and all(is_integer(byte) and 0 <= byte < 256 for byte in value)
    )


@dataclass(frozen=True, slots=True)
class JenkinsLookup3(Numcodec, BytesCodec):
    """`{"id": "jenkins_lookup3", "initval": 0, "prefix": null}`: a hash of HDF5, after the data. `prefix` contains
    bytes that are hashed before the data, but not stored. numcodecs has no JSON form for them; omnizarr writes a list
    of integers."""

    name: ClassVar[str] = "numcodecs.jenkins_lookup3"
    id: ClassVar[str] = "jenkins_lookup3"
    initval: int = field(default=0, metadata=integer(0, 2**32 - 1, optional=True))
    prefix: bytes | None = field(default=None, metadata=or_null(rule("a list of bytes", _is_prefix, optional=True)))

    def __post_init__(self) -> None:
        check(self)
        if isinstance(self.prefix, list):
            object.__setattr__(self, "prefix", bytes(self.prefix))

    def configuration(self) -> dict[str, Json]:
        return {"initval": self.initval, "prefix": None if self.prefix is None else list(self.prefix)}

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundChecksum:
        return BoundChecksum(spec, self.id, partial(_jenkins, self.initval, self.prefix or b""), "end")


def _jenkins(seed: int, prefix: bytes, data: Buffer) -> int:
    if prefix:
        data = b"".join((prefix, data))
    return int(import_library("numcodecs.jenkins").jenkins_lookup3(np.frombuffer(data, np.uint8), seed))


class BoundChecksum(BoundBytesCodec):
    """A bound codec of this module. `encode` copies the data once, `decode` does not copy."""

    pace = 3000

    __slots__ = ("_checksum", "_first", "_name", "_spec", "encoded")

    def __init__(
        self, spec: ByteSpec, name: str, checksum: Callable[[Buffer], int], location: ChecksumLocation
    ) -> None:
        self._spec = spec
        self._name = name
        self._checksum = checksum
        self._first = location == "start"
        size = None if spec.size is None else spec.size + _LENGTH
        self.encoded = ByteSpec(size, spec.limit + _LENGTH, spec.itemsize)

    def encode(self, data: Buffer) -> Buffer:
        checksum = self._checksum(data).to_bytes(_LENGTH, "little")
        return b"".join((checksum, data) if self._first else (data, checksum))

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        view = memoryview(data)
        size = len(view) - _LENGTH
        if size < 0:
            raise CodecError(self._name, f"expected at least {_LENGTH} bytes, found {len(view)}")
        check_size(self._name, self._spec, size)
        content, suffix = (view[_LENGTH:], view[:_LENGTH]) if self._first else (view[:size], view[size:])
        stored, computed = int.from_bytes(suffix, "little"), self._checksum(content)
        if stored != computed:
            raise CodecError(
                self._name, f"the data are damaged: expected checksum {stored:#010x}, found {computed:#010x}"
            )
        return content
