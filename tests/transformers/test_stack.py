"""Third-party transformers: registered by URI or name, stacked in the order of the list, given at open."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

import pytest

import omnizarr
from omnizarr._json import Json, Problems
from omnizarr.chunk_keys import DefaultKeys
from omnizarr.errors import ArgumentError, InvalidKeyError
from omnizarr.store import Buffer, ByteRange, CacheStore, LocalStore, MemoryStore, Store, cut
from omnizarr.transformers import (
    ArrayPlace,
    MemoryCache,
    ShardedStore,
    ShardingTransformer,
    StorageTransformer,
    array_store,
    find_transformer,
    storage_transformers,
    wrap_all,
)

PLACE = ArrayPlace("data/foo/", (20,), (5,), DefaultKeys())


class Marked(Store):
    """Appends a letter to written values and removes it on reading. It implements only what a store must."""

    def __init__(self, inner: Store, letter: bytes) -> None:
        self.inner = inner
        self.letter = letter

    @property
    def location(self) -> str:
        return self.inner.location

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        value = self.inner.get(key)
        if value is None:
            return None
        assert bytes(value[-1:]) == self.letter
        return cut(bytes(value)[:-1], range)

    def set(self, key: str, value: Buffer) -> None:
        self.inner.set(key, bytes(value) + self.letter)

    def erase(self, key: str) -> None:
        self.inner.erase(key)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self.inner.list_prefix(prefix)

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        return self.inner.lock(keys, shared=shared)


@dataclasses.dataclass(frozen=True, slots=True)
class Marking(StorageTransformer):
    name: ClassVar[str] = "https://example.org/marking"

    letter: str

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Marking | None:
        return cls(str(configuration["letter"]))

    def configuration(self) -> dict[str, Json]:
        return {"letter": self.letter}

    def wrap(self, store: Store, place: ArrayPlace) -> Store:
        return Marked(store, self.letter.encode())


@pytest.fixture
def registered() -> Iterator[None]:
    storage_transformers.register(Marking.name, Marking, aliases=("example.marking",))
    yield
    del storage_transformers._items[Marking.name], storage_transformers._aliases["example.marking"]


@pytest.mark.usefixtures("registered")
def test_a_third_party_registers_by_uri_or_name() -> None:
    assert find_transformer("https://example.org/marking") is Marking
    assert find_transformer("https://example.org/marking", "whatever") is Marking
    assert find_transformer("example.marking") is Marking
    assert find_transformer("https://example.org/marking/1.0") is None


def test_transformers_of_packages_are_found_by_entry_points() -> None:
    assert storage_transformers.group == "omnizarr.storage_transformers"


@pytest.mark.smoke
def test_S63_R122_the_first_transformer_is_next_to_the_array() -> None:
    inner = MemoryStore()
    store = wrap_all(inner, [Marking("a"), Marking("b"), Marking("c")], PLACE)
    store.set("data/foo/c/0", b"x")
    assert inner.get("data/foo/c/0") == b"xabc"
    assert store.get("data/foo/c/0") == b"x"
    assert wrap_all(inner, [], PLACE) is inner


def test_transformers_given_at_open_come_before_stored_ones() -> None:
    inner = MemoryStore()
    store = array_store(inner, PLACE, [ShardingTransformer((2,))], [MemoryCache()])
    assert isinstance(store, CacheStore)
    assert isinstance(store.inner, ShardedStore)
    assert store.inner.inner is inner
    assert array_store(inner, PLACE) is inner


def test_S63_transformers_that_change_the_layout_cannot_be_given_at_open() -> None:
    for runtime in (ShardingTransformer((2,)), Marking("a")):
        with pytest.raises(ArgumentError, match="changes what is stored"):
            array_store(MemoryStore(), PLACE, (), [runtime])


def test_each_transformer_receives_the_chunks_of_the_one_above() -> None:
    seen: list[Any] = []

    class Recording(Marking):
        def wrap(self, store: Store, place: ArrayPlace) -> Store:
            seen.append(place)
            return store

    stack = [Recording("a"), ShardingTransformer((2,)), Recording("b"), ShardingTransformer((2,)), Recording("c")]
    wrap_all(MemoryStore(), stack, PLACE)
    assert [place.chunk_shape for place in seen] == [(20,), (10,), (5,)]
    assert {(place.prefix, place.shape, place.rank) for place in seen} == {("data/foo/", (20,), 1)}


def test_a_place_has_a_prefix() -> None:
    assert ArrayPlace("/data/foo/", (), (), DefaultKeys()).prefix == "data/foo/"
    assert ArrayPlace("", (), (), DefaultKeys()).rank == 0
    with pytest.raises(InvalidKeyError):
        ArrayPlace("data/foo", (), (), DefaultKeys())


def test_a_transformer_accepts_every_array_by_default() -> None:
    problems = Problems()
    Marking("a").check((1, 2, 3), "$", problems)
    assert not problems
    assert Marking("a").below(PLACE) is PLACE


STACKS: dict[str, list[StorageTransformer]] = {
    "shards": [ShardingTransformer((4,))],
    "shards of shards": [ShardingTransformer((4,)), ShardingTransformer((2,))],
    "marks, then shards": [Marking("a"), ShardingTransformer((4,))],
    "marks, then shards of shards": [Marking("a"), ShardingTransformer((2,)), ShardingTransformer((2,)), Marking("b")],
}


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("kind", ["memory", "files"])
def test_S63_concurrent_writes_to_one_shard_lose_nothing(stack: str, cached: bool, kind: str, tmp_path: Path) -> None:
    """Each thread has its own handle and writes parts of chunks. The document names all transformers."""
    store: Store = MemoryStore() if kind == "memory" else LocalStore(tmp_path)
    omnizarr.create_array(
        store, shape=32, dtype="u2", chunks=2, zarr_format="3-draft-2022", storage_transformers=STACKS[stack]
    )
    runtime = [MemoryCache()] if cached else None
    started = threading.Barrier(4)

    def work(number: int) -> None:
        z = omnizarr.open_array(store, storage_transformers=runtime)
        started.wait()
        for element in range(number, 32, 4):
            z[element] = element + 1
            assert z[element] == element + 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    again = omnizarr.open_array(store, mode="r")
    assert again[...].tolist() == list(range(1, 33))
    assert again.metadata.storage_transformers == tuple(STACKS[stack][again.shards is not None :])
    again = omnizarr.open_array(store, mode="r+")
    again.resize(20)
    again[3:9] = 0
    assert omnizarr.open_array(store)[...].tolist() == [1, 2, 3, *[0] * 6, *range(10, 21)]
