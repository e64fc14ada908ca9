"""BytesCodec and its options."""

from __future__ import annotations

from typing import Literal, TypeAlias

from omnizarr.compat.zarr.codecs._classes import ENDIAN, BytesCodec, Endian

__all__ = ["ENDIAN", "BytesCodec", "Endian"]

EndianLiteral: TypeAlias = Literal["little", "big"]
