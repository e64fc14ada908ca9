"""`lz4`: one LZ4 block after a header of four bytes with the decoded size; not the frame format of the `lz4` tool."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np

from omnizarr._fork import import_library
from omnizarr._json import Problems
from omnizarr.codecs.config_members import check, integer
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, check_size, compressed
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.errors import CodecError

__all__ = ["BoundLz4", "Lz4"]

_HEADER = 4
_MAX_BYTES = 0x7E000000  # limit of the library
_MAX_RATIO = 255  # decoded bytes per encoded byte


@cache
def _library() -> Any:
    return import_library("numcodecs.lz4")


@dataclass(frozen=True, slots=True)
class Lz4(Numcodec, BytesCodec):
    """`{"id": "lz4", "acceleration": 1}`: larger numbers are faster, with larger output."""

    name: ClassVar[str] = "numcodecs.lz4"
    id: ClassVar[str] = "lz4"
    acceleration: int = field(default=1, metadata=integer(-(2**31), 2**31 - 1, optional=True))

    def __post_init__(self) -> None:
        check(self)

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundLz4:
        return BoundLz4(spec, self.acceleration)


class BoundLz4(BoundBytesCodec):
    """A bound `Lz4`. The library trusts the size in the header, so `decode` checks it first."""

    pace = 2000

    __slots__ = ("_acceleration", "_spec", "encoded")

    def __init__(self, spec: ByteSpec, acceleration: int) -> None:
        self._spec = spec
        self._acceleration = acceleration
        self.encoded = compressed(spec)

    def encode(self, data: Buffer) -> Buffer:
        if len(data) > _MAX_BYTES:
            raise CodecError("lz4", f"expected at most {_MAX_BYTES} bytes for a block, found {len(data)}")
        try:
            encoded: bytes = _library().compress(data, self._acceleration)
        except (RuntimeError, ValueError) as error:
            raise CodecError("lz4", str(error)) from None
        return encoded

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        if len(data) < _HEADER:
            raise CodecError("lz4", f"expected at least {_HEADER} bytes, found {len(data)}")
        size = int.from_bytes(data[:_HEADER], "little")
        check_size("lz4", self._spec, size)
        if size > _MAX_RATIO * len(data) or size > _MAX_BYTES:
            raise CodecError("lz4", f"the header declares {size} bytes, which {len(data)} encoded bytes cannot contain")
        if not size:
            return b""  # the library raises for empty content
        room = out if out is not None and len(out) == size else np.empty(size, np.uint8).data
        try:
            _library().decompress(data, np.frombuffer(room, np.uint8))
        except (RuntimeError, ValueError):
            raise CodecError("lz4", "the block is damaged") from None
        return room
