"""The member `compression` of N5 ↔ codecs (K8–K12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs import Blosc, BytesCodec, Codec, Gzip, Zstd
from omnizarr.codecs.bytes_to_bytes.lz4_blocks import MIN_BLOCK_SIZE, Lz4Blocks
from omnizarr.codecs.numcodecs_.bz2_ import Bz2
from omnizarr.codecs.numcodecs_.lzma_ import Lzma
from omnizarr.codecs.numcodecs_.v2_ids import codec_from_config
from omnizarr.codecs.numcodecs_.zlib_ import Zlib
from omnizarr.errors import ArgumentError

__all__ = ["COMPRESSIONS", "dump_compression", "parse_compression", "parse_compression_type"]

_SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")  # in the order of the numbers in documents
_XZ = 1  # `format` of the codec `lzma`
_XZ_CHECKS = (-1, 4)  # `check` of the codec `lzma`: the default is CRC64, the only one that N5 writers use
_DEFAULT_LEVEL = 6  # of DEFLATE


class _Members:
    """Reads the members of a compression, and reports those that are invalid."""

    def __init__(self, config: dict[str, Json], place: str, problems: Problems) -> None:
        self._config = config
        self._place = place
        self._problems = problems

    def integer(self, name: str, default: int | None, least: int, most: int) -> int:
        value = self._config.get(name, default)
        if not is_integer(value) or not least <= value <= most:
            self._problems.expected(f"{self._place}.{name}", f"an integer from {least} to {most}", value)
            return least
        number: int = value
        return number

    def flag(self, name: str) -> bool:
        value = self._config.get(name, False)
        if not isinstance(value, bool):
            self._problems.expected(f"{self._place}.{name}", "true or false", value)
        return value is True

    def text(self, name: str) -> Any:
        return self._config.get(name)

    def add(self, name: str, message: str) -> None:
        self._problems.add(f"{self._place}.{name}", message)


def _gzip(members: _Members) -> BytesCodec:
    level = members.integer("level", -1, -1, 9)
    level = _DEFAULT_LEVEL if level < 0 else level
    return Zlib(level) if members.flag("useZlib") else Gzip(level)


def _xz(members: _Members) -> BytesCodec:
    return Lzma(format=_XZ, preset=members.integer("preset", 6, 0, 9))


def _blosc(members: _Members) -> BytesCodec | None:
    shuffle = members.integer("shuffle", 1, 0, 2)
    try:
        return Blosc(
            cname=members.text("cname"),
            clevel=members.integer("clevel", 5, 0, 9),
            shuffle=_SHUFFLES[shuffle],  # type: ignore[arg-type]
            blocksize=members.integer("blocksize", 0, 0, 2**31 - 1),
        )
    except ArgumentError as error:
        members.add("cname", error.message)
        return None


_PARSERS: dict[str, Callable[[_Members], BytesCodec | None]] = {
    "raw": lambda members: None,
    "gzip": _gzip,
    "bzip2": lambda members: Bz2(members.integer("blockSize", 9, 1, 9)),
    "xz": _xz,
    "lz4": lambda members: Lz4Blocks(members.integer("blockSize", 2**16, 0, 2**25)),
    "blosc": _blosc,
    "zstd": lambda members: Zstd(members.integer("level", 3, -131072, 22)),
}
COMPRESSIONS = tuple(_PARSERS)
"""The types of compression."""


def parse_compression(config: Json, place: str, problems: Problems) -> BytesCodec | None:
    """The codec of a compression at `place`; None if there is none, or if it is invalid."""
    if not isinstance(config, dict):
        problems.expected(place, "an object with the `type` of a compression", config, rule="K8")
        return None
    name = config.get("type")
    if "id" in config or name == "lzma":  # zarr-python 2 stores codecs that N5 does not have in the form of numcodecs
        codec = codec_from_config(_numcodecs_config(config), place, problems)
        if codec is not None and not isinstance(codec, BytesCodec):
            problems.add(f"{place}.id", f"expected a compressor, found the codec `{codec.name}`", rule="K8")
            return None
        return codec
    parser = _PARSERS.get(name) if isinstance(name, str) else None
    if parser is None:
        problems.unknown(f"{place}.type", "compression", str(name), COMPRESSIONS, rule="K8")
        return None
    return parser(_Members(config, place, problems))


def _numcodecs_config(config: dict[str, Json]) -> dict[str, Json]:
    return {"id": config.get("type"), **{name: value for name, value in config.items() if name != "type"}}


def parse_compression_type(name: Json, place: str, problems: Problems) -> BytesCodec | None:
    """The codec of a member `compressionType`, which N5 had up to version 1 in place of `compression`."""
    if not isinstance(name, str):
        problems.expected(place, "the name of a compression", name, rule="K8")
        return None
    if name not in COMPRESSIONS:
        problems.unknown(place, "compression", name, COMPRESSIONS, rule="K8")
        return None
    return parse_compression({"type": name, **({"cname": "lz4"} if name == "blosc" else {})}, place, problems)


def dump_compression(codec: Codec | None, itemsize: int) -> dict[str, Json] | None:
    """The member `compression` for elements of `itemsize` bytes; None if N5 cannot express the codec. The members are
    exactly those that TensorStore accepts."""
    match codec:
        case None:
            return {"type": "raw"}
        case Gzip(level=level):
            return {"type": "gzip", "level": level, "useZlib": False}
        case Zlib(level=level):
            return {"type": "gzip", "level": level, "useZlib": True}
        case Bz2(level=level):
            return {"type": "bzip2", "blockSize": level}
        case Lzma(format=format, check=check, preset=preset, filters=None) if format == _XZ and check in _XZ_CHECKS:
            preset = 6 if preset is None else preset
            return {"type": "xz", "preset": preset} if preset <= 9 else None
        case Lz4Blocks(block_size=size) if size >= MIN_BLOCK_SIZE:
            return {"type": "lz4", "blockSize": size}
        case Blosc(typesize=typesize) if typesize in (None, itemsize):
            shuffle = codec.shuffle or ("bitshuffle" if itemsize == 1 else "shuffle")
            return {
                "type": "blosc",
                "cname": codec.cname,
                "clevel": codec.clevel,
                "shuffle": _SHUFFLES.index(shuffle),
                "blocksize": codec.blocksize,
            }
        case Zstd(level=level, checksum=False):
            return {"type": "zstd", "level": level}
    return None
