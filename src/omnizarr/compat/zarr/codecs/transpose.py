"""TransposeCodec."""

from __future__ import annotations

from omnizarr.compat.zarr.codecs._classes import TransposeCodec

__all__ = ["TransposeCodec"]
