"""MemoryStore: the store suite, its index, and dicts of the caller."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

import omnizarr
from omnizarr.errors import ReadOnlyError
from omnizarr.store import MemoryStore, PrefixStore
from omnizarr.testing import StoreSuite


class TestOwnDict(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> MemoryStore:
        return MemoryStore()


class TestGivenDict(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> MemoryStore:
        return MemoryStore({})


def test_get_returns_views_without_copying():
    store = MemoryStore()
    value = b"0123456789"
    store.set("k", value)
    assert store.get("k") is value
    part = store.get("k", (2, 3))
    assert isinstance(part, memoryview)
    assert part.obj is value


def test_the_caller_may_change_its_dict():
    data = {"a/b": b"1"}
    store = MemoryStore(data)
    data["a/c/d"] = b"2"
    assert store.list_dir("a/") == (["a/b"], ["a/c/"])
    del data["a/b"]
    assert list(store.list()) == ["a/c/d"]
    store.set("e", bytearray(b"3"))
    assert data["e"] == b"3"


def test_stores_of_one_dict_are_equal():
    data: dict[str, bytes] = {}
    assert MemoryStore(data) == MemoryStore(data, read_only=True)
    assert MemoryStore(data).location == MemoryStore(data).location
    assert MemoryStore(data) != MemoryStore({})
    assert MemoryStore() != MemoryStore()
    assert MemoryStore(data).location.startswith("memory://")


def test_a_key_may_also_be_a_prefix():
    store = MemoryStore()
    store.set("a", b"1")
    store.set("a/b", b"2")
    assert store.list_dir("") == (["a"], ["a/"])
    store.erase("a")
    assert store.list_dir("") == ([], ["a/"])
    store.erase("a/b")
    assert store.list_dir("") == ([], [])


def test_a_pickle_contains_the_values_and_the_index():
    store = MemoryStore(read_only=False)
    store.set("a/b/c", b"x")
    copied = pickle.loads(pickle.dumps(store))
    assert copied.list_dir("a/") == ([], ["a/b/"])
    assert copied != store


def test_a_pickled_copy_rejects_writes_and_says_why():
    """A worker process that wrote to the copy would lose what it wrote."""
    z = omnizarr.create_array(shape=4, dtype="i4")
    z[...] = 5
    again = pickle.loads(pickle.dumps(z))
    assert again[...].tolist() == [5] * 4
    for change in (
        lambda: again.__setitem__(0, 1),
        lambda: again.append([1]),
        lambda: again.attrs.update(a=1),
        lambda: again.store.set("a", b""),
        lambda: omnizarr.create_group(again.store, path="a"),
        lambda: pickle.loads(pickle.dumps(PrefixStore(z.store, "a"))).set("b", b""),
    ):
        with pytest.raises(ReadOnlyError, match="pickled copy of a store in memory"):
            change()
    with pytest.raises(ReadOnlyError, match="pickled copy"):
        pickle.loads(pickle.dumps(again))[0] = 1
    for writable in (copy.deepcopy(again), copy.deepcopy(z), copy.copy(z)):
        writable[0] = 6
        assert writable[:2].tolist() == [6, 5]
    assert again[0] == 5
    assert copy.copy(again).read_only
    assert copy.deepcopy(omnizarr.open_array(z.store, mode="r")).read_only


def test_list_dir_does_not_scan_all_keys(monkeypatch: pytest.MonkeyPatch):
    store = MemoryStore()
    for number in range(1000):
        store.set(f"group{number}/zarr.json", b"{}")
        store.set(f"group{number}/x/y/zarr.json", b"{}")
    assert len(store.list_dir("")[1]) == 1000

    def fail(prefix: str) -> None:
        raise AssertionError("list_dir scanned all keys")

    monkeypatch.setattr(store, "list_prefix", fail)
    assert store.list_dir("group7/") == (["group7/zarr.json"], ["group7/x/"])
    monkeypatch.undo()
    for number in range(1000):
        store.erase_prefix(f"group{number}/")
    assert store._index is not None
    assert store._index._folders == {"": (set(), set())}


def test_read_only():
    data = {"a": b"1"}
    store = MemoryStore(data, read_only=True)
    assert store.read_only
    with pytest.raises(ReadOnlyError):
        store.set("a", b"2")
    with pytest.raises(ReadOnlyError):
        store.erase("a")
    assert data == {"a": b"1"}
    assert pickle.loads(pickle.dumps(store)).read_only


def test_capabilities():
    assert MemoryStore().updates is not None
    assert MemoryStore.locking
    assert not MemoryStore.remote
