"""The `gzip` codec: DEFLATE in gzip's container (R89)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from omnizarr._json import Json, Problems
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, codecs
from omnizarr.codecs.members import check, integer, read
from omnizarr.codecs.sizes import check_size, compressed
from omnizarr.errors import CodecError

__all__ = ["BoundGzip", "Gzip"]

_STEP = 2**16
"""How much input further members are fed at a time: the library copies what a member leaves over, and with all of the
rest at each of many tiny members that would take quadratic time."""


@cache
def _decoder() -> Any:
    return import_module("isal.isal_zlib")  # twice as fast as zlib


@cache
def _encoder() -> Any:
    return import_module("deflate")  # libdeflate: 2.4 times as fast as zlib, and smaller


@dataclass(frozen=True, slots=True)
class Gzip(BytesCodec):
    """`{"name": "gzip", "configuration": {"level": 5}}`: 0 stores, 1 is fastest, 9 is smallest."""

    name: ClassVar[str] = "gzip"
    level: int = field(default=5, metadata=integer(0, 9))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Gzip | None:
        found = read(cls, configuration, path, problems)
        return None if found is None else cls(**found)

    def configuration(self) -> dict[str, Json]:
        return {"level": self.level}

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundGzip:
        return BoundGzip(spec, self.level)


class BoundGzip(BoundBytesCodec):
    """Reads any number of members, and zeros after the last one, as `gzip` itself does; any other rest is an error."""

    pace = 300

    __slots__ = ("_level", "_room", "_spec", "encoded")

    def __init__(self, spec: ByteSpec, level: int) -> None:
        self._spec = spec
        self._room = (spec.limit if spec.size is None else spec.size) + 1  # one more, to notice what is too long
        self._level = level
        self.encoded = compressed(spec)

    def encode(self, data: Buffer) -> Buffer:
        library = _encoder()
        try:
            member: bytearray = library.gzip_compress(data, self._level)
        except library.DeflateError as error:
            raise CodecError("gzip", str(error)) from None
        return member

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        library = _decoder()
        member = library.decompressobj(31)  # 31: gzip's header and check sum
        try:
            piece: bytes = member.decompress(data, self._room)
            if member.eof and not member.unused_data:
                check_size("gzip", self._spec, len(piece))
                return piece
            return self._decode_members(data, member, piece)
        except library.error as error:
            raise CodecError("gzip", str(error)) from None

    def _decode_members(self, data: Buffer, member: Any, piece: bytes) -> bytes:
        """The rest of the work after a first `piece` that was not everything."""
        view = memoryview(data)
        pieces = [piece]
        room = self._room - len(piece)
        at = len(view) - len(member.unused_data)
        while room:
            if not member.eof:
                if at == len(view):
                    raise CodecError("gzip", "the data end in the middle of a member")
            elif at == len(view):
                break
            elif not view[at]:
                if bytes(view[at:]).strip(b"\0"):
                    raise CodecError("gzip", f"no gzip member, nor only zeros, from byte {at} on")
                break
            else:
                member = _decoder().decompressobj(31)
            window = view[at : at + _STEP]
            piece = member.decompress(window, room)
            at += len(window) - len(member.unused_data)
            room -= len(piece)
            pieces.append(piece)
        if not room:
            raise CodecError("gzip", f"decodes to more than the {self._room - 1} bytes expected")
        joined = b"".join(pieces)
        check_size("gzip", self._spec, len(joined))
        return joined


codecs.register(Gzip.name, Gzip)
