"""State machines: arrays, groups and stores with several handles agree with NumPy and a dict in any order of calls."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

import omnizarr
from omnizarr.store import Store
from omnizarr.testing import Fault, FaultyStore

LAYOUTS: list[dict[str, Any]] = [
    {"chunks": (3, 2)},
    {"chunks": (2, 2), "shards": (4, 4)},
    {"chunks": (3, 2), "zarr_format": 2},
    {"chunks": (2, 2), "shards": (4, 4), "zarr_format": "3-draft-2022"},
    {"chunks": (3, 2), "zarr_format": 1},
    {"chunks": (3, 2), "zarr_format": "n5"},
]


def new_store(kind: str, folder: tempfile.TemporaryDirectory[str]) -> Store:
    if kind == "local":
        return omnizarr.LocalStore(folder.name + "/x.zarr")
    if kind == "sqlite":
        return omnizarr.SQLiteStore(folder.name + "/x.sqlite")
    return omnizarr.MemoryStore()


KINDS = st.sampled_from(["memory", "local", "sqlite"])


class WithStore(RuleBasedStateMachine):
    """Shared by the machines: a temporary location."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store: Store = omnizarr.MemoryStore()

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


class ArrayMachine(WithStore):
    """Three handles of an array, each possibly stale, and the NumPy array that they should equal."""

    @initialize(kind=KINDS, layout=st.sampled_from(LAYOUTS))
    def create(self, kind: str, layout: dict[str, Any]) -> None:
        self.store = new_store(kind, self.folder)
        self.model = np.zeros((5, 4), "i2")
        self.attributes: dict[str, int] = {}
        omnizarr.create_array(self.store, shape=(5, 4), dtype="i2", **layout)
        self.handles = [omnizarr.open_array(self.store) for _ in range(3)]

    @rule(which=st.integers(0, 2), data=st.data(), value=st.integers(-3, 300))
    def write(self, which: int, data: st.DataObject, value: int) -> None:
        # A stale handle has an older shape. The rule writes only where both shapes have elements.
        handle = self.handles[which]
        shape = tuple(map(min, handle.shape, self.model.shape))
        key = tuple(
            slice(*sorted((data.draw(st.integers(0, length)), data.draw(st.integers(0, length))))) for length in shape
        )
        if data.draw(st.booleans()):
            key = tuple(slice(0, length) for length in shape)
        handle[key] = value
        self.model[key] = value

    @rule(which=st.integers(0, 2), rows=st.integers(0, 5), axis=st.integers(0, 1), value=st.integers(1, 9))
    def append(self, which: int, rows: int, axis: int, value: int) -> None:
        if self.model.shape[axis] > 30:
            return
        more = np.full([rows if d == axis else length for d, length in enumerate(self.model.shape)], value, "i2")
        self.model = np.concatenate([self.model, more], axis)
        assert self.handles[which].append(more, axis=axis) == self.model.shape

    @rule(which=st.integers(0, 2), shape=st.tuples(st.integers(0, 9), st.integers(0, 9)))
    def resize(self, which: int, shape: tuple[int, int]) -> None:
        known = self.handles[which].shape
        self.handles[which].resize(shape)
        meant = tuple(
            max(new, there) if new >= old else new
            for new, old, there in zip(shape, known, self.model.shape, strict=True)
        )
        resized = np.zeros(meant, "i2")
        common = tuple(slice(0, min(pair)) for pair in zip(meant, self.model.shape, strict=True))
        resized[common] = self.model[common]
        self.model = resized
        assert self.handles[which].shape == meant
        # A handle with the old, larger shape would write outside the array.
        for handle in self.handles:
            handle.refresh()

    @rule(which=st.integers(0, 2), name=st.sampled_from("abc"), value=st.none() | st.integers())
    def attribute(self, which: int, name: str, value: int | None) -> None:
        if value is None:
            self.attributes.pop(name, None)
            self.handles[which].attrs.pop(name, None)
            if name in omnizarr.open_array(self.store).attrs:  # the handle did not know this attribute
                self.handles[which].refresh().attrs.pop(name)
        else:
            self.attributes[name] = value
            self.handles[which].attrs[name] = value

    @rule(which=st.integers(0, 2))
    def refresh(self, which: int) -> None:
        assert self.handles[which].refresh().shape == self.model.shape
        np.testing.assert_array_equal(self.handles[which][...], self.model)

    @rule(which=st.integers(0, 2), number=st.integers(1, 6), value=st.integers(1, 9))
    def append_in_vain(self, which: int, number: int, value: int) -> None:
        """One of its requests fails: the append is then complete or invisible."""
        if not self.store.locking or self.model.shape[0] > 30:
            return
        faulty = FaultyStore(self.store)
        handle = omnizarr.open_array(faulty)
        more = np.full((3, self.model.shape[1]), value, "i2")
        faulty.count, faulty.faults = 0, (Fault("fail", calls=[number]),)
        try:
            handle.append(more)
        except omnizarr.OmnizarrError:
            pass
        else:
            self.model = np.concatenate([self.model, more])

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "model"):
            found = omnizarr.open_array(self.store, mode="r")
            assert found.shape == self.model.shape
            np.testing.assert_array_equal(found[...], self.model)
            assert found.attrs.asdict() == self.attributes


