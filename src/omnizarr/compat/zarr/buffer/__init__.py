"""Buffers that stores and codecs exchange."""

from __future__ import annotations

from omnizarr.compat.zarr.buffer import cpu
from omnizarr.compat.zarr.core.buffer import default_buffer_prototype

__all__ = ["cpu", "default_buffer_prototype"]
