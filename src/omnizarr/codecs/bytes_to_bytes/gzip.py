"""The `gzip` codec: DEFLATE in the gzip container (R89)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.bytes_to_bytes.streams import decode_streams
from omnizarr.codecs.config_members import check, integer, read
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, compressed
from omnizarr.errors import CodecError

__all__ = ["BoundDeflate", "BoundGzip", "Gzip"]

_GZIP, _ZLIB = 31, 15  # `wbits` of the two containers of DEFLATE
_ZLIB_LEVEL = 6
_GZIP_MAGIC = b"\x1f\x8b"


@cache
def _decoder() -> Any:
    return import_library("isal.isal_zlib")  # twice as fast as zlib


@cache
def _encoder() -> Any:
    return import_library("deflate")  # libdeflate: 2.4 times as fast as zlib, with smaller output


@dataclass(frozen=True, slots=True)
class Gzip(BytesCodec):
    """`{"name": "gzip", "configuration": {"level": 5}}`: level 0 does not compress, 1 is fastest, 9 is smallest."""

    name: ClassVar[str] = "gzip"
    spec_rule: ClassVar[str | None] = "R89"
    shares_bound: ClassVar[bool] = True
    level: int = field(default=5, metadata=integer(0, 9))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Gzip | None:
        """Accepts what n5-zarr writes: `useZlib: false`, and -1 as the default level of zlib."""
        members = dict(configuration)
        if members.get("useZlib") is False:
            del members["useZlib"]
            problems.warn(f"{path}.configuration.useZlib", "is an option of n5-zarr, and is ignored", rule="R89")
        if is_integer(members.get("level")) and members["level"] == -1:
            members["level"] = _ZLIB_LEVEL
            message = f"-1 is read as {_ZLIB_LEVEL}, the default level of zlib"
            problems.warn(f"{path}.configuration.level", message, rule="R89")
        arguments = read(cls, members, path, problems)
        return None if arguments is None else cls(**arguments)

    def configuration(self) -> dict[str, Json]:
        return {"level": self.level}

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundGzip:
        return BoundGzip(spec, self.level)


class BoundDeflate(BoundBytesCodec):
    """Base for the two containers of DEFLATE, gzip and zlib.

    `decode` detects the container from the first bytes, because zarr 2.0 wrote zlib streams under the name gzip (A49).
    Like the `gzip` tool, it accepts several streams, and zeros after the last one; any other trailing data are an
    error.
    """

    pace = 300

    __slots__ = ("_gzip", "_level", "_name", "_spec", "encoded")

    def __init__(self, spec: ByteSpec, level: int, name: str, *, gzip: bool) -> None:
        self._spec = spec
        self._level = level
        self._name = name
        self._gzip = gzip
        self.encoded = compressed(spec)

    def encode(self, data: Buffer) -> Buffer:
        library = _encoder()
        try:
            compress = library.gzip_compress if self._gzip else library.zlib_compress
            stream: bytearray = compress(data, self._level)
        except library.DeflateError as error:
            raise CodecError(self._name, str(error)) from None
        return stream

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        library = _decoder()
        container = _GZIP if self._gzip else _ZLIB
        if bytes(data[:2]) == _GZIP_MAGIC:
            container = _GZIP
        elif _is_zlib(data):
            container = _ZLIB
        return decode_streams(self._name, data, self._spec, lambda: library.decompressobj(container), library.error)


class BoundGzip(BoundDeflate):
    """A bound `Gzip`."""

    native = "gzip"

    __slots__ = ("native_options",)

    def __init__(self, spec: ByteSpec, level: int) -> None:
        super().__init__(spec, level, "gzip", gzip=True)
        self.native_options = (level,)


def _is_zlib(data: Buffer) -> bool:
    """Whether the data begin with a zlib header (RFC 1950)."""
    return len(data) >= 2 and data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
