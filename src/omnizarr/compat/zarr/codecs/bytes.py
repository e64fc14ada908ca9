"""BytesCodec, Endian."""

from __future__ import annotations

from omnizarr.compat.zarr.codecs._classes import BytesCodec, Endian

__all__ = ["BytesCodec", "Endian"]
