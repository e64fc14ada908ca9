"""Buffers that stores and codecs exchange."""

from __future__ import annotations

from omnizarr.compat.zarr.core.buffer import cpu
from omnizarr.compat.zarr.core.buffer.core import (
    ArrayLike,
    Buffer,
    BufferPrototype,
    NDArrayLike,
    NDArrayLikeOrScalar,
    NDBuffer,
    default_buffer_prototype,
    numpy_buffer_prototype,
)

__all__ = [
    "ArrayLike",
    "Buffer",
    "BufferPrototype",
    "NDArrayLike",
    "NDArrayLikeOrScalar",
    "NDBuffer",
    "cpu",
    "default_buffer_prototype",
    "numpy_buffer_prototype",
]
