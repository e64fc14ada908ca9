"""The collector of garbage: what it removes and when, what it reports, and how it agrees with writers and others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.transformers.content.contents import content, objects

import omnizarr
from omnizarr.errors import ArgumentError, CodecError, ReadOnlyError
from omnizarr.store import CacheStore, LocalStore, MemoryStore, Store, as_read_only
from omnizarr.store.mapping import MappingStore
from omnizarr.testing import Fault, FaultyStore
from omnizarr.transformers import ContentAddressed, GarbageReport, HashedDirectories, wrap_all
from omnizarr.transformers.content import collect
from omnizarr.transformers.content import objects as content_objects

DAY = 86_400.0


class Clock:
    """The time that writers and collectors see."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(content_objects, "now", clock)
    return clock


@pytest.fixture(params=["memory", "files", "mapping"])
def inner(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    kinds: dict[str, Any] = {
        "memory": MemoryStore,
        "files": lambda: LocalStore(tmp_path),
        "mapping": lambda: MappingStore({}),
    }
    store: Store = kinds[request.param]()
    return store


def marks(inner: Store) -> list[str]:
    return sorted(inner.list_prefix("a/content/condemned/"))


def report(**counts: Any) -> GarbageReport:
    names = ("chunks", "objects", "condemned", "waiting", "removed", "removed_bytes", "lifted")
    return GarbageReport(*[counts.pop(name, 0) for name in names], dry_run=counts.pop("dry_run", False))


@pytest.mark.smoke
def test_Z17_garbage_is_condemned_and_removed_later(inner: Store, clock: Clock) -> None:
    store = content(inner)
    for value in (b"first", b"second", b"third"):
        store.set("a/c/0", value)
    store.set("a/c/1", b"first")
    assert collect(store, dry_run=True) == report(chunks=2, objects=3, condemned=1, dry_run=True)
    assert marks(inner) == []
    assert collect(store) == report(chunks=2, objects=3, condemned=1)
    assert len(marks(inner)) == 1
    clock.time += DAY - 1
    assert collect(store) == report(chunks=2, objects=3, waiting=1)
    clock.time += 1
    assert collect(store, dry_run=True) == report(chunks=2, objects=3, removed=1, removed_bytes=6, dry_run=True)
    assert len(objects(inner)) == 3
    assert collect(store) == report(chunks=2, objects=3, removed=1, removed_bytes=6)
    assert (len(objects(inner)), marks(inner)) == (2, [])
    assert collect(store) == report(chunks=2, objects=2)
    assert [store.get(f"a/c/{number}") for number in range(2)] == [b"third", b"first"]


def test_Z17_without_writers_one_collection_removes_all_garbage(inner: Store, clock: Clock) -> None:
    store = content(inner)
    store.set_each((f"a/c/{number}", b"%d" % number) for number in range(20))
    store.erase_prefix("a/c/")
    store.set("a/c/5", b"5")
    collect(store)
    store.set("a/c/0", b"another")
    store.erase("a/c/0")
    dry = report(chunks=1, objects=21, removed=20, removed_bytes=36, dry_run=True)
    assert collect(store, min_age=0, dry_run=True) == dry
    assert collect(store, min_age=0) == report(chunks=1, objects=21, removed=20, removed_bytes=36)
    assert (len(objects(inner)), marks(inner)) == (1, [])
    assert store.get("a/c/5") == b"5"


def test_Z17_a_writer_does_not_refer_to_a_condemned_object(inner: Store, clock: Clock) -> None:
    store = content(inner)
    store.set("a/c/0", b"value")
    store.erase("a/c/0")
    collect(store)
    store.set("a/c/1", b"value")
    store.set_each([("a/c/2", b"value"), ("a/c/3", b"value")])
    assert len(objects(inner)) == 3  # a copy for each write
    assert bytes(inner.get("a/c/2") or b"") == bytes(inner.get("a/c/3") or b"")
    clock.time += DAY
    assert collect(store).removed == 1
    assert [store.get(f"a/c/{number}") for number in (1, 2, 3)] == [b"value"] * 3
    store.set("a/c/4", b"value")  # the usual object again
    assert len(objects(inner)) == 3
    for number in (1, 2, 3):
        store.erase(f"a/c/{number}")
    assert collect(store).condemned == 2
    clock.time += DAY
    assert collect(store).removed == 2
    assert store.get("a/c/4") == b"value"


def test_Z17_a_reference_from_before_the_mark_lifts_it(inner: Store, clock: Clock) -> None:
    store = content(inner)
    store.set("a/c/0", b"value")
    pointer = inner.get("a/c/0")
    store.erase("a/c/0")
    collect(store)
    assert pointer is not None
    inner.set("a/c/7", bytes(pointer))  # a writer that looked for the mark just before
    assert collect(store) == report(chunks=1, objects=1, lifted=1)
    assert marks(inner) == []
    clock.time += 2 * DAY
    assert collect(store) == report(chunks=1, objects=1)
    assert store.get("a/c/7") == b"value"


def test_a_slow_writer_checks_again(clock: Clock) -> None:
    """A writer that is suspended before it sets its pointer looks for the mark and the object again."""
    inner = MemoryStore()
    store = content(inner)
    store.set("a/c/0", b"value")
    store.erase("a/c/0")
    seen = []

    class Suspended(MemoryStore):
        def get_partial_values(self, requests: Any) -> Any:
            return [answer for _, answer in self.get_each(requests)]

        def get_each(self, requests: Any) -> Any:
            answers = list(inner.get_each(requests))
            seen.append(requests[0][0])
            if len(seen) == 2:  # the object is there
                for _ in range(2):
                    collect(content(inner))
                    clock.time += DAY
                assert objects(inner) == []
            return answers

        def set(self, key: str, value: Any) -> None:
            inner.set(key, value)

    content(Suspended()).set("a/c/1", b"value")
    assert len(seen) == 4
    assert store.get("a/c/1") == b"value"


def test_a_crash_of_a_collector_leaves_nothing_half_done(clock: Clock) -> None:
    for last in range(1, 12):
        inner = MemoryStore()
        store = content(inner)
        for value in (b"first", b"second", b"third"):
            store.set("a/c/0", value)
        collect(store)
        clock.time += DAY
        faulty = FaultyStore(inner, [Fault("fail", methods=("erase", "updates.write"), calls=set(range(last, 50)))])
        try:
            collect(content(faulty))
        except OSError:
            pass
        assert store.get("a/c/0") == b"third"
        store.set("a/c/1", b"first")
        for _ in range(3):
            clock.time += DAY
            collect(store)
        assert (len(objects(inner)), marks(inner)) == (2, [])
        assert store.get("a/c/1") == b"first"


def test_a_claimed_mark_is_left_to_its_collector(clock: Clock) -> None:
    inner = MemoryStore()
    store = content(inner)
    store.set("a/c/0", b"value")
    store.erase("a/c/0")
    collect(store)
    (mark,) = marks(inner)
    since = bytes(inner.get(mark) or b"")
    clock.time += DAY
    inner.set(mark, since + b" claimed %.0f" % clock.time)
    assert collect(store) == report(objects=1, waiting=1)
    clock.time += DAY  # its collector crashed
    assert collect(store) == report(objects=1, removed=1, removed_bytes=5)


@pytest.mark.parametrize("mark", [b"", b"x" * 1000, b"condemned soon", b"condemned 5 xyz", b"condemned " + b"9" * 30])
def test_a_damaged_mark_starts_again(mark: bytes, inner: Store, clock: Clock) -> None:
    store = content(inner)
    store.set("a/c/0", b"value")
    store.erase("a/c/0")
    collect(store)
    inner.set(marks(inner)[0], mark)
    clock.time += DAY
    assert collect(store) == report(objects=1, waiting=1)
    clock.time += DAY
    collect(store)
    clock.time += DAY
    collect(store)
    assert objects(inner) == marks(inner) == []


def test_a_damaged_pointer_stops_the_collector(clock: Clock) -> None:
    inner = MemoryStore()
    store = content(inner)
    store.set("a/c/0", b"value")
    store.erase("a/c/0")
    inner.set("a/c/1", b"sha256:..")
    for age in (0, DAY):
        with pytest.raises(CodecError, match="a/c/1"):
            collect(store, min_age=age)
    assert len(objects(inner)) == 1


def test_other_keys_below_content_stay(clock: Clock) -> None:
    inner = MemoryStore()
    store = content(inner)
    for key in ("a/content/README", "a/content/abc/def", "a/content/condemned/x", "a/content/" + "0" * 64):
        inner.set(key, b"?")
    assert collect(store, min_age=0) == report()
    assert len(list(inner.list())) == 4


@pytest.mark.parametrize("age", [-1, 1, 3599.9, float("nan"), "1", None, True])
def test_wrong_ages_are_refused(age: Any) -> None:
    with pytest.raises(ArgumentError, match="min_age"):
        collect(content(MemoryStore()), min_age=age)


def test_a_read_only_store_can_be_inspected(clock: Clock) -> None:
    inner = MemoryStore()
    content(inner).set("a/c/0", b"x")
    content(inner).erase("a/c/0")
    store = content(as_read_only(inner))
    assert collect(store, dry_run=True).condemned == 1
    with pytest.raises(ReadOnlyError):
        collect(store)


def test_memory_is_bounded(clock: Clock) -> None:
    """Eight bytes are kept for each chunk."""
    import tracemalloc

    inner = MemoryStore()
    store = content(inner)
    pointer = store.addresses.dump(store.addresses.pointer(b"x"))
    store.set("a/c/0", b"x")
    for number in range(20_000):
        inner.set(f"a/c/{number}", pointer)
    tracemalloc.start()
    assert collect(store).chunks == 20_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 2**20


# -- the public function


@pytest.mark.smoke
def test_Z17_collect_garbage_of_an_array_and_of_a_group(tmp_path: Path, clock: Clock) -> None:
    root = omnizarr.create_group(tmp_path)
    data = np.arange(100, dtype="u2")
    for name in ("a", "b/c"):
        z = root.create_array(
            name, data=data, chunks=10, storage_transformers=[HashedDirectories(1, 1), ContentAddressed()]
        )
        z[...] = data + 1
    plain = root.create_array("plain", data=data)
    assert omnizarr.collect_garbage(root["a"], dry_run=True).condemned == 10
    assert omnizarr.collect_garbage(tmp_path, path="a", min_age=0).removed == 10
    assert omnizarr.collect_garbage(tmp_path) == report(chunks=20, objects=30, condemned=10)
    clock.time += DAY
    found = omnizarr.collect_garbage(root)
    assert (found.removed, found.dry_run) == (10, False)
    assert root["a"][...].tolist() == root["b/c"][...].tolist() == (data + 1).tolist()
    with pytest.raises(ArgumentError, match="not content-addressed"):
        omnizarr.collect_garbage(plain)


@pytest.mark.parametrize("below", [[], [HashedDirectories()]], ids=["cache", "hashed"])
def test_a_cache_below_does_not_hide_marks_and_pointers(below: Any, clock: Clock) -> None:
    """The program with the cache and another one change the array in turn."""
    inner = MemoryStore()
    at = content(inner).place

    def through(store: Store) -> Any:
        return wrap_all(store, [ContentAddressed(), *below], at)

    other, cached = through(inner), through(CacheStore(inner, max_age=None))
    cached.set("a/c/0", b"value")
    assert cached.get("a/c/0") == b"value"
    other.erase("a/c/0")
    collect(other)
    clock.time += DAY
    assert collect(other).removed == 1
    cached.set("a/c/1", b"value")  # the cache has the removed object
    assert other.get("a/c/1") == b"value"
    other.erase("a/c/1")
    collect(other)
    cached.set("a/c/2", b"value")  # the cache knows of no mark
    clock.time += DAY
    other.set("a/c/3", b"another")
    assert collect(cached).removed == 1
    assert [other.get(f"a/c/{number}") for number in (2, 3)] == [b"value", b"another"]
    assert cached.get("a/c/3") == b"another"
    other.set("a/c/3", b"newer")
    collect(other, min_age=0)
    cached.inner.clear() if not below else cached.inner.inner.clear()
    assert cached.get("a/c/3") == b"newer"


def test_a_cached_pointer_to_a_removed_object_is_read_again(clock: Clock) -> None:
    inner = MemoryStore()
    store, cached = content(inner), content(CacheStore(inner, max_age=None))
    store.set("a/c/0", b"old")
    assert cached.size("a/c/0") == 3  # keeps the pointer, not the object
    store.set("a/c/0", b"newer")
    collect(store, min_age=0)
    assert cached.get("a/c/0") == b"newer"
    assert cached.get_current("a/c/0") == b"newer"
