"""Buffers in the memory of the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omnizarr.compat.zarr.core.buffer import core
from omnizarr.compat.zarr.core.buffer.core import CpuBuffer as Buffer
from omnizarr.compat.zarr.core.buffer.core import CpuNDBuffer as NDBuffer
from omnizarr.compat.zarr.core.buffer.core import default_buffer_prototype, numpy_buffer_prototype

__all__ = ["Buffer", "NDBuffer", "as_numpy_array_wrapper", "buffer_prototype", "numpy_buffer_prototype"]

buffer_prototype = default_buffer_prototype()


def as_numpy_array_wrapper(
    func: Callable[[Any], bytes], buf: core.Buffer, prototype: core.BufferPrototype
) -> core.Buffer:
    """The result of `func` for the NumPy array of a buffer, as a buffer."""
    return prototype.buffer.from_bytes(func(buf.as_numpy_array()))
