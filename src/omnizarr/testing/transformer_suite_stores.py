"""The first half of `TransformerSuite`: the store that a transformer makes of another, compared with a plain store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from omnizarr._json import Problems
from omnizarr.chunk_keys import DefaultKeys, FanoutKeys, V2Keys
from omnizarr.errors import InvalidKeyError, ReadOnlyError
from omnizarr.store import (
    Buffer,
    ByteRange,
    LocalStore,
    MappedStore,
    MemoryStore,
    Store,
    VersionedReads,
    as_read_only,
    check_key,
    provides,
)
from omnizarr.store.contract import State, Version, cut
from omnizarr.store.update import set_if_absent
from omnizarr.testing.store_suite import StoreSuite, count_up
from omnizarr.testing.store_suite_basics import contents, plain
from omnizarr.transformers import ArrayPlace, ShardingTransformer, StorageTransformer, wrap_all

__all__ = ["Stack", "TransformerStores"]

Stack = tuple[StorageTransformer, ...]

_PLACES = (
    ArrayPlace("a/b/", (1000, 1000), (10, 10), DefaultKeys("/")),
    ArrayPlace("", (1000,), (10,), DefaultKeys(".")),
    ArrayPlace("a/b/", (1000,), (10,), DefaultKeys("/")),
    ArrayPlace("a/", (1000, 1000), (10, 10), V2Keys(".")),
    ArrayPlace("a/", (1000, 1000, 1000), (10, 10, 10), V2Keys("/")),
    ArrayPlace("a/b/", (10**6,), (10,), FanoutKeys(100)),
    ArrayPlace("a/b/", (), (), DefaultKeys("/")),
)
_SUITE_PLACE = ArrayPlace("array/", (2**62,), (1,), DefaultKeys("/"))
_RANGES: tuple[ByteRange | None, ...] = (None, (0, None), (2, 3), (1, None), (-2, None), (0, 0), (50, 2))
_LIMITS = ("shared", "twice", "under sharding", "over sharding", "exact prefixes")


class TransformerStores(StoreSuite):
    """The first half of `TransformerSuite`, and the settings of a subclass. The tests of `StoreSuite` run, too: keys of
    up to seven bytes are chunks, and other keys are not."""

    limits: Mapping[str, str] = {}
    """What the transformer does not support, with the reason, which pytest shows for tests that are skipped:

    - `shared`: other handles see changes at once;
    - `twice`: an array may have two transformers of this kind;
    - `under sharding`, `over sharding`: an array may have a sharding transformer before or after this one;
    - `exact prefixes`: `list_dir` returns only prefixes that have keys.
    """

    def make_transformers(self) -> Sequence[StorageTransformer]:
        """The transformers to test, in all configurations of interest."""
        raise NotImplementedError("a subclass of TransformerSuite must define make_transformers")

    def prepare(self, store: Store, prefix: str) -> None:
        """Store what the transformer needs before the first chunk, such as a table, for the array whose chunk keys
        start with `prefix`."""

    def make_store(self, tmp_path: Path) -> Store:
        """The store for the tests of `StoreSuite`: the first transformer that supports one dimension, over files."""
        transformer = next(item for item in self.make_transformers() if _supports([item], _SUITE_PLACE.shape))
        inner = LocalStore(tmp_path)
        self.prepare(inner, _SUITE_PLACE.prefix)
        return _ChunkView(transformer.wrap(inner, _SUITE_PLACE), frozenset(inner.list()))

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        transformers = self.make_transformers()
        if "transformer" in metafunc.fixturenames:
            metafunc.parametrize("transformer", transformers, ids=[repr(item)[:60] for item in transformers])
        if "stack" in metafunc.fixturenames:
            names = ("alone",) if not transformers[0].layout else ("alone", "twice", "under sharding", "over sharding")
            metafunc.parametrize("stack", names)

    def skip_limited(self, name: str) -> None:
        """Skip the test if the transformer does not support `name`."""
        if name in self.limits:
            pytest.skip(self.limits[name])

    def make_stack(self, transformer: StorageTransformer, name: str, rank: int) -> Stack:
        """The transformers of a stack: `alone`, `twice`, `under sharding` or `over sharding`."""
        self.skip_limited(name)
        sharding = ShardingTransformer((2,) * rank)
        if transformer.last and name in ("twice", "over sharding"):
            pytest.skip("it is always the last transformer of an array")
        if name == "twice":
            shape = (1000,) * rank
            return transformer, [item for item in self.make_transformers() if _supports([item], shape)][-1]
        return {"alone": (transformer,), "under sharding": (sharding, transformer)}.get(name, (transformer, sharding))

    def places_for(self, transformer: StorageTransformer, stack: str) -> list[tuple[ArrayPlace, Stack]]:
        """Arrays of several ranks and chunk key encodings that the transformer supports, each with its stack."""
        places = [place for place in _PLACES if _supports([transformer], place.shape)]
        assert places, f"{transformer!r} supports no array of 0 to 3 dimensions"
        return [(place, self.make_stack(transformer, stack, place.rank)) for place in places]

    # -- the suite itself

    def test_limits_are_known(self) -> None:
        assert sorted(self.limits.keys() - set(_LIMITS)) == []

    # -- verbs, compared with a plain store

    def test_it_behaves_like_a_plain_store(self, transformer: StorageTransformer, stack: str) -> None:
        for number, (place, transformers) in enumerate(self.places_for(transformer, stack)):
            exact = "exact prefixes" not in self.limits and "sharding" not in stack
            _Comparison(self, transformers, place, exact, Random(number)).run()

    def test_other_keys_have_the_same_values_as_in_the_store(self, transformer: StorageTransformer) -> None:
        for place, transformers in self.places_for(transformer, "alone"):
            inner, store = self._wrapped(transformers, place)
            keys = ["zarr.json", "z/zarr.json", "z/c/0/0", "abc"]
            keys += [place.prefix + name for name in ("zarr.json", "other", "notes/1")]
            if transformer.keeps_document:
                keys = [key for key in keys if not key.startswith(place.prefix)]
            for key in keys:
                store.set(key, b"through the transformer")
                assert plain(inner.get(key)) == b"through the transformer"
                inner.set(key, b"directly")
                assert plain(store.get(key)) == b"directly"
            assert {key for key in keys if store.exists(key)} == set(keys)
            assert set(keys) <= set(store.list())
            for key in keys:
                store.erase(key)
                assert inner.get(key) is None

    def test_everything_persistent_is_in_the_store(self, transformer: StorageTransformer, stack: str) -> None:
        self.skip_limited("shared")
        for place, transformers in self.places_for(transformer, stack):
            inner, one = self._wrapped(transformers, place)
            two = wrap_all(inner, transformers, place)
            key, other = _chunk_keys(place)[:2] if place.rank else _chunk_keys(place) * 2
            one.set(key, b"first")
            assert plain(two.get(key)) == b"first"
            assert set_if_absent(two, key, b"second") is False
            two.set(other, b"other")
            assert sorted(one.list()) == sorted(two.list())
            one.erase(other)
            assert two.get(other) is None

    def test_a_read_only_store_stays_read_only(self, transformer: StorageTransformer) -> None:
        for place, transformers in self.places_for(transformer, "alone"):
            inner = MemoryStore()
            self.prepare(inner, place.prefix)
            store = wrap_all(as_read_only(inner), transformers, place)
            before = contents(inner)
            key = _chunk_keys(place)[0]
            assert store.read_only
            assert store.get(key) is None
            writes: list[Callable[[], object]] = [
                partial(store.set, key, b"x"),
                partial(store.set_each, [(key, b"x")]),
                partial(store.set_partial_values, [(key, 1, b"x")]),
                partial(store.erase, key),
                partial(store.erase_values, [key]),
                partial(store.erase_prefix, place.prefix),
            ]
            if store.updates is not None:
                writes.append(partial(store.updates.write, key, b"x", None))
            for write in writes:
                with pytest.raises(ReadOnlyError):
                    write()
            assert contents(inner) == before

    # -- capabilities of chunks; `StoreSuite` tests each of them alone

    def test_updates_of_chunks_detect_other_writers(self, transformer: StorageTransformer, stack: str) -> None:
        self.skip_limited("shared")
        for place, transformers in self.places_for(transformer, stack):
            inner, one = self._wrapped(transformers, place)
            two = wrap_all(inner, transformers, place)
            key = _chunk_keys(place)[0]
            first, second = one.updates, two.updates
            if first is None or second is None:
                pytest.skip("this transformer offers no updates")
            assert first.read(key) == (None, None)
            assert first.write(key, b"first", None)
            assert not second.write(key, b"late", None), "put-if-absent"
            value, version = second.read(key) or (None, None)
            assert plain(value) == b"first"
            first.write(key, b"second", (first.read(key) or (None, None))[1])
            assert not second.write(key, b"third", version)
            assert plain(one.get(key)) == plain(two.get(key)) == b"second"
            if first.erases:
                assert not second.erase(key, version)
                assert first.erase(key, (first.read(key) or (None, None))[1])
                assert two.get(key) is None

    def test_versioned_reads_of_chunks(self, transformer: StorageTransformer) -> None:
        for place, transformers in self.places_for(transformer, "alone"):
            _, store = self._wrapped(transformers, place, _VersionedMemory())
            reads = store.versioned_reads
            if reads is None:
                pytest.skip("this transformer offers no versioned reads")
            key = _chunk_keys(place)[0]
            assert reads.get(key) is None
            store.set(key, b"0123456789")
            first = reads.get(key, (0, 4))
            assert first is not None
            assert plain(first.data) == b"0123"
            assert plain((reads.get(key, (-2, None), first.version) or first).data) == b"89"
            store.set(key, b"abcdefghij")
            outdated = reads.get(key, (4, None), first.version)
            assert outdated is None or outdated.data is None or plain(outdated.data) == b"456789"

    def test_no_update_of_neighbouring_chunks_is_lost(self, transformer: StorageTransformer, stack: str) -> None:
        self.skip_limited("shared")
        place, transformers = self.places_for(transformer, stack)[0]
        inner, store = self._wrapped(transformers, place)
        keys = (_chunk_keys(place) * self.threads)[: self.threads]
        for key in keys:
            store.set(key, b"0")

        def work(number: int) -> None:
            own = wrap_all(inner, transformers, place)
            count_up(own, keys[number], 10)
            count_up(own, keys[0], 5)

        self._in_threads(work, range(self.threads))
        expected = dict.fromkeys(keys, 0)
        for key in keys:
            expected[key] += 10
            expected[keys[0]] += 5
        assert {key: int(bytes(store.get(key) or b"")) for key in keys} == expected

    # -- helpers

    def _wrapped(self, transformers: Stack, place: ArrayPlace, inner: Store | None = None) -> tuple[Store, Store]:
        """A new store, and the store that `transformers` make of it."""
        inner = MemoryStore() if inner is None else inner
        self.prepare(inner, place.prefix)
        return inner, wrap_all(inner, transformers, place)


def _supports(transformers: Iterable[StorageTransformer], shape: tuple[int, ...]) -> bool:
    problems = Problems()
    for transformer in transformers:
        transformer.check(shape, "$.storage_transformers[0]", problems)
    return not problems.found


def _chunk_keys(place: ArrayPlace) -> list[str]:
    """The keys of neighbouring chunks, and of some others."""
    numbers = [(0, 1, 2, 11, 99), (0, 1, 12), (0, 3)][: place.rank]
    chunks: list[tuple[int, ...]] = [()]
    for axis in reversed(numbers):
        chunks = [(number, *rest) for rest in chunks for number in axis]
    return [place.prefix + place.chunk_keys.key(chunk) for chunk in chunks]


class _Comparison:
    """Random operations on a plain store and on one behind transformers, which must give the same answers."""

    def __init__(
        self, suite: TransformerStores, transformers: Stack, place: ArrayPlace, exact: bool, random: Random
    ) -> None:
        self.plain = MemoryStore()
        suite.prepare(self.plain, place.prefix)
        _, self.store = suite._wrapped(transformers, place)
        self.exact = exact
        self.random = random
        self.keys = sorted({*_chunk_keys(place)[:25], place.prefix + "zarr.json", "zarr.json", "z/c/0/0"})
        plain_keys = list(self.plain.list())
        folders = {"", *(key[: index + 1] for key in self.keys for index, sign in enumerate(key) if sign == "/")}
        self.folders = sorted(folders)
        self.erasable = [folder for folder in self.folders if not any(key.startswith(folder) for key in plain_keys)]

    def run(self) -> None:
        for step in range(40):
            self.change()
            self.check_values()
            if step % 6 == 0:
                self.check_listings()
        for folder in self.erasable:
            self.plain.erase_prefix(folder)
            self.store.erase_prefix(folder)
        self.check_listings()

    def change(self) -> None:
        random, keys = self.random, self.random.sample(self.keys, min(3, len(self.keys)))
        values = [random.randbytes(random.choice((0, 1, 7, 300))) for _ in keys]
        parts = [(key, random.randrange(4), value) for key, value in zip(keys, values, strict=True)]
        actions: list[Callable[[Store], object]] = [
            lambda store: store.set(keys[0], values[0]),
            lambda store: store.set(keys[0], memoryview(bytearray(values[0]))),
            lambda store: store.set_each(zip(keys, values, strict=True)),
            lambda store: store.set_partial_values(parts),
            lambda store: store.erase(keys[0]),
            lambda store: store.erase_values(keys),
            lambda store: set_if_absent(store, keys[0], values[0]),
        ]
        if self.erasable:
            folder = random.choice(self.erasable)
            actions.append(lambda store: store.erase_prefix(folder))
        action = random.choice(actions)
        action(self.plain)
        action(self.store)

    def check_values(self) -> None:
        requests = [(self.random.choice(self.keys), self.random.choice(_RANGES)) for _ in range(6)]
        expected = [plain(value) for value in self.plain.get_partial_values(requests)]
        store = self.store
        assert [plain(store.get(key, range)) for key, range in requests] == expected
        assert [plain(value) for value in store.get_partial_values(requests)] == expected
        assert {index: plain(value) for index, value in store.get_each(requests)} == dict(enumerate(expected))
        for key, _ in requests:
            value = plain(self.plain.get(key))
            assert plain(store.get_current(key)) == value
            assert store.exists(key) == (value is not None)
            assert store.size(key) == (None if value is None else len(value))
            target = bytearray(5)
            length = store.get_into(key, 2, memoryview(target))
            assert length == (None if value is None else len(value[2:7]))
            assert value is None or bytes(target[: length or 0]) == value[2:7]
            if store.updates is not None:
                assert plain((store.updates.read(key) or (b"too long",))[0]) == value
            if store.snapshots is not None:
                snapshot = store.snapshots.open(key)
                assert (snapshot is None) == (value is None)
                if snapshot is not None:
                    assert value is not None
                    assert (snapshot.size, plain(snapshot.get((1, None)))) == (len(value), value[1:])
                    snapshot.close()

    def check_listings(self) -> None:
        assert sorted(self.store.list()) == sorted(self.plain.list()), "listings show the keys of the array only"
        for folder in self.folders:
            assert sorted(self.store.list_prefix(folder)) == sorted(self.plain.list_prefix(folder))
            keys, prefixes = self.store.list_dir(folder)
            expected_keys, expected_prefixes = self.plain.list_dir(folder)
            assert keys == expected_keys
            if self.exact:
                assert prefixes == expected_prefixes
            else:
                assert set(prefixes) >= set(expected_prefixes)


class _ChunkView(MappedStore, keeps_capabilities=True):
    """Shows the chunks of the array at `_SUITE_PLACE` under keys of up to seven bytes, which are the numbers of the
    chunks. Shows no `hidden` keys."""

    def __init__(self, inner: Store, hidden: frozenset[str]) -> None:
        super().__init__(inner)
        self._hidden = hidden

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.inner, self._hidden)

    def inner_key(self, key: str) -> str:
        try:
            check_key(key)
            number = int.from_bytes(key.encode(), "big")
        except (InvalidKeyError, TypeError, AttributeError):
            return key
        place = _SUITE_PLACE
        return place.prefix + place.chunk_keys.key((number,)) if number < 2**56 else key

    def own_key(self, inner_key: str) -> str | None:
        place = _SUITE_PLACE
        chunk = place.chunk_keys.coordinates(inner_key.removeprefix(place.prefix), 1)
        if chunk is None or not inner_key.startswith(place.prefix):
            return None if inner_key in self._hidden else inner_key
        return chunk[0].to_bytes((chunk[0].bit_length() + 7) // 8, "big").decode()

    def inner_prefixes(self, prefix: str) -> Iterable[str]:
        return (prefix, _SUITE_PLACE.prefix) if prefix else ("",)


class _VersionedMemory(MemoryStore, keeps_capabilities=True):
    """A store in memory that reads parts of one version. The version of a value is the value."""

    versioned_reads = provides(lambda store: _MemoryReads(store))


class _MemoryReads(VersionedReads):
    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        value: Buffer | None = self._store.get(key)
        if value is None:
            return None
        current = version is None or bytes(value) == version
        return State(cut(value, range) if current else None, bytes(value), len(value))
