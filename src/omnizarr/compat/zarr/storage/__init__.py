"""Stores: directories, memory, ZIP archives, file systems of fsspec and stores of obstore."""

from __future__ import annotations

from omnizarr.compat.zarr.storage._common import StoreLike, StorePath
from omnizarr.compat.zarr.storage._local import LocalStore
from omnizarr.compat.zarr.storage._logging import LoggingStore
from omnizarr.compat.zarr.storage._memory import GpuMemoryStore, ManagedMemoryStore, MemoryStore
from omnizarr.compat.zarr.storage._remote import FsspecStore, ObjectStore
from omnizarr.compat.zarr.storage._wrapper import WrapperStore
from omnizarr.compat.zarr.storage._zip import ZipStore

__all__ = [
    "FsspecStore",
    "GpuMemoryStore",
    "LocalStore",
    "LoggingStore",
    "ManagedMemoryStore",
    "MemoryStore",
    "ObjectStore",
    "StoreLike",
    "StorePath",
    "WrapperStore",
    "ZipStore",
]
