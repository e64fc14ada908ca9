"""Which capabilities subclasses of stores and wrappers inherit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ReadOnlyError
from omnizarr.store import (
    Buffer,
    ByteRange,
    CacheStore,
    LocalStore,
    MemoryStore,
    PrefixStore,
    ReadOnlyStore,
    SQLiteStore,
    Store,
    TransparentStore,
    WrapperStore,
    as_read_only,
    provides,
    wrappers,
)
from omnizarr.store.capabilities import CAPABILITIES
from omnizarr.testing import RecordingStore


def test_a_subclass_with_its_own_get_inherits_no_capability(tmp_path: Path) -> None:
    """A subclass may change values, and the capabilities of its base class would bypass that."""

    class Mixin:
        def get(self, key: str, range: Any = None) -> Any:
            return super().get(key, range)  # type: ignore[misc]

    class Memory(MemoryStore):
        get = Mixin.get  # type: ignore[assignment]

    class Local(Mixin, LocalStore):  # type: ignore[misc]
        pass

    class Below(Mixin, PrefixStore):  # type: ignore[misc]
        pass

    inner = LocalStore(tmp_path)
    for store in (Memory(), Local(tmp_path), Below(inner, "a")):
        assert [getattr(store, name) for name in CAPABILITIES] == [None] * len(CAPABILITIES)
        assert store.file("k") is None
        assert isinstance(as_read_only(store), ReadOnlyStore)


def test_a_subclass_that_overrides_no_verb_inherits_every_capability(tmp_path: Path) -> None:
    """Otherwise two processes would lose updates of a store whose lock holds within one process only."""

    class Mine(LocalStore):
        label = "mine"

    class Wrapped(TransparentStore):
        label = "wrapped"

    inner = LocalStore(tmp_path)
    for store in (Mine(tmp_path), Wrapped(inner)):
        for name in CAPABILITIES:
            assert (getattr(store, name) is None) == (getattr(inner, name) is None)
        assert isinstance(as_read_only(store), ReadOnlyStore)


class _Inverted:
    """Stores every byte inverted."""

    def get(self, key: str, range: Any = None) -> Any:
        value = super().get(key, range)  # type: ignore[misc]
        return None if value is None else bytes(255 - byte for byte in bytes(value))

    def set(self, key: str, value: Any) -> None:
        super().set(key, bytes(255 - byte for byte in memoryview(value).cast("B")))  # type: ignore[misc]


class InvertedLocal(_Inverted, LocalStore):
    pass


class InvertedMemory(_Inverted, MemoryStore):
    pass


class InvertedSQLite(_Inverted, SQLiteStore):
    pass


class InvertedWrapper(_Inverted, WrapperStore):
    pass


@pytest.mark.parametrize("kind", ["local", "memory", "sqlite", "wrapper"])
@pytest.mark.parametrize("shards", [None, 8])
def test_every_verb_passes_through_an_overridden_get_and_set(tmp_path: Path, kind: str, shards: int | None) -> None:
    store: Store = {
        "local": lambda: InvertedLocal(tmp_path),
        "memory": lambda: InvertedMemory(),
        "sqlite": lambda: InvertedSQLite(tmp_path / "x.sqlite"),
        "wrapper": lambda: InvertedWrapper(MemoryStore()),
    }[kind]()
    z = omnizarr.create_array(store, shape=32, dtype="i4", chunks=4, shards=shards, compressors=None)
    z[...] = np.arange(32)
    z[3:7] = 0
    expected = np.arange(32)
    expected[3:7] = 0
    np.testing.assert_array_equal(omnizarr.open_array(store)[...], expected)
    assert bytes(store.get_partial_values([("zarr.json", (0, 1))])[0] or b"") == b"{"
    store.set_partial_values([("k", 0, b"ab"), ("k", 2, b"c")])
    assert (bytes(store.get("k") or b""), store.size("k")) == (b"abc", 3)


def test_a_subclass_may_keep_capabilities_or_define_its_own(tmp_path: Path) -> None:
    class Same(LocalStore, keeps_capabilities=True):
        pass

    class Own(LocalStore):
        snapshots = LocalStore.snapshots

        def get(self, key: str, range: Any = None) -> Any:
            return super().get(key, range)

    class Derived(Own):
        def set(self, key: str, value: Any) -> None:
            super().set(key, value)

    class Fewer(LocalStore, keeps_capabilities=True):
        local_files = None

    inner = LocalStore(tmp_path)
    for name in CAPABILITIES:
        assert (getattr(Same(tmp_path), name) is None) == (getattr(inner, name) is None)
    assert (Own(tmp_path).snapshots is None, Own(tmp_path).updates) == (False, None)
    assert Derived(tmp_path).snapshots is None
    assert (Fewer(tmp_path).snapshots is None, Fewer(tmp_path).local_files) == (False, None)
    assert type(as_read_only(Same(tmp_path))) is Same


def test_a_copy_has_its_own_capabilities() -> None:
    store = MemoryStore()
    copied = as_read_only(store)
    assert copied.updates is not None
    with pytest.raises(ReadOnlyError):
        copied.updates.write("k", b"x", None)


def test_a_wrapper_that_changes_values_offers_updates_only_if_it_defines_them() -> None:
    """The updates of the inner store would compare and set unchanged values."""

    class Reversed(WrapperStore):
        def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
            value = self.inner.get(key)
            return None if value is None else bytes(value)[::-1]

    class ReversedUpdates(wrappers.ForwardedUpdates):
        def read(self, key: str, limit: int | None = None) -> Any:
            value, version = super().read(key, limit) or (None, None)
            return None if value is None else bytes(value)[::-1], version

        def write(self, key: str, value: Buffer, version: Any) -> bool:
            return super().write(key, bytes(value)[::-1], version)

    class ReversedWithUpdates(Reversed):
        updates = wrappers.forwarded("updates", ReversedUpdates)

    inner = MemoryStore()
    inner.set("k", b"ab")
    assert inner.updates is not None
    assert Reversed(inner).updates is None
    assert WrapperStore(inner).updates is None
    updates = ReversedWithUpdates(inner).updates
    assert updates is not None
    assert updates.read("k") == (b"ba", b"ab")
    assert updates.write("k", b"dc", b"ab")
    assert inner.get("k") == b"cd"


def test_a_capability_may_depend_on_the_store() -> None:
    class Sometimes(MemoryStore):
        snapshots = provides(lambda store: None if store.read_only else MemoryStore().snapshots)

    store = Sometimes()
    assert store.snapshots is not None
    store._read_only = True
    assert store.snapshots is None


def test_updates_of_a_cache_bypass_cached_values() -> None:
    inner = MemoryStore()
    inner.set("k", b"old")
    store = CacheStore(inner, max_age=None)
    assert store.get("k") == b"old"
    inner.set("k", b"new")
    assert store.updates is not None
    assert store.updates.read("k") == (b"new", b"new")
    assert RecordingStore(WrapperStore(inner)).updates is None
