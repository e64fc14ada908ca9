"""ZstdCodec."""

from __future__ import annotations

from omnizarr.compat.zarr.codecs._classes import ZstdCodec

__all__ = ["ZstdCodec"]
