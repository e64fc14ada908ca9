"""The base class of buffers."""

from __future__ import annotations

from omnizarr.compat.zarr.core.buffer.core import ArrayLike, Buffer, BufferPrototype, NDArrayLike, NDBuffer

__all__ = ["ArrayLike", "Buffer", "BufferPrototype", "NDArrayLike", "NDBuffer"]
