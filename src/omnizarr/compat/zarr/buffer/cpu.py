"""Buffers in the memory of the machine."""

from __future__ import annotations

from omnizarr.compat.zarr.core.buffer.cpu import (
    Buffer,
    NDBuffer,
    as_numpy_array_wrapper,
    buffer_prototype,
    numpy_buffer_prototype,
)

__all__ = ["Buffer", "NDBuffer", "as_numpy_array_wrapper", "buffer_prototype", "numpy_buffer_prototype"]
