"""Storage transformers between an array and its store: the contract, the stack, and all implementations. Those that few
arrays have are imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnizarr.transformers.contract import ArrayPlace, StorageTransformer, find_transformer, storage_transformers
from omnizarr.transformers.draft_sharding import SHARDING_URIS, ShardedStore, ShardingTransformer
from omnizarr.transformers.memory_cache import MemoryCache
from omnizarr.transformers.stack import array_store, wrap_all

if TYPE_CHECKING:
    from omnizarr.transformers.content import ContentAddressed, GarbageReport
    from omnizarr.transformers.file_chunks import AllowFiles, FileChunks
    from omnizarr.transformers.hashed import HashedDirectories
    from omnizarr.transformers.versions import Versions

__all__ = [
    "SHARDING_URIS",
    "AllowFiles",
    "ArrayPlace",
    "ContentAddressed",
    "FileChunks",
    "GarbageReport",
    "HashedDirectories",
    "MemoryCache",
    "ShardedStore",
    "ShardingTransformer",
    "StorageTransformer",
    "Versions",
    "array_store",
    "find_transformer",
    "storage_transformers",
    "wrap_all",
]

_HOMES = {
    "AllowFiles": "file_chunks",
    "FileChunks": "file_chunks",
    "ContentAddressed": "content",
    "GarbageReport": "content",
    "HashedDirectories": "hashed",
    "Versions": "versions",
}
"""The modules of lazily imported names."""

storage_transformers.offer(
    "omnizarr.content_addressed",
    "omnizarr.transformers.content:ContentAddressed",
    aliases=("urn:omnizarr:storage-transformers:content-addressed:1",),
)
storage_transformers.offer(
    "omnizarr.hashed_directories",
    "omnizarr.transformers.hashed:HashedDirectories",
    aliases=("urn:omnizarr:storage-transformers:hashed-directories:1",),
)
storage_transformers.offer(
    "chunk-manifest-json",
    "omnizarr.transformers.file_chunks:FileChunks",
    aliases=("urn:omnizarr:storage-transformers:chunk-manifest-json:1",),
)
storage_transformers.offer(
    "omnizarr.versions",
    "omnizarr.transformers.versions:Versions",
    aliases=("urn:omnizarr:storage-transformers:versions:1",),
)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `omnizarr.transformers` has no attribute `{name}`")
    value = globals()[name] = getattr(import_module(f"omnizarr.transformers.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
