"""Parts that a cache returns together are of one state of a value."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import obstore
import pytest
from tests.store.caching.tagged_store import TaggedStore

import omnizarr
from omnizarr.store import CacheStore, LocalStore, MemoryStore, ObjectStore, SQLiteStore, Store, WrapperStore


@pytest.mark.parametrize("kind", ["folder", "bucket", "SQLite"])
@pytest.mark.parametrize("zarr_format", ["3-draft-2022", 3])
@pytest.mark.parametrize("on_disk", [False, True], ids=["in memory", "on disk"])
def test_parts_of_two_states_of_a_shard_are_never_combined(
    kind: str, zarr_format: Any, on_disk: bool, tmp_path: Path
) -> None:
    """The cached index of an old shard does not tell where the chunks of the new one are."""
    store: Store
    if kind == "bucket":
        store = ObjectStore(obstore.store.MemoryStore())
    else:
        store = LocalStore(tmp_path / "x") if kind == "folder" else SQLiteStore(tmp_path / "x.sqlite")
    group = omnizarr.create_group(store, zarr_format=zarr_format)
    writer = group.create_array("x", shape=64, dtype="i8", chunks=8, shards=64, compressors=None)
    cached = CacheStore(store, max_age=3600, folder=tmp_path / "cache" if on_disk else None)
    reader = omnizarr.open_array(cached, path="x", mode="r")
    random = Random(1)
    history: list[list[int]] = [[0] * 64]
    for step in range(60):
        chunk = 8 * random.randrange(8)
        # A chunk of zeros is erased, and the others move.
        writer[chunk : chunk + 8] = 0 if random.random() < 0.3 else 1000 * (step + 1) + np.arange(chunk, chunk + 8)
        history.append(writer[...].tolist())
        for start in random.sample(range(0, 64, 8), 2):
            part = reader[start : start + 8].tolist()
            assert any(part == state[start : start + 8] for state in history), (step, start)


@pytest.mark.parametrize("on_disk", [False, True], ids=["in memory", "on disk"])
def test_a_shard_that_was_replaced_a_moment_ago_can_be_read(on_disk: bool, tmp_path: Path) -> None:
    """A file has no version for 0.1 s after it was written, so that its parts are not cached; those of the file before
    are. Here the second chunk lies where the first one was."""
    store = LocalStore(tmp_path / "x")
    group = omnizarr.create_group(store, zarr_format="3-draft-2022")
    writer = group.create_array("x", shape=24, dtype="i8", chunks=8, shards=24, compressors=None)
    writer[...] = np.arange(1, 25)
    time.sleep(0.15)
    cached = CacheStore(store, max_age=3600, folder=tmp_path / "cache" if on_disk else None)
    reader = omnizarr.open_array(cached, path="x", mode="r")
    assert reader[8:16].tolist() == list(range(9, 17))
    writer[:8] = 0  # erases the chunk, and moves the others
    assert reader[16:].tolist() == list(range(17, 25))


def test_cached_parts_of_two_states_are_requested_again() -> None:
    store = TaggedStore()
    cache = CacheStore(store, max_age=3600)
    store.set("k", b"aaaa")
    assert cache.get("k", (2, 2)) == b"aa"
    store.set("k", b"bbbb")
    assert cache.get("k", (0, 2)) == b"bb"
    assert cache.get_partial_values([("k", (0, 2)), ("k", (2, 2))]) == [b"bb", b"bb"]


@pytest.mark.parametrize("on_disk", [False, True], ids=["in memory", "on disk"])
def test_parts_without_a_version_are_cached_only_forever(on_disk: bool, tmp_path: Path) -> None:
    inner = WrapperStore(MemoryStore())  # it cannot tell versions
    for max_age, cached in ((3600, [b"bb", b"bb"]), (None, [b"aa", b"aa"])):
        cache = CacheStore(inner, max_age=max_age, folder=tmp_path / f"{max_age}" if on_disk else None)
        inner.set("k", b"aaaa")
        assert [cache.get("k", (0, 2)), cache.get("k", (2, 2))] == [b"aa", b"aa"]
        inner.set("k", b"bbbb")
        assert [cache.get("k", (0, 2)), cache.get("k", (2, 2))] == cached
        assert cache.get("whole") is None
        inner.set("whole", b"aaaa")
        cache.clear()
        assert cache.get("whole") == b"aaaa"
        inner.set("whole", b"bbbb")
        assert cache.get("whole", (1, 2)) == b"aa"
        inner.erase("whole")


def test_cached_reads_tell_versions() -> None:
    store = TaggedStore()
    cache = CacheStore(store, max_age=3600)
    reads = cache.versioned_reads
    assert reads is not None
    assert reads.get("k") is None
    store.set("k", b"aaaa")
    cache.clear()
    first = reads.get("k", (0, 2))
    assert first is not None
    store.reads.clear()
    assert reads.get("k", (0, 2), first.version) == first._replace(size=None)
    assert not store.reads
    store.set("k", b"bbbb")
    assert reads.get("k", (0, 2), first.version) == first._replace(size=None)  # as old as `max_age` allows
    changed = reads.get("k", (2, 2), first.version)
    assert changed is not None
    assert changed.data is None
    second = reads.get("k", (0, 2))  # what is outdated is not used any more
    assert second is not None
    assert second.data == b"bb"
