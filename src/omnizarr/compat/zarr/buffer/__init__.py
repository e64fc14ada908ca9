"""Buffers that stores and codecs exchange."""

from __future__ import annotations

from omnizarr.compat.zarr.core.buffer import cpu

__all__ = ["cpu"]
