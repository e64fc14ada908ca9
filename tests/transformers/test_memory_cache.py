"""The memory cache: it returns cached values, drops written ones, keeps its size limit, and is a store."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr._json import Problems
from omnizarr.chunk_keys import DefaultKeys, DraftKeys
from omnizarr.errors import ArgumentError, StoreError
from omnizarr.store import CacheStore, LocalStore, MemoryStore, Store, WrapperStore
from omnizarr.store.wrappers import ForwardedUpdates, forwarded
from omnizarr.testing import RecordingStore, SlowStore, StoreSuite
from omnizarr.transformers import (
    ArrayPlace,
    MemoryCache,
    ShardingTransformer,
    array_store,
    find_transformer,
)


class TestCache(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> Store:
        return MemoryCache().wrap(MemoryStore())


class TestTinyCacheOfFiles(StoreSuite):
    def make_store(self, tmp_path: Path) -> Store:
        return MemoryCache(500).wrap(LocalStore(tmp_path))


class TestCacheOfARemoteStore(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> Store:
        return MemoryCache().wrap(SlowStore(MemoryStore(), 0))


def cached(max_bytes: int = 100_000) -> tuple[RecordingStore, CacheStore]:
    record = RecordingStore(MemoryStore())
    record.inner.set_each([("k", b"0123456789"), ("other", b"abc")])
    return record, MemoryCache(max_bytes).wrap(record)


@pytest.mark.smoke
def test_a_cached_value_is_not_requested_again() -> None:
    record, store = cached()
    for _ in range(3):
        assert store.get("k") == b"0123456789"
        assert store.get("k", (2, 3)) == b"234"
        assert store.get("absent") is None
        assert (store.size("k"), store.exists("k")) == (10, True)
        assert (store.size("absent"), store.exists("absent")) == (None, False)
        target = bytearray(3)
        assert store.get_into("k", 8, memoryview(target)) == 2
        assert target[:2] == b"89"
        assert store.get_partial_values([("k", None), ("absent", (0, 1))]) == [b"0123456789", None]
        assert dict(store.get_each([("k", (-2, None)), ("k", None)])) == {0: b"89", 1: b"0123456789"}
    assert [call[:2] for call in record.calls] == [("get", "k"), ("get", "absent")]


def test_parts_are_cached_and_batches_request_the_rest() -> None:
    record, store = cached()
    for _ in range(2):
        assert store.get("k", (2, 3)) == b"234"
    assert record.methods() == ["get"]
    assert store.get_partial_values([("other", None), ("k", (2, 3)), ("k", (0, 1))]) == [b"abc", b"234", b"0"]
    assert record.calls[-1].key == ("other", "k", "k")  # parts of one key are requested together
    assert sorted(store.get_each([("other", None), ("k", (5, 1))])) == [(0, b"abc"), (1, b"5")]
    assert record.calls[-1][:2] == ("get_each", ("k",))
    record.reset()
    assert store.get_partial_values([("k", (2, 3)), ("k", (0, 1)), ("k", (5, 1))]) == [b"234", b"0", b"5"]
    assert record.calls == []
    assert store.size("k") == 10
    assert store.exists("k")


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.set("k", b"new"),
        lambda store: store.set_each(iter([("x", b""), ("k", b"new")])),
        lambda store: (store.erase("k"), store.set_partial_values(iter([("k", 0, b"new")]))),
        lambda store: (store.erase_values(iter(["k"])), store.inner.set("k", b"new")),
        lambda store: (store.erase_prefix(""), store.inner.set("k", b"new")),
        lambda store: store.updates.write("k", b"new", store.updates.read("k")[1]),
        lambda store: (store.inner.set("k", b"new"), store.clear()),
        lambda store: (store.inner.set("k", b"new"), store.lock(["k"]).__enter__()),
    ],
)
def test_a_write_drops_the_cached_value(write: Callable[[CacheStore], Any]) -> None:
    store = MemoryCache().wrap(MemoryStore())
    store.set("k", b"old")
    assert (store.get("k"), store.get("k", (0, 2))) == (b"old", b"ol")
    write(store)
    assert (store.get("k"), store.get("k", (0, 2))) == (b"new", b"ne")


def test_a_failed_write_drops_the_cached_value() -> None:
    class Torn(WrapperStore):
        def set(self, key: str, value: Any) -> None:
            self.inner.set(key, value)
            raise StoreError("the connection was lost")

    store = MemoryCache().wrap(Torn(MemoryStore()))
    assert store.get("k") is None
    with pytest.raises(StoreError):
        store.set("k", b"x")
    assert store.get("k") == b"x"


def test_a_value_read_during_a_write_is_not_cached() -> None:
    asked, go_on = threading.Event(), threading.Event()

    class Slow(WrapperStore):
        def get(self, key: str, range: Any = None) -> Any:
            value = self.inner.get(key, range)
            asked.set()
            assert go_on.wait(60)
            return value

    store = MemoryCache().wrap(Slow(MemoryStore({"k": b"old"})))
    found = []
    reader = threading.Thread(target=lambda: found.append(store.get("k")))
    reader.start()
    assert asked.wait(60)
    store.set("k", b"new")
    go_on.set()
    reader.join()
    assert found == [b"old"]
    assert store.get("k") == b"new"


WRITES: dict[str, Callable[[Store], Any]] = {
    "set": lambda store: store.set("k", b"new"),
    "set_each": lambda store: store.set_each(iter([("x", b"x"), ("k", b"new")])),
    "set_partial_values": lambda store: store.set_partial_values([("k", 0, b"n"), ("k", 1, b"ew")]),
    "updates.write": lambda store: store.updates.write("k", b"new", b"old"),  # type: ignore[union-attr]
    "erase": lambda store: store.erase("k"),
    "erase_values": lambda store: store.erase_values(["x", "k"]),
    "erase_prefix": lambda store: store.erase_prefix(""),
}


@pytest.mark.parametrize("method", WRITES)
def test_a_batch_does_not_mix_cached_and_new_values(method: str) -> None:
    """A reader with the index of the old shard and a chunk of the new one could not detect it."""
    found: list[Any] = []

    def watched(act: Callable[..., Any]) -> Callable[..., Any]:
        def written(*arguments: Any) -> Any:
            done = act(*arguments)
            found.extend(store.get_partial_values([("k", None), ("k", (0, 2)), ("k", (1, 1))]))
            return done

        return written

    class WatchedUpdates(ForwardedUpdates):
        def write(self, *arguments: Any) -> bool:
            return bool(watched(super().write)(*arguments))

    class Watched(WrapperStore):
        updates = forwarded("updates", WatchedUpdates)

        def __getattribute__(self, name: str) -> Any:
            own = super().__getattribute__(name)
            return watched(own) if name == method else own

    store = MemoryCache().wrap(Watched(MemoryStore({"k": b"old"})))
    for _ in range(2):
        assert (store.get("k"), store.get("k", (0, 2))) == (b"old", b"ol")
    WRITES[method](store)
    whole = None if method.startswith("erase") else b"new"
    assert [None if value is None else bytes(value) for value in found] == [
        whole,
        *((None, None) if whole is None else (b"ne", b"e")),
    ]
    assert store.held_bytes == 0  # values read meanwhile may be outdated
    assert store.get("k") == store.get("k") == whole
    assert store.held_bytes > 0


def test_a_shard_behind_a_cache_is_read_in_one_state() -> None:
    found = []

    class Watched(WrapperStore):
        def set(self, key: str, value: Any) -> None:
            self.inner.set(key, value)
            if watching:
                reader = threading.Thread(target=lambda: found.append(store.get("c1", (0, 2))))
                reader.start()
                reader.join()

    watching = False
    cache = MemoryCache().wrap(Watched(MemoryStore()))
    store = ShardingTransformer((2,)).wrap(cache, ArrayPlace("", (4,), (1,), DraftKeys()))
    store.set_each([("c0", b"short"), ("c1", b"other")])
    assert store.get("c1", (0, 1)) == b"o"
    watching = True
    store.set("c0", b"a longer one")
    assert found == [b"ot"]


@pytest.mark.parametrize("method", ["get_partial_values", "get_each"])
def test_parts_of_one_request_have_one_state(method: str) -> None:
    """The cache does not notice other writers, but must not mix two states in one result."""
    _, store = cached()
    assert (store.get("k", (-2, None)), store.get("k", (0, 2))) == (b"89", b"01")
    store.inner.set("k", b"abcdefghij")
    requests: list[Any] = [("k", (4, 2)), ("k", (-2, None))]
    found = dict(
        enumerate(store.get_partial_values(requests)) if method == "get_partial_values" else store.get_each(requests)
    )
    assert found == {0: b"ef", 1: b"ij"}
    assert store.get("k", (0, 2)) == b"ab"  # the other writer has been detected


def test_a_shard_of_another_writer_is_read_in_one_state() -> None:
    inner = MemoryStore()
    place = ArrayPlace("", (4,), (1,), DraftKeys())
    store = ShardingTransformer((2,)).wrap(MemoryCache().wrap(inner), place)
    store.set_each([("c0", b"short"), ("c1", b"other")])
    assert store.get("c0") == b"short"
    ShardingTransformer((2,)).wrap(inner, place).set("c0", b"a longer one")
    assert store.get("c1", (0, 3)) == b"oth"
    target = bytearray(5)
    assert store.get_into("c1", 0, memoryview(target)) == 5
    assert target == b"other"


def test_it_keeps_its_size_limit() -> None:
    record, store = cached(3000)
    record.inner.set_each([(f"c/{number}", bytes(500)) for number in range(10)])
    for number in range(10):
        store.get(f"c/{number}")
        store.get("c/0", (0, 500))  # recently used values stay
        assert 0 < store.held_bytes <= 3000
    record.reset()
    store.get("c/9")
    store.get("c/0", (0, 500))
    assert record.calls == []
    store.get("c/1")
    assert record.methods() == ["get"]
    record.inner.set("large", bytes(5000))
    for _ in range(2):
        assert len(store.get("large") or b"") == 5000
    assert len(record.of("get")) == 3
    store.clear()
    assert store.held_bytes == 0
    _, nothing = cached(0)
    assert nothing.get("k") == b"0123456789"
    assert nothing.held_bytes == 0


def test_a_cached_part_does_not_keep_the_whole_value_in_memory() -> None:
    inner = MemoryStore()
    inner.set("k", bytes(10_000))
    store = MemoryCache(1000).wrap(inner)
    assert type(store.get("k", (0, 10))) is bytes


def test_a_pickle_does_not_contain_cached_values(tmp_path: Path) -> None:
    store = MemoryCache().wrap(LocalStore(tmp_path))
    store.set("k", b"x")
    store.get("k")
    again = pickle.loads(pickle.dumps(store))
    assert (again.held_bytes, again.max_bytes) == (0, store.max_bytes)
    assert again.get("k") == b"x"


def test_its_configuration() -> None:
    problems = Problems()
    assert MemoryCache.parse({"max_bytes": 5}, "$", problems) == MemoryCache(5)
    assert MemoryCache.parse({}, "$", problems) == MemoryCache()
    assert not problems
    assert MemoryCache(5).configuration() == {"max_bytes": 5}
    assert MemoryCache.parse({"max_bytes": -1, "more": 1}, "$", problems) is None
    assert [problem.path for problem in problems.found] == ["$.configuration.more", "$.configuration.max_bytes"]
    for size in (-1, 1.5, True, "1"):
        with pytest.raises(ArgumentError):
            MemoryCache(size)  # type: ignore[arg-type]


def test_S63_it_is_not_written_to_a_document() -> None:
    assert not MemoryCache.layout
    assert find_transformer(MemoryCache.name) is None


def test_an_array_with_a_cache() -> None:
    record = RecordingStore(MemoryStore())
    data = np.arange(100)
    place = ArrayPlace("", (100,), (10,), DefaultKeys())
    z = omnizarr.create_array(array_store(record, place, (), [MemoryCache()]), data=data, chunks=10)
    for _ in range(2):
        assert np.array_equal(z[...], data)
    z[5:25] = 1
    data[5:25] = 1
    assert np.array_equal(z[...], data)
    record.reset()
    assert np.array_equal(z[...], data)
    assert record.requests == 0
