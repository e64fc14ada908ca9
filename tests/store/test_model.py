"""MemoryStore and LocalStore compared with a dict under random operations."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from omnizarr.store import LocalStore, MemoryStore, Store
from omnizarr.store.contract import ByteRange, cut
from omnizarr.store.update import update

# Keys and prefixes use different names, because a file system cannot give one name to a file and a directory.
PREFIXES = st.lists(st.sampled_from(["A", "B", "ü"]), max_size=3).map(
    lambda names: "".join(f"{name}/" for name in names)
)
KEYS = st.builds(lambda prefix, name: prefix + name, PREFIXES, st.sampled_from(["x", ".y", "zarr.json"]))
VALUES = st.binary(max_size=8)
RANGES = st.one_of(
    st.none(),
    st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(0, 9))),
    st.tuples(st.integers(-9, -1), st.none()),
)


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.model: dict[str, bytes] = {}
        self.root = Path(tempfile.mkdtemp(prefix="omnizarr-model-"))
        self.stores: list[Store] = [MemoryStore(), MemoryStore({}), LocalStore(self.root)]

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    @rule(key=KEYS, value=VALUES)
    def set(self, key: str, value: bytes) -> None:
        self.model[key] = value
        for store in self.stores:
            store.set(key, value)

    @rule(key=KEYS, start=st.integers(0, 9), value=VALUES)
    def set_part(self, key: str, start: int, value: bytes) -> None:
        old = self.model.get(key, b"").ljust(start, b"\0")
        self.model[key] = old[:start] + value + old[start + len(value) :]
        for store in self.stores:
            store.set_partial_values([(key, start, value)])

    @rule(key=KEYS)
    def erase(self, key: str) -> None:
        self.model.pop(key, None)
        for store in self.stores:
            store.erase(key)

    @rule(prefix=PREFIXES)
    def erase_prefix(self, prefix: str) -> None:
        self.model = {key: value for key, value in self.model.items() if not key.startswith(prefix)}
        for store in self.stores:
            store.erase_prefix(prefix)

    @rule(key=KEYS, range=RANGES)
    def get(self, key: str, range: ByteRange | None) -> None:
        expected = None if key not in self.model else bytes(cut(self.model[key], range))
        for store in self.stores:
            value = store.get(key, range)
            assert (None if value is None else bytes(value)) == expected
            assert store.exists(key) == (key in self.model)
            assert store.size(key) == (None if key not in self.model else len(self.model[key]))

    @rule(key=KEYS, value=VALUES)
    def update(self, key: str, value: bytes) -> None:
        for store in self.stores:
            update(store, [key], lambda updates: updates.write(key, value, updates.read(key)[1]))
        self.model[key] = value

    @rule(prefix=PREFIXES)
    def list_dir(self, prefix: str) -> None:
        below = [key[len(prefix) :] for key in self.model if key.startswith(prefix)]
        keys = sorted(prefix + name for name in below if "/" not in name)
        prefixes = sorted({f"{prefix}{name.split('/')[0]}/" for name in below if "/" in name})
        for store in self.stores:
            assert store.list_dir(prefix) == (keys, prefixes)

    @invariant()
    def all_keys_are_listed(self) -> None:
        for store in self.stores:
            assert sorted(store.list()) == sorted(self.model)


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=15, stateful_step_count=30)
