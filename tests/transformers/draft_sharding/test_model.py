"""A sharded store behaves like a dict of chunks for all operations, key encodings and stacks of transformers. It stores
only whole shards, and no empty ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.transformers.places import ENCODINGS, index_of

from omnizarr.chunk_keys import ChunkKeys
from omnizarr.errors import StoreError
from omnizarr.store import ByteRange, MemoryStore, Store, cut
from omnizarr.testing import SlowStore
from omnizarr.transformers import ArrayPlace, MemoryCache, ShardingTransformer, StorageTransformer, wrap_all

VALUES = st.binary(max_size=6)
RANGES: st.SearchStrategy[ByteRange | None] = st.one_of(
    st.none(),
    st.tuples(st.integers(0, 7), st.one_of(st.none(), st.integers(0, 7))),
    st.tuples(st.integers(-7, -1), st.none()),
)
OTHERS = (
    "zarr.json",
    "foo.array.json",
    "data/root/other/c0/0",
    "data/root/foo/notes",
    "data/root/foo/c3/notes",
    "data/root/foo/3/2/notes",
)
SOME = st.lists(st.integers(0, 10**6), min_size=1, max_size=8)


class Sharded(RuleBasedStateMachine):
    """The store, and a dict as its model."""

    @initialize(
        keys=st.sampled_from(ENCODINGS),
        grid=st.lists(st.integers(1, 3), max_size=3),
        top=st.sampled_from(["", "data/root/foo/"]),
        more=st.lists(st.sampled_from(["cache", "shards"]), max_size=2),
        front=st.booleans(),
        slow=st.booleans(),
    )
    def start(self, keys: ChunkKeys, grid: list[int], top: str, more: list[str], front: bool, slow: bool) -> None:
        rank = len(grid)
        self.plain = MemoryStore()
        below: Store = SlowStore(self.plain, 0, sleep=lambda _: None) if slow else self.plain
        self.grid = tuple(grid)
        self.place = ArrayPlace(top, (40,) * rank, (10,) * rank, keys)
        stack: list[StorageTransformer] = [MemoryCache(3000)] if front else []
        stack.append(ShardingTransformer(self.grid))
        stack += [MemoryCache(2000) if name == "cache" else ShardingTransformer((2,) * rank) for name in more]
        self.stacked = bool(more)
        self.store = wrap_all(below, stack, self.place)
        coordinates: list[tuple[int, ...]] = [()]
        for _ in range(rank):
            coordinates = [
                (*known, index) for known in coordinates for index in ((0, 1, 2, 3, 11) if rank < 3 else (0, 1, 3))
            ]
        self.chunks = [top + keys.key(at) for at in coordinates]
        self.others = [key for key in OTHERS if key not in self.chunks]
        self.keys = [*self.chunks, *self.others]
        above = {key[: end + 1] for key in self.keys for end, letter in enumerate(key) if letter == "/"}
        self.prefixes = sorted({"", *above})
        self.model: dict[str, bytes] = {}

    def pick(self, number: int) -> str:
        """Often one of a few chunks, so that shards fill up, and often a key that is no chunk's."""
        keys = (self.keys, self.chunks[:8], self.others, self.chunks)[number % 4]
        return keys[number // 4 % len(keys)]

    # -- writing

    @rule(number=st.integers(0, 10**6), value=VALUES)
    def set(self, number: int, value: bytes) -> None:
        self.store.set(self.pick(number), value)
        self.model[self.pick(number)] = value

    @rule(numbers=SOME, value=VALUES)
    def set_each(self, numbers: list[int], value: bytes) -> None:
        items = [(self.pick(number), value + bytes([count])) for count, number in enumerate(numbers)]
        self.store.set_each(iter(items))
        self.model.update(items)

    @rule(numbers=SOME, start=st.integers(0, 8), value=VALUES, gap=st.integers(0, 2))
    def set_partial_values(self, numbers: list[int], start: int, value: bytes, gap: int) -> None:
        keys = dict.fromkeys(map(self.pick, numbers))
        second = start + len(value) + gap
        self.store.set_partial_values([(key, second, b"!") for key in keys] + [(key, start, value) for key in keys])
        for key in keys:
            old = self.model.get(key, b"").ljust(start, b"\0")
            new = (old[:start] + value + old[start + len(value) :]).ljust(second, b"\0")
            self.model[key] = new[:second] + b"!" + new[second + 1 :]

    @rule(number=st.integers(0, 10**6), value=VALUES)
    def overlapping_parts_are_rejected(self, number: int, value: bytes) -> None:
        key = self.pick(number)
        for parts in ([(key, 0, value + b"ab"), (key, len(value) + 1, b"c")], [(key, -1, value)]):
            with pytest.raises(StoreError):
                self.store.set_partial_values(parts)

    @rule(number=st.integers(0, 10**6))
    def erase(self, number: int) -> None:
        self.store.erase(self.pick(number))
        self.model.pop(self.pick(number), None)

    @rule(numbers=SOME)
    def erase_values(self, numbers: list[int]) -> None:
        self.store.erase_values(map(self.pick, numbers))
        for number in numbers:
            self.model.pop(self.pick(number), None)

    @rule(number=st.integers(0, 10**6), slash=st.sampled_from(["", "/"]))
    def erase_prefix(self, number: int, slash: str) -> None:
        prefix = self.prefixes[number % len(self.prefixes)]
        self.store.erase_prefix(slash + prefix)
        self.model = {key: value for key, value in self.model.items() if not key.startswith(prefix)}

    @rule(number=st.integers(0, 10**6), value=VALUES, fresh=st.booleans())
    def compare_and_set(self, number: int, value: bytes, fresh: bool) -> None:
        key = self.pick(number)
        value_before, version = self.store.updates.read(key)
        assert plain(value_before) == self.model.get(key)
        assert (version is None) == (value_before is None)
        if not fresh:
            self.store.set(key, self.model.get(key, b"") + b"changed")
            self.model[key] = self.model.get(key, b"") + b"changed"
        assert self.store.updates.write(key, value, version) == fresh
        if fresh:
            self.model[key] = value

    @rule(numbers=SOME, value=VALUES)
    def write_under_a_lock(self, numbers: list[int], value: bytes) -> None:
        keys = [self.pick(number) for number in numbers]
        with self.store.lock(keys):
            for key in keys:
                new = bytes(self.store.get(key) or b"")[:3] + value
                self.store.set(key, new)
                self.model[key] = new

    # -- reading

    @rule(numbers=SOME, range=RANGES)
    def get(self, numbers: list[int], range: ByteRange | None) -> None:
        keys = [self.pick(number) for number in numbers]
        expected = [None if key not in self.model else bytes(cut(self.model[key], range)) for key in keys]
        assert [plain(self.store.get(key, range)) for key in keys] == expected
        requests = [(key, range) for key in keys]
        assert [plain(value) for value in self.store.get_partial_values(requests)] == expected
        each = list(self.store.get_each(requests))
        assert sorted(position for position, _ in each) == list(builtin_range(len(keys)))
        assert all(plain(value) == expected[position] for position, value in each)

    @rule(number=st.integers(0, 10**6), start=st.integers(0, 7), length=st.integers(0, 7))
    def get_into_and_size(self, number: int, start: int, length: int) -> None:
        key = self.pick(number)
        value = self.model.get(key)
        target = bytearray(b"?" * length)
        count = self.store.get_into(key, start, memoryview(target))
        assert self.store.exists(key) == (value is not None)
        if value is None:
            assert count is self.store.size(key) is None
        else:
            part = value[start : start + length]
            assert count == len(part)
            assert bytes(target[:count]) == part
            assert self.store.size(key) == len(value)

    @rule(number=st.integers(0, 10**6), slash=st.sampled_from(["", "/"]))
    def list_below(self, number: int, slash: str) -> None:
        neighbours = self.neighbours()
        for prefix in (self.prefixes * 2)[number % len(self.prefixes) :][:8]:
            below = sorted(key for key in self.model if key.startswith(prefix))
            assert sorted(self.store.list_prefix(slash + prefix)) == below
            keys, prefixes = self.store.list_dir(slash + prefix)
            assert keys == [key for key in below if "/" not in key[len(prefix) :]]
            assert prefixes == sorted(prefixes)
            deep = [key for key in below if "/" in key[len(prefix) :]]
            # S76: a prefix of shards represents the prefixes of all chunks that they could contain. Other keys below it
            # are listed there, but the store does not check whether there are any.
            separate = [key for key in deep if not self.is_among_shards(key)]
            real = {prefix + key[len(prefix) :].split("/")[0] + "/" for key in separate}
            assert real <= set(prefixes)
            for name in set(prefixes) - real if len(separate) == len(deep) else ():
                assert name.startswith(self.place.prefix)
                assert any(chunk.startswith(name) for chunk in neighbours)

    def is_among_shards(self, key: str) -> bool:
        """Whether `key` is not the key of a chunk, but below a prefix that shards could have."""
        keys, rank, top = self.place.chunk_keys, self.place.rank, self.place.prefix
        rest = key.removeprefix(top)
        if not key.startswith(top) or keys.coordinates(rest, rank) is not None:
            return False
        steps = [rest[: end + 1] for end, letter in enumerate(rest) if letter == "/"]
        return any(keys.leading(step, rank) for step in steps)

    def neighbours(self) -> set[str]:
        """The keys of all chunks that could be in the shards that exist."""
        neighbours = set()
        keys, rank = self.place.chunk_keys, self.place.rank
        for chunk in self.model:
            at = keys.coordinates(chunk.removeprefix(self.place.prefix), rank)
            if chunk.startswith(self.place.prefix) and at is not None:
                spread: list[tuple[int, ...]] = [()]
                for index, count in zip(at, self.grid, strict=True):
                    if self.stacked:
                        count *= 4
                    start = index // count * count
                    spread = [(*known, more) for known in spread for more in builtin_range(start, start + count)]
                neighbours.update(self.place.prefix + keys.key(known) for known in spread)
        return neighbours

    @invariant()
    def all_keys_are_listed(self) -> None:
        if hasattr(self, "store"):
            assert sorted(self.store.list()) == sorted(self.model)

    @invariant()
    def stored_values_are_whole_shards(self) -> None:
        if not hasattr(self, "store") or self.stacked:
            return
        count = 1
        for number in self.grid:
            count *= number
        chunks = 0
        for key in self.plain.list():
            rest = key.removeprefix(self.place.prefix)
            if (
                key.startswith(self.place.prefix)
                and self.place.chunk_keys.coordinates(rest, len(self.grid)) is not None
            ):
                shard = plain(self.plain.get(key))
                assert shard is not None
                present = [entry for entry in index_of(shard, count) if entry[0] != 2**64 - 1]
                assert present
                assert sum(size for _, size in present) + 16 * count == len(shard)  # a shard has no unused bytes
                chunks += len(present)
        assert chunks == sum(key in self.chunks for key in self.model)


builtin_range = range


def plain(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


TestSharded = Sharded.TestCase
TestSharded.settings = settings(
    max_examples=4 * settings().max_examples,
    stateful_step_count=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
