"""Stores: the contract, and all implementations. Those that few programs use are imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnizarr.store.capabilities import LocalFiles, Snapshots, Splicing, Updates, VersionedReads, provides
from omnizarr.store.contract import Buffer, ByteRange, Request, Store, check_key, check_prefix, cut
from omnizarr.store.local.store import LocalStore
from omnizarr.store.snapshot import Snapshot
from omnizarr.store.wrappers import (
    MappedStore,
    PrefixStore,
    ReadOnlyStore,
    TransparentStore,
    WrapperStore,
    as_read_only,
)

if TYPE_CHECKING:
    from omnizarr.store.batch_store import StoreWithPartialAccess
    from omnizarr.store.caching import CacheStore
    from omnizarr.store.fsspec_ import FsspecStore
    from omnizarr.store.mapping import MappingStore
    from omnizarr.store.memory import MemoryStore
    from omnizarr.store.object import ObjectStore
    from omnizarr.store.references import ReferenceStore
    from omnizarr.store.sqlite import SQLiteStore
    from omnizarr.store.zarr_python import ZarrPythonStore, as_zarr_store
    from omnizarr.store.zip import ZipStore

__all__ = [
    "Buffer",
    "ByteRange",
    "CacheStore",
    "FsspecStore",
    "LocalFiles",
    "LocalStore",
    "MappedStore",
    "MappingStore",
    "MemoryStore",
    "ObjectStore",
    "PrefixStore",
    "ReadOnlyStore",
    "ReferenceStore",
    "Request",
    "SQLiteStore",
    "Snapshot",
    "Snapshots",
    "Splicing",
    "Store",
    "StoreWithPartialAccess",
    "TransparentStore",
    "Updates",
    "VersionedReads",
    "WrapperStore",
    "ZarrPythonStore",
    "ZipStore",
    "as_read_only",
    "as_zarr_store",
    "check_key",
    "check_prefix",
    "cut",
    "provides",
]

_HOMES = {
    "CacheStore": "caching",
    "FsspecStore": "fsspec_",
    "MappingStore": "mapping",
    "MemoryStore": "memory",
    "ObjectStore": "object",
    "ReferenceStore": "references",
    "SQLiteStore": "sqlite",
    "StoreWithPartialAccess": "batch_store",
    "ZarrPythonStore": "zarr_python",
    "ZipStore": "zip",
    "as_zarr_store": "zarr_python",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `omnizarr.store` has no attribute `{name}`")
    value = globals()[name] = getattr(import_module(f"omnizarr.store.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
