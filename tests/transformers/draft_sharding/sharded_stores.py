"""Sharded stores for the tests of the sharding transformer."""

from __future__ import annotations

from typing import Any

from tests.transformers.places import place

from omnizarr.store import MemoryStore, Store
from omnizarr.testing import RecordingStore
from omnizarr.transformers import (
    ShardedStore,
    ShardingTransformer,
)

FOO = "data/root/foo/baz/"


def sharded(inner: Store, *counts: int, **options: Any) -> ShardedStore:
    return ShardingTransformer(counts).wrap(inner, place(len(counts), **options))


def recorded(*counts: int, inner: Store | None = None) -> tuple[RecordingStore, ShardedStore]:
    record = RecordingStore(inner or MemoryStore())
    return record, sharded(record, *counts)
