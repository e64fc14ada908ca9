"""BloscCodec and its options."""

from __future__ import annotations

from typing import Literal, TypeAlias

from omnizarr.compat.zarr.codecs._classes import BLOSC_CNAME, BLOSC_SHUFFLE, BloscCname, BloscCodec, BloscShuffle

__all__ = ["BLOSC_CNAME", "BLOSC_SHUFFLE", "BloscCname", "BloscCodec", "BloscShuffle"]

BloscShuffleLiteral: TypeAlias = Literal["noshuffle", "shuffle", "bitshuffle"]
BloscCnameLiteral: TypeAlias = Literal["lz4", "lz4hc", "blosclz", "snappy", "zlib", "zstd"]
