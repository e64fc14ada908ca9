"""Crc32cCodec."""

from __future__ import annotations

from omnizarr.compat.zarr.codecs._classes import Crc32cCodec

__all__ = ["Crc32cCodec"]
