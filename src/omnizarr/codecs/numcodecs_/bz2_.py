"""`bz2`: bzip2 streams."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from omnizarr._fork import import_library
from omnizarr._json import Problems
from omnizarr.codecs.bytes_to_bytes.streams import decode_streams
from omnizarr.codecs.config_members import check, integer
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, compressed
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.errors import CodecError

__all__ = ["BoundBz2", "Bz2"]


@cache
def _library() -> Any:
    try:
        return import_library("bz2")
    except ImportError:  # some builds of Python lack it
        raise CodecError("bz2", "this build of Python lacks the module `bz2`") from None


@dataclass(frozen=True, slots=True)
class Bz2(Numcodec, BytesCodec):
    """`{"id": "bz2", "level": 1}`: the level is the block size in units of 100 kB, from 1 to 9."""

    name: ClassVar[str] = "numcodecs.bz2"
    id: ClassVar[str] = "bz2"
    level: int = field(default=1, metadata=integer(1, 9, optional=True))

    def __post_init__(self) -> None:
        check(self)

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundBz2:
        return BoundBz2(spec, self.level)


class BoundBz2(BoundBytesCodec):
    """A bound `Bz2`. It reads several streams, which parallel implementations of bzip2 write for large data."""

    pace = 40

    __slots__ = ("_level", "_spec", "encoded")

    def __init__(self, spec: ByteSpec, level: int) -> None:
        self._spec = spec
        self._level = level
        self.encoded = compressed(spec)

    def encode(self, data: Buffer) -> Buffer:
        encoded: bytes = _library().compress(data, self._level)
        return encoded

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        return decode_streams("bz2", data, self._spec, _library().BZ2Decompressor, (OSError, ValueError))
