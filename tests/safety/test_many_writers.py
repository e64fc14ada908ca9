"""Promise 1: no update is lost, whichever parts of the same chunks several writers write at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.store import Store, Updates, provides, update
from omnizarr.store.wrappers import ForwardedUpdates, forwarded
from omnizarr.transformers import ShardingTransformer
from tests.safety.processes import run_all

WRITERS = 8
LENGTH = 256

LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": 64},
    "shards": {"chunks": 16, "shards": 128},
    "nested shards": {
        "chunks": 128,
        "serializer": {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [64],
                "codecs": [
                    {
                        "name": "sharding_indexed",
                        "configuration": {"chunk_shape": [16], "codecs": ["bytes"], "index_codecs": ["bytes"]},
                    }
                ],
                "index_codecs": ["bytes", "crc32c"],
            },
        },
    },
    "the draft of 2022": {"chunks": 16, "shards": 128, "zarr_format": "3-draft-2022"},
    "v2": {"chunks": 64, "zarr_format": 2},
    "N5": {"chunks": 64, "zarr_format": "n5"},
}


def write_every(place: Any, number: int) -> None:
    """Writes every eighth element, one by one, in a random order."""
    z = omnizarr.open_array(place)
    for index in np.random.default_rng(number).permutation(np.arange(number, LENGTH, WRITERS)).tolist():
        z[index] = index + 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_processes_that_share_chunks_lose_no_elements(tmp_path: Path, layout: str) -> None:
    place = tmp_path / "x.zarr"
    omnizarr.create_array(place, shape=LENGTH, dtype="i4", **LAYOUTS[layout])
    run_all(write_every, [(place, number) for number in range(WRITERS)])
    assert omnizarr.open_array(place)[...].tolist() == list(range(1, LENGTH + 1))
    assert not [path for path in place.rglob("*") if path.name.startswith(".omnizarr")]


def test_processes_that_share_a_database_lose_no_elements(tmp_path: Path) -> None:
    place = omnizarr.SQLiteStore(tmp_path / "x.sqlite")
    omnizarr.create_array(place, shape=LENGTH, dtype="i4", chunks=16, shards=128)
    run_all(write_every, [(place, number) for number in range(WRITERS // 2)])
    expected = np.arange(1, LENGTH + 1)
    expected[np.arange(LENGTH) % WRITERS >= WRITERS // 2] = 0
    np.testing.assert_array_equal(omnizarr.open_array(place)[...], expected)


@pytest.mark.parametrize("counts", [[4], [2, 2]])
def test_processes_that_share_shards_of_transformers_lose_no_elements(tmp_path: Path, counts: list[int]) -> None:
    place = omnizarr.SQLiteStore(tmp_path / "x.sqlite")
    stack = [ShardingTransformer((count,)) for count in counts]
    omnizarr.create_array(
        place, shape=LENGTH, dtype="i4", chunks=32, zarr_format="3-draft-2022", storage_transformers=stack
    )
    run_all(write_every, [(place, number) for number in range(WRITERS)])
    assert omnizarr.open_array(place)[...].tolist() == list(range(1, LENGTH + 1))


def test_partial_writes_do_not_undo_whole_writes_and_erasures(tmp_path: Path) -> None:
    place = tmp_path / "x.zarr"
    omnizarr.create_array(place, shape=32, dtype="i4", chunks=8)
    run_all(mix_in_turns, [(place, number) for number in range(4)])
    found = omnizarr.open_array(place)[...]
    for number in range(4):
        assert found[number * 8 + number] == 10_000 + number, "the last value written there"


def mix_in_turns(place: Any, number: int) -> None:
    """Each process writes into the chunks of all others. Only its owner writes a whole chunk, and only process `number`
    writes its own element of each chunk. So the process knows the value of its element in its own chunk."""
    z = omnizarr.open_array(place)
    own, mine = slice(number * 8, number * 8 + 8), number * 8 + number
    random = np.random.default_rng(number)
    for step in range(30):
        z[mine] = step + 1
        assert z[mine] == step + 1, "a partial write was undone"
        others = [chunk * 8 + number for chunk in range(4) if chunk != number]
        z[int(random.choice(others))] = step
        if step % 3 == 0:
            z[own] = np.full(8, -step)
            assert z[mine] == -step, "a whole chunk was undone"
        elif step % 3 == 1:
            z[own] = 0
            assert z[mine] == 0, "an erased chunk came back"
    z[mine] = 10_000 + number


def write_row(place: Any, number: int) -> None:
    z = omnizarr.open_array(place)
    for step in range(10):
        z[number, :] = number * 100 + step


def test_writers_of_rows_across_all_chunks(tmp_path: Path) -> None:
    place = tmp_path / "x.zarr"
    omnizarr.create_array(place, shape=(8, 96), dtype="i4", chunks=(4, 8), shards=(8, 32))
    run_all(write_row, [(place, number) for number in range(8)])
    np.testing.assert_array_equal(omnizarr.open_array(place)[...], np.repeat(np.arange(8) * 100 + 9, 96).reshape(8, 96))


def test_a_stale_handle_keeps_rows_that_others_appended_to_its_last_chunk(tmp_path: Path) -> None:
    for place in (tmp_path / "x.zarr", omnizarr.MemoryStore()):
        for layout in ({"chunks": 8}, {"chunks": 4, "shards": 8}, {"chunks": 2, "shards": 8}):
            z = omnizarr.create_array(place, shape=5, dtype="i4", overwrite=True, **layout)
            stale = omnizarr.open_array(place)
            z.append([6, 7])
            stale[...] = [1, 2, 3, 4, 5]
            assert z[...].tolist() == [1, 2, 3, 4, 5, 6, 7]
            stale[...] = 0
            assert z[...].tolist() == [0, 0, 0, 0, 0, 6, 7]


class ConditionalUpdates(Updates):
    def __init__(self, store: Conditional) -> None:
        self._random = store.random
        assert store.inner.updates is not None
        self._inner: Updates = store.inner.updates

    def read(self, key: str, limit: int | None = None) -> Any:
        return self._inner.read(key, limit)

    def write(self, key: str, value: Any, version: Any) -> bool:
        return (version is None or self._random.random() < 0.7) and self._inner.write(key, value, version)


class Conditional(Store):
    """A store with conditional writes but no locks, as object stores are. Some writes fail because of a competing
    writer."""

    updates = provides(ConditionalUpdates)

    def __init__(self) -> None:
        self.inner = omnizarr.MemoryStore()
        self.random = Random(0)

    @property
    def location(self) -> str:
        return "conditional"

    def get(self, key: str, range: Any = None) -> Any:
        return self.inner.get(key, range)

    def set(self, key: str, value: Any) -> None:
        self.inner.set(key, value)

    def erase(self, key: str) -> None:
        self.inner.erase(key)

    def list_prefix(self, prefix: str) -> Any:
        return self.inner.list_prefix(prefix)

    def lock(self, keys: Any, *, shared: bool = False) -> Any:
        raise AssertionError("it cannot lock")


def test_conditional_writes_lose_nothing_without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "_FIRST_PAUSE", 1e-4)
    store = Conditional()
    omnizarr.create_array(store, shape=64, dtype="i4", chunks=16, shards=32)
    handles = [omnizarr.open_array(store) for _ in range(4)]

    def work(number: int) -> None:
        for index in range(number, 64, 4):
            handles[number][index] = index + 1
            handles[number].attrs[f"{number}-{index}"] = index
        for _ in range(5):
            handles[number].append([100 + number] * 3)
        handles[number][number::4][:] = 0

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    z = omnizarr.open_array(store)
    assert z[:64].tolist() == list(range(1, 65))
    assert sorted(z[64:].tolist()) == sorted([100, 101, 102, 103] * 15)
    assert len(z.attrs) == 64


def test_a_chunk_that_becomes_empty_is_erased_only_if_no_other_writer_changed_it() -> None:
    for store in (Conditional(), omnizarr.MemoryStore()):
        z = omnizarr.create_array(store, shape=4, dtype="u1", chunks=4, compressors=None)
        z[1] = 5
        z[1] = 0
        assert store.get("c/0") == (bytes(4) if isinstance(store, Conditional) else None)
        z[...] = 0
        assert store.get("c/0") is None


class InterruptedUpdates(ForwardedUpdates):
    def read(self, key: str, limit: int | None = None) -> Any:
        found = super().read(key, limit)
        act, self.store.act = self.store.act, None
        if act is not None and key == "c/0":
            act()
        return found


class Interrupting(omnizarr.store.WrapperStore):
    """A store in which another writer changes a chunk between the read and the write of an update."""

    updates = forwarded("updates", InterruptedUpdates)

    def __init__(self, inner: Store, act: Any) -> None:
        super().__init__(inner)
        self.act = act

    @property
    def location(self) -> str:
        return "another process"  # in one process, the process lock would make them wait for each other


@pytest.mark.parametrize("other", ["part", "whole", "erase", "the same"])
def test_a_write_between_the_read_and_the_write_of_an_update_is_kept(tmp_path: Path, other: str) -> None:
    acts = {"part": (3, 7), "whole": (slice(None), 8), "erase": (slice(None), 0), "the same": (slice(None), 1)}
    key, value = acts[other]
    for store in (omnizarr.LocalStore(tmp_path), omnizarr.MemoryStore()):
        z = omnizarr.create_array(store, shape=4, dtype="u1", chunks=4, overwrite=True)
        z[...] = 1
        expected = np.ones(4, "u1")
        expected[key] = value
        expected[0] = 5
        interrupted = omnizarr.open_array(Interrupting(store, lambda z=z: z.__setitem__(key, value)))
        interrupted[0] = 5
        assert z[...].tolist() == expected.tolist()
