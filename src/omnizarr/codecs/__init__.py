"""All codecs: one file per registered name, in a folder per kind; `Chain` combines them; a parser reads codec lists.

from omnizarr.codecs import Blosc, Zstd
omnizarr.create_array(..., compressors=[Zstd(level=3)])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import omnizarr.codecs.numcodecs_  # noqa: F401  # registers its codecs
from omnizarr.codecs.array_to_array.transpose import Transpose
from omnizarr.codecs.array_to_bytes.bytes_ import Bytes
from omnizarr.codecs.bytes_to_bytes.crc32c import Crc32c
from omnizarr.codecs.chain import Chain
from omnizarr.codecs.contract import (
    ArrayCodec,
    Buffer,
    BytesCodec,
    ByteSpec,
    ChunkSpec,
    Codec,
    Serializer,
    codecs,
)
from omnizarr.codecs.parsing import Skipped, codec_of, parse_codecs
from omnizarr.codecs.sharding import BoundSharding, Sharding

if TYPE_CHECKING:
    from omnizarr.codecs.array_to_array.bit_round import BitRound
    from omnizarr.codecs.array_to_array.cast_value import CastValue
    from omnizarr.codecs.array_to_array.reshape import Reshape
    from omnizarr.codecs.array_to_array.scale_offset import ScaleOffset
    from omnizarr.codecs.array_to_bytes.n5_default import N5Default
    from omnizarr.codecs.array_to_bytes.numpy_bytes import StoredBytes, plain_serializer
    from omnizarr.codecs.array_to_bytes.pack_bits import PackBits
    from omnizarr.codecs.array_to_bytes.vlen import VlenBytes, VlenUtf8
    from omnizarr.codecs.array_to_bytes.zfp import Zfp
    from omnizarr.codecs.bytes_to_bytes.blosc import Blosc
    from omnizarr.codecs.bytes_to_bytes.conditional import Conditional
    from omnizarr.codecs.bytes_to_bytes.gzip import Gzip
    from omnizarr.codecs.bytes_to_bytes.zstd import Zstd

__all__ = [
    "ArrayCodec",
    "BitRound",
    "Blosc",
    "BoundSharding",
    "Buffer",
    "ByteSpec",
    "Bytes",
    "BytesCodec",
    "CastValue",
    "Chain",
    "ChunkSpec",
    "Codec",
    "Conditional",
    "Crc32c",
    "Gzip",
    "N5Default",
    "PackBits",
    "Reshape",
    "ScaleOffset",
    "Serializer",
    "Sharding",
    "Skipped",
    "StoredBytes",
    "Transpose",
    "VlenBytes",
    "VlenUtf8",
    "Zfp",
    "Zstd",
    "codec_of",
    "codecs",
    "parse_codecs",
    "plain_serializer",
]

_LAZY = {
    "BitRound": "array_to_array.bit_round",
    "Blosc": "bytes_to_bytes.blosc",
    "CastValue": "array_to_array.cast_value",
    "Conditional": "bytes_to_bytes.conditional",
    "Gzip": "bytes_to_bytes.gzip",
    "N5Default": "array_to_bytes.n5_default",
    "PackBits": "array_to_bytes.pack_bits",
    "Reshape": "array_to_array.reshape",
    "ScaleOffset": "array_to_array.scale_offset",
    "StoredBytes": "array_to_bytes.numpy_bytes",
    "VlenBytes": "array_to_bytes.vlen",
    "VlenUtf8": "array_to_bytes.vlen",
    "Zfp": "array_to_bytes.zfp",
    "Zstd": "bytes_to_bytes.zstd",
    "plain_serializer": "array_to_bytes.numpy_bytes",
}
"""Names that are imported at first use, and their modules."""

_ZARRS = "https://codec.zarrs.dev/"
"""Prefix of codec names in zarrs before the registry of codecs existed. Later names begin with `zarrs.`."""

_names: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("bitround", "BitRound", (f"{_ZARRS}array_to_array/bitround", f"{_ZARRS}array_to_bytes/bitround")),
    ("blosc", "Blosc", ()),
    ("cast_value", "CastValue", ()),
    ("conditional", "Conditional", ()),
    ("gzip", "Gzip", ()),
    ("n5_default", "N5Default", ()),
    ("packbits", "PackBits", ()),
    ("reshape", "Reshape", ("zarrs.reshape",)),
    ("scale_offset", "ScaleOffset", ()),
    ("vlen-bytes", "VlenBytes", (f"{_ZARRS}array_to_bytes/vlen_bytes",)),
    ("vlen-utf8", "VlenUtf8", (f"{_ZARRS}array_to_bytes/vlen_utf8",)),
    ("zfp", "Zfp", ("zarrs.zfp", f"{_ZARRS}array_to_bytes/zfp")),
    ("zstd", "Zstd", ()),
)
for _name, _class, _aliases in _names:
    codecs.offer(_name, f"{__name__}.{_LAZY[_class]}:{_class}", aliases=_aliases)

_names = (
    ("zarrs.squeeze", "squeeze:Squeeze", (f"{_ZARRS}array_to_array/squeeze",)),
    ("zarrs.vlen", "vlen:OffsetVlen", (f"{_ZARRS}array_to_bytes/vlen",)),
    (
        "zarrs.vlen_v2",
        "vlen_v2:VlenV2",
        (
            *("vlen-array", "numcodecs.vlen-array"),
            *(f"{_ZARRS}array_to_bytes/vlen_v2", f"{_ZARRS}array_to_bytes/vlen_array"),
        ),
    ),
)
for _name, _class, _aliases in _names:
    codecs.offer(_name, f"{__name__}.zarrs_.{_class}", aliases=_aliases)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "numcodecs_"]
