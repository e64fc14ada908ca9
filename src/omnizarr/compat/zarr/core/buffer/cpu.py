"""Buffers in the memory of the process."""

from __future__ import annotations

from omnizarr.compat.zarr.core.buffer.core import CpuBuffer as Buffer
from omnizarr.compat.zarr.core.buffer.core import CpuNDBuffer as NDBuffer
from omnizarr.compat.zarr.core.buffer.core import default_buffer_prototype, numpy_buffer_prototype

__all__ = ["Buffer", "NDBuffer", "buffer_prototype", "numpy_buffer_prototype"]

buffer_prototype = default_buffer_prototype()
