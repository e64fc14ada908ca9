"""`update`: attempts change their keys only by the access that they get, and no writer loses a change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

import omnizarr
from omnizarr.errors import OmnizarrError, StoreError, UncertainWriteError
from omnizarr.store import Buffer, CacheStore, FsspecStore, LocalStore, MemoryStore, Store, WrapperStore
from omnizarr.store import update as update_module
from omnizarr.store.update import KeyAccess, set_if_absent, update
from omnizarr.store.wrappers import ForwardedUpdates, forwarded
from omnizarr.testing import RecordingStore


class Plain(WrapperStore):
    """A store without compare-and-set."""


STORES: dict[str, Callable[[], Store]] = {"updates": MemoryStore, "locks": lambda: Plain(MemoryStore())}
stores = pytest.mark.parametrize("make", STORES.values(), ids=STORES)


@stores
def test_an_attempt_changes_only_the_keys_of_the_update(make: Callable[[], Store]) -> None:
    store = make()
    store.set("other", b"x")
    actions: list[Callable[[KeyAccess], object]] = [
        lambda access: access.read("other"),
        lambda access: access.write("other", b"y", None),
        lambda access: access.erase("other", None),
        lambda access: access.replace("other", b"y"),
        lambda access: access.replace("other", None),
    ]
    for action in actions:
        with pytest.raises(StoreError, match="`other` is no key of this update"):
            update(store, ["k"], action)
    assert store.get("other") == b"x"


@stores
def test_replace_sets_and_erases_whatever_the_version(make: Callable[[], Store]) -> None:
    store = make()
    store.set("k", b"old")
    update(store, ["k"], lambda access: (access.replace("k", b"new"),))
    assert store.get("k") == b"new"
    update(store, ["k"], lambda access: (access.replace("k", None),))
    assert not store.exists("k")


class UncertainUpdates(ForwardedUpdates):
    def write(self, key: str, value: Buffer, version: Any) -> bool:
        super().write(key, bytes(value) if self.store.stores else b"another writer's", version)  # type: ignore[attr-defined]
        raise UncertainWriteError("the connection was lost", key=key)


class Uncertain(WrapperStore):
    """Loses the answer to each conditional write."""

    updates = forwarded("updates", UncertainUpdates)

    def __init__(self, inner: Store, *, stores: bool) -> None:
        super().__init__(inner)
        self.stores = stores


def test_an_uncertain_write_is_compared_with_the_stored_value() -> None:
    store = Uncertain(MemoryStore(), stores=True)
    assert set_if_absent(store, "k", b"x")
    assert store.get("k") == b"x"
    assert not set_if_absent(Uncertain(MemoryStore(), stores=False), "k", b"x")


def test_giving_up_names_the_uncertain_write_as_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update_module, "_LOCKED_ATTEMPTS", 2)
    store = Uncertain(MemoryStore(), stores=False)
    with pytest.raises(StoreError, match="gave up after 2 attempts") as caught:
        update(store, ["k"], lambda access: access.write("k", b"x", None) or None)
    assert isinstance(caught.value.__cause__, UncertainWriteError)


def test_an_uncertain_write_is_an_error_of_omnizarr() -> None:
    assert issubclass(UncertainWriteError, OmnizarrError)
    assert omnizarr.errors.UncertainWriteError is UncertainWriteError


def test_a_store_that_loses_updates_meanwhile_is_updated_under_its_lock() -> None:
    """As a local store on a file system that turns out to have no locks."""

    class Losing(WrapperStore):
        lost = False
        locked = False

        @property
        def updates(self) -> Any:
            return None if self.lost else self.inner.updates

        def lock(self, keys: Any, *, shared: bool = False) -> Any:
            self.lost = self.locked = True
            return super().lock(keys, shared=shared)

    store = Losing(MemoryStore())
    kinds = []

    def attempt(access: KeyAccess) -> bool | None:
        kinds.append(type(access).__name__)
        return access.write("k", b"x", None) if store.locked else None

    assert update(store, ["k"], attempt)
    assert kinds == ["_ConditionalAccess", "LockedAccess"]


def test_a_nested_update_of_a_locked_key_is_refused() -> None:
    """As by a signal handler. It would wait for ever for its own thread, or its change would be lost."""
    store = Plain(MemoryStore())

    def nested(access: KeyAccess) -> bool:
        return access.write("k", b"inner", None)

    def attempt(access: KeyAccess) -> bool:
        access.read("k")
        with pytest.raises(StoreError, match="in the middle of another update"):
            update(store, ["k"], nested)
        update(store, ["other"], lambda access: access.write("other", b"", None))
        return access.write("k", b"outer", None)

    update(store, ["k"], attempt)
    assert store.get("k") == b"outer"
    update(store, ["k"], nested)


def test_parts_are_written_by_an_update() -> None:
    """Another writer that takes no lock changes the value between the read and the write of the parts."""

    class RacingUpdates(ForwardedUpdates):
        def read(self, key: str, limit: int | None = None) -> Any:
            found = super().read(key, limit)
            if not raced:
                raced.append(True)
                self.inner.write(key, b"0123", found[1])  # type: ignore[index]
            return found

    class Racing(WrapperStore):
        updates = forwarded("updates", RacingUpdates)
        set_partial_values = Store.set_partial_values

    raced: list[bool] = []
    store = Racing(MemoryStore())
    store.set("k", b"....")
    store.set_partial_values([("k", 1, b"AB")])
    assert store.get("k") == b"0AB3"


def test_reads_under_a_lock_go_past_a_cache() -> None:
    inner = Plain(MemoryStore())
    inner.set("k", b"old")
    store = CacheStore(inner, max_age=None)
    assert store.get("k") == b"old"
    inner.set("k", b"new")
    assert update(store, ["k"], lambda access: access.read("k")) == (b"new", True)


def test_the_cache_is_bypassed_while_a_key_is_locked(tmp_path: Any) -> None:
    """Another process with the same folder may cache an old answer after the lock was taken."""
    inner = Plain(MemoryStore())
    inner.set("k", b"old")
    store, other = (CacheStore(inner, folder=tmp_path, max_age=None) for _ in range(2))
    with store.lock(["k"]):
        assert other.get("k") == b"old"
        inner.set("k", b"new")
        assert other.get("k") == b"old"
        assert store.get("k") == b"new"


def test_a_task_lock_drops_the_cached_value() -> None:
    inner = MemoryStore()
    inner.set("k", b"old")
    store = CacheStore(inner, max_age=None)
    assert store.get("k") == b"old"
    inner.set("k", b"new")
    with store.task_lock("k"):
        assert store.get("k") == b"new"


def test_the_current_value_is_read_past_caches_through_wrappers() -> None:
    inner = MemoryStore()
    store = RecordingStore(WrapperStore(CacheStore(inner, max_age=None)))
    inner.set("k", b"old")
    assert store.get("k") == b"old"
    inner.set("k", b"new")
    assert store.get("k") == b"old"
    assert store.get_current("k") == b"new"
    assert store.get("k") == b"new"
    assert store.get_current("absent") is None


def test_stores_with_different_roots_share_the_locks_of_a_value(tmp_path: Path) -> None:
    """Before, threads that opened an array and a group above it undid each other's writes."""
    filesystem = MemoryFileSystem()
    pairs: list[tuple[Store, Store]] = [
        (FsspecStore(filesystem, "/roots"), FsspecStore(filesystem, "/roots/x")),
        (LocalStore(tmp_path, locking=False), LocalStore(tmp_path / "x", locking=False)),
    ]
    for outer, inner in pairs:
        assert outer.lock(["x/k"]) is inner.lock(["k"])
        with outer.task_lock("x/k"), pytest.raises(StoreError, match="signal handler"):
            inner.task_lock("k").__enter__()  # the same lock: the thread would wait for itself
    root = FsspecStore(filesystem, "")
    assert root.lock(["roots/x/k"]) is pairs[0][1].lock(["k"])


@stores
def test_threads_lose_no_update(make: Callable[[], Store]) -> None:
    store = make()

    def work() -> None:
        for _ in range(50):
            store.set_partial_values([("k", store.size("k") or 0, b"")])

            def attempt(access: KeyAccess) -> bool | None:
                value, version = access.read("k") or (None, None)
                return access.write("k", bytes(value or b"") + b"x", version) or None

            update(store, ["k"], attempt)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.size("k") == 200
