"""GzipCodec."""

from __future__ import annotations

from omnizarr.compat.zarr.codecs._classes import GzipCodec

__all__ = ["GzipCodec"]
