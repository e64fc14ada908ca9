"""Concurrent writers and readers of shards, and damaged shards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transformers.draft_sharding.sharded_stores import FOO, recorded, sharded
from tests.transformers.places import NONE, shard_of

import omnizarr
from omnizarr.errors import StoreError
from omnizarr.store import CacheStore, LocalStore, MemoryStore, Store, WrapperStore
from omnizarr.transformers import (
    ShardedStore,
)

# -- concurrent writers and readers


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_concurrent_writes_lose_nothing(kind: str, tmp_path: Path) -> None:
    store = sharded(MemoryStore() if kind == "memory" else LocalStore(tmp_path), 4, 2)
    shared = FOO + "c0/9"
    started = threading.Barrier(4)

    def work(number: int) -> None:
        started.wait()
        for step in range(8):
            key = f"{FOO}c{step}/{number}"
            store.set(key, b"%d" % step)
            with store.lock([key]):
                store.set(key, bytes(store.get(key) or b"") + b"!")
            if step % 3 == 0:
                store.erase(key)
            value, version = store.updates.read(shared)
            while not store.updates.write(shared, bytes(value or b"") + b"x", version):
                value, version = store.updates.read(shared)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert store.size(shared) == 32
    assert {key: bytes(store.get(key) or b"") for key in store.list() if key != shared} == {
        f"{FOO}c{step}/{number}": b"%d!" % step for step in range(8) if step % 3 for number in range(4)
    }


def test_locking_a_chunk_locks_its_shard() -> None:
    record, store = recorded(2)
    with store.lock([FOO + "c0", FOO + "c1", "other"]):
        assert sorted(record.calls[0].key) == [FOO + "c0", "other"]
        store.set(FOO + "c1", b"x")
        store.set("anything", b"x")
        with pytest.raises(StoreError, match="locked"):
            store.set(FOO + "c2", b"x")
    store.set(FOO + "c2", b"x")
    assert len(record.of("lock")) == 2


class Replaced(WrapperStore):
    """Replaces a value after each read of an index."""

    def __init__(self, inner: Store, values: list[bytes]) -> None:
        super().__init__(inner)
        self.values = values

    def replace(self, requests: Any) -> None:
        if self.values and all(range == (-32, None) for _, range in requests):
            self.inner.set(requests[0][0], self.values.pop(0))

    def get(self, key: str, range: Any = None) -> Any:
        value = self.inner.get(key, range)
        self.replace([(key, range)])
        return value

    def get_partial_values(self, requests: Any) -> Any:
        values = self.inner.get_partial_values(requests)
        self.replace(requests)
        return values


@pytest.mark.parametrize("method", ["get", "get_into"])
def test_a_shard_replaced_during_a_read_is_detected(method: str) -> None:
    inner = MemoryStore()
    inner.set(FOO + "c0", shard_of((0, 3), (3, 3), data=b"oldOLD"))
    other = shard_of((4, 3), (0, 3), data=b"NEW?new")
    store = sharded(Replaced(inner, [other]), 2)
    if method == "get":
        assert store.get_partial_values([(FOO + "c0", None), (FOO + "c1", (1, 9))]) == [b"new", b"EW"]
    else:
        target = bytearray(3)
        assert store.get_into(FOO + "c0", 0, memoryview(target)) == 3
        assert target == b"new"


@pytest.mark.parametrize("gone", ["shard", "chunk"])
def test_a_shard_or_a_chunk_erased_during_a_read(gone: str) -> None:
    class Vanishing(Replaced):
        def replace(self, requests: Any) -> None:
            if self.values and gone == "shard":
                self.values.clear()
                self.inner.erase(requests[0][0])
            else:
                super().replace(requests)

    def store() -> ShardedStore:
        inner = MemoryStore()
        inner.set(FOO + "c0", shard_of((0, 3), (3, 3), data=b"oldOLD"))
        return sharded(Vanishing(inner, [shard_of((NONE, NONE), (0, 3), data=b"NEW")]), 2)

    assert store().get(FOO + "c0") is None
    assert store().get_into(FOO + "c0", 0, memoryview(bytearray(3))) is None


def test_a_shard_that_changes_at_every_read_is_an_error() -> None:
    inner = MemoryStore()

    class Restless(Replaced):
        def replace(self, requests: Any) -> None:
            pass

        def get_partial_values(self, requests: Any) -> Any:
            self.inner.set(FOO + "c0", shard_of((len(self.values), 1), (0, 1), data=bytes(len(self.values) + 1)))
            self.values.append(b"")
            return self.inner.get_partial_values(requests)

        def get_into(self, key: str, start: int, target: memoryview) -> int | None:
            self.get_partial_values([])
            return self.inner.get_into(key, start, target)

    store = sharded(Restless(inner, []), 2)
    with pytest.raises(StoreError, match="other writers keep replacing") as caught:
        store.get(FOO + "c0")
    assert caught.value.key == FOO + "c0"
    with pytest.raises(StoreError, match="other writers keep replacing"):
        store.get_into(FOO + "c0", 0, memoryview(bytearray(1)))


# -- damage


DAMAGED = {
    "half an entry": shard_of((0, NONE), (0, 1), data=b"x"),
    "half of another": shard_of((NONE, 1), (0, 1), data=b"x"),
    "beyond the end": shard_of((0, 2**40), (0, 1), data=b"x"),
    "far beyond": shard_of((2**62, 2**62), (0, 1), data=b"x"),
    "no number of bytes": shard_of((2**63, 2**63), (0, 1), data=b"x"),
    "too short": bytes(31),
    "empty": b"",
}


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("kind", ["memory", "files"])
def test_a_damaged_shard_is_a_clear_error(damage: str, kind: str, tmp_path: Path) -> None:
    inner = MemoryStore() if kind == "memory" else LocalStore(tmp_path)
    inner.set(FOO + "c0", DAMAGED[damage])
    store = sharded(inner, 2)
    for act in (
        lambda: store.get(FOO + "c0"),
        lambda: list(store.get_each([(FOO + "c0", None)])),
        lambda: store.get_into(FOO + "c0", 0, memoryview(bytearray(1000))),
        lambda: store.set(FOO + "c1", b""),
        lambda: store.set_partial_values([(FOO + "c0", 0, b"")]),
    ):
        with pytest.raises(StoreError) as caught:
            act()
        assert caught.value.key == FOO + "c0"
        assert FOO + "c0" in str(caught.value)
    store.set_each([(FOO + "c0", b"new"), (FOO + "c1", b"shard")])  # writing all chunks repairs it
    assert store.get(FOO + "c1") == b"shard"


def error_of(act: Callable[[], object]) -> StoreError | None:
    try:
        act()
    except StoreError as error:
        return error
    return None


@given(st.binary(max_size=70))
def test_any_bytes_give_values_or_a_store_error(data: bytes) -> None:
    inner = MemoryStore()
    inner.set(FOO + "c0", data)
    store = sharded(inner, 3)
    for act in (
        lambda: store.get(FOO + "c0"),
        lambda: store.get_partial_values([(FOO + "c1", (1, 5)), (FOO + "c2", None)]),
        lambda: list(store.list()),
        lambda: store.list_dir(FOO),
        lambda: store.size(FOO + "c1"),
        lambda: store.get_into(FOO + "c2", 1, memoryview(bytearray(5))),
        lambda: store.erase(FOO + "c1"),
        lambda: store.set(FOO + "c0", b"x"),
    ):
        error = error_of(act)
        assert error is None or error.key == FOO + "c0"


def test_overlapping_chunks_do_not_grow_a_shard_without_bounds() -> None:
    inner = MemoryStore()
    inner.set(FOO + "c0", shard_of(*[(0, 1000)] * 64, data=bytes(1000)))
    store = sharded(inner, 64)
    with omnizarr.config(max_chunk_bytes=10_000), pytest.raises(StoreError, match="limit"):
        store.set(FOO + "c0", b"x")
    assert store.size(FOO + "c63") == 1000


def test_an_index_that_is_too_large_is_rejected_before_memory_is_allocated() -> None:
    store = sharded(MemoryStore(), 2**40, 2**40)
    for act in (
        lambda: store.get(FOO + "c0/0"),
        lambda: store.set(FOO + "c0/0", b"x"),
        lambda: store.size(FOO + "c0/0"),
        lambda: store.get_into(FOO + "c0/0", 0, memoryview(bytearray(1))),
    ):
        with pytest.raises(StoreError, match="limit"):
            act()
    assert list(store.list()) == []


def test_S76_the_index_of_a_shard_with_very_many_chunks_is_read() -> None:
    """Prefixes for all chunks that it could contain would not fit in memory."""
    inner = MemoryStore()
    inner.set(FOO + "c0/0", shard_of((0, 1), *[(NONE, NONE)] * 19_999, data=b"x"))
    assert sharded(inner, 20_000, 1).list_dir(FOO) == ([], [FOO + "c0/"])
    with pytest.raises(StoreError, match="limit"):
        sharded(inner, 2**40, 2).list_dir(FOO)


def test_a_failing_write_leaves_the_shard_as_it_was() -> None:
    class Full(WrapperStore):
        def set(self, key: str, value: Any) -> None:
            raise StoreError("the disk is full")

    inner = MemoryStore()
    inner.set(FOO + "c0", shard_of((0, 1), (NONE, NONE), data=b"x"))
    store = sharded(Full(inner), 2)
    with pytest.raises(StoreError, match="full"):
        store.set(FOO + "c1", b"y")
    assert sharded(inner, 2).get(FOO + "c0") == b"x"
    with store.lock([FOO + "c0"]):  # the lock is free again
        pass


def test_an_update_reads_past_a_cache() -> None:
    inner = MemoryStore()
    store = sharded(CacheStore(inner, max_age=None), 2)
    assert store.get(FOO + "c0") is None
    sharded(inner, 2).set(FOO + "c0", b"new")
    assert store.updates is not None
    assert store.updates.read(FOO + "c0") == (b"new", b"new")
