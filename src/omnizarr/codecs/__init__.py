"""Codecs: one file per registered name, the chain that binds them, and the reading of codec lists.

from omnizarr.codecs import Blosc, Zstd
omnizarr.create_array(..., compressors=[Zstd(level=3)])
"""

from __future__ import annotations

from omnizarr.codecs.blosc import Blosc
from omnizarr.codecs.bytes_ import Bytes
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
from omnizarr.codecs.crc32c import Crc32c
from omnizarr.codecs.gzip import Gzip
from omnizarr.codecs.parsing import Skipped, codec_of, parse_codecs
from omnizarr.codecs.sharding import BoundSharding, Sharding
from omnizarr.codecs.transpose import Transpose
from omnizarr.codecs.zstd import Zstd

__all__ = [
    "ArrayCodec",
    "Blosc",
    "BoundSharding",
    "Buffer",
    "ByteSpec",
    "Bytes",
    "BytesCodec",
    "Chain",
    "ChunkSpec",
    "Codec",
    "Crc32c",
    "Gzip",
    "Serializer",
    "Sharding",
    "Skipped",
    "Transpose",
    "Zstd",
    "codec_of",
    "codecs",
    "parse_codecs",
]