class GroupMachine(WithStore):
    """Two handles of a group, and a dict of its members."""

    @initialize(kind=KINDS, zarr_format=st.sampled_from([2, 3]))
    def create(self, kind: str, zarr_format: Any) -> None:
        self.store = new_store(kind, self.folder)
        omnizarr.create_group(self.store, zarr_format=zarr_format)
        self.handles = [omnizarr.open_group(self.store) for _ in range(2)]
        self.nodes: dict[str, int | None] = {}

    PATHS = st.sampled_from(["a", "b", "a/b", "a/c", "b/a/c"])

    def below(self, path: str) -> list[str]:
        return [name for name in self.nodes if name == path or name.startswith(f"{path}/")]

    def free(self, path: str) -> bool:
        above = ["/".join(path.split("/")[:depth]) for depth in range(1, path.count("/") + 1)]
        return path not in self.nodes and all(self.nodes.get(name) is None for name in above)

    def note(self, path: str, value: int | None) -> None:
        for depth in range(1, path.count("/") + 1):
            self.nodes.setdefault("/".join(path.split("/")[:depth]), None)
        self.nodes[path] = value

    @rule(which=st.integers(0, 1), path=PATHS, value=st.integers(0, 200))
    def create_array(self, which: int, path: str, value: int) -> None:
        if self.free(path):
            self.handles[which].create_array(path, data=np.full(3, value, "u1"))
            self.note(path, value)

    @rule(which=st.integers(0, 1), path=PATHS)
    def create_group(self, which: int, path: str) -> None:
        if self.free(path):
            self.handles[which].create_group(path)
            self.note(path, None)

    @rule(which=st.integers(0, 1), path=PATHS)
    def delete(self, which: int, path: str) -> None:
        if path in self.nodes:
            del self.handles[which][path]
            for name in self.below(path):
                del self.nodes[name]

    @rule(which=st.integers(0, 1), old=PATHS, new=PATHS)
    def move(self, which: int, old: str, new: str) -> None:
        if old in self.nodes and self.free(new) and not f"{new}/".startswith(f"{old}/"):
            self.handles[which].move(old, new)
            moved = {new + name[len(old) :]: self.nodes.pop(name) for name in self.below(old)}
            for name, value in moved.items():
                self.note(name, value)

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "nodes"):
            for handle in self.handles:
                found = {
                    path: int(node[0]) if isinstance(node, omnizarr.Array) else None
                    for path, node in handle.members(max_depth=None)
                }
                assert found == self.nodes


class StoreMachine(WithStore):
    """Two stores on one location, and a dict."""

    versions = Bundle("versions")

    @initialize(kind=KINDS)
    def create(self, kind: str) -> None:
        import copy

        self.store = new_store(kind, self.folder)
        self.stores = [self.store, copy.copy(self.store)]
        self.values: dict[str, bytes] = {}

    KEYS = st.sampled_from(["a", "b/c", "b/d", "e/f/g", "e/h"])

    @rule(which=st.integers(0, 1), key=KEYS, value=st.binary(max_size=5))
    def set(self, which: int, key: str, value: bytes) -> None:
        self.stores[which].set(key, value)
        self.values[key] = value

    @rule(which=st.integers(0, 1), items=st.lists(st.tuples(KEYS, st.binary(max_size=5))))
    def set_each(self, which: int, items: list[tuple[str, bytes]]) -> None:
        self.stores[which].set_each(iter(items))
        self.values.update(items)

    @rule(which=st.integers(0, 1), key=KEYS)
    def erase(self, which: int, key: str) -> None:
        self.stores[which].erase(key)
        self.values.pop(key, None)

    @rule(which=st.integers(0, 1), prefix=st.sampled_from(["b/", "e/", "e/f/", "x/"]))
    def erase_prefix(self, which: int, prefix: str) -> None:
        self.stores[which].erase_prefix(prefix)
        self.values = {key: value for key, value in self.values.items() if not key.startswith(prefix)}

    @rule(target=versions, which=st.integers(0, 1), key=KEYS)
    def look(self, which: int, key: str) -> tuple[str, bytes | None, Any]:
        value, version = self.stores[which].updates.read(key)
        assert (None if value is None else bytes(value)) == self.values.get(key)
        return key, self.values.get(key), version

    @rule(which=st.integers(0, 1), seen=versions, value=st.none() | st.binary(max_size=5))
    def change_if(self, which: int, seen: tuple[str, bytes | None, Any], value: bytes | None) -> None:
        key, then, version = seen
        store = self.stores[which]
        done = store.updates.erase(key, version) if value is None else store.updates.write(key, value, version)
        # Equal bytes may count as another version or the same; different bytes never as the same.
        assert not done or self.values.get(key) == then
        if done:
            self.values.pop(key, None)
            if value is not None:
                self.values[key] = value

    @rule(which=st.integers(0, 1), keys=st.lists(KEYS, min_size=1, unique=True), shared=st.booleans())
    def lock(self, which: int, keys: list[str], shared: bool) -> None:
        with self.stores[which].lock(keys, shared=shared):
            for key in keys:
                self.stores[which].set(key, b"locked")
                self.values[key] = b"locked"

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "values"):
            for store in self.stores:
                assert sorted(store.list()) == sorted(self.values)
                assert {key: bytes(store.get(key) or b"") for key in self.values} == self.values


QUICK = settings(max_examples=30, stateful_step_count=20)

TestArrays = ArrayMachine.TestCase
TestGroups = GroupMachine.TestCase
TestStores = StoreMachine.TestCase
if settings().max_examples <= 25:  # the quick profile
    TestArrays.settings = TestGroups.settings = TestStores.settings = QUICK
