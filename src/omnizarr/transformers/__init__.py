"""Storage transformers between an array and its store: the contract, the stack, and those of the drafts of 2022."""

from __future__ import annotations

from omnizarr.transformers.contract import ArrayPlace, StorageTransformer, find_transformer, storage_transformers
from omnizarr.transformers.draft_sharding import SHARDING_URIS, ShardedStore, ShardingTransformer
from omnizarr.transformers.memory_cache import MemoryCache
from omnizarr.transformers.stack import array_store, wrap_all

__all__ = [
    "SHARDING_URIS",
    "ArrayPlace",
    "MemoryCache",
    "ShardedStore",
    "ShardingTransformer",
    "StorageTransformer",
    "array_store",
    "find_transformer",
    "storage_transformers",
    "wrap_all",
]
