"""Snapshots of values, their versions, and cached shard indexes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import omnizarr
from omnizarr.store import (
    LocalStore,
    MemoryStore,
    PrefixStore,
    ReadOnlyStore,
    Snapshot,
    Store,
    TransparentStore,
    WrapperStore,
)
from omnizarr.store.local import snapshot
from omnizarr.testing import RecordingStore
from omnizarr.transformers import ArrayPlace, MemoryCache


def stores(folder: Path) -> dict[str, Store]:
    return {
        "memory": MemoryStore(),
        "local": LocalStore(folder / "local"),
        "prefix": PrefixStore(LocalStore(folder / "below"), "a/b"),
        "transparent": TransparentStore(MemoryStore()),
    }


def open_snapshot(store: Store, key: str) -> Snapshot | None:
    assert store.snapshots is not None
    return store.snapshots.open(key)


@pytest.mark.parametrize("name", ["memory", "local", "prefix", "transparent"])
def test_a_snapshot_does_not_change(name: str, tmp_path: Path) -> None:
    store = stores(tmp_path)[name]
    assert open_snapshot(store, "k") is None
    store.set("k", b"0123456789")
    value = open_snapshot(store, "k")
    assert value is not None
    store.set("k", b"other")
    assert (value.size, bytes(value.get((2, 3))), bytes(value.get((-2, None)))) == (10, b"234", b"89")
    store.erase("k")
    assert bytes(value.get((0, None))) == b"0123456789"
    value.close()
    assert open_snapshot(store, "k") is None


@pytest.mark.parametrize("name", ["memory", "local"])
def test_versions_differ_if_and_only_if_the_value_changed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "_LONGEST_TICK", -1)
    store = stores(tmp_path)[name]
    versions = []
    for content in (b"one", b"two"):
        store.set("k", content)
        time.sleep(0.02)  # until the clock of the file system has advanced
        for _ in range(2):
            value = open_snapshot(store, "k")
            assert value is not None
            versions.append(value.version)
            value.close()
    assert versions[0] == versions[1] != versions[2] == versions[3]


def test_a_file_that_was_just_written_has_no_version(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("k", b"new")
    recent = open_snapshot(store, "k")
    os.utime(tmp_path / "k", ns=(0, 0))  # sets the mtime, but the ctime becomes now
    assert recent is not None
    assert recent.version is None
    recent.close()


def test_timestamps_in_whole_seconds_need_more_time_to_settle(tmp_path: Path) -> None:
    """The clock of some file systems advances only every two seconds (FAT)."""
    (tmp_path / "k").write_bytes(b"new")
    status = (tmp_path / "k").stat()
    second = 10**9
    now = time.time_ns() // second * second

    def version(timestamp: int) -> object:
        stat = SimpleNamespace(st_dev=1, st_ino=1, st_size=status.st_size, st_mtime_ns=timestamp, st_ctime_ns=timestamp)
        value = snapshot.FileSnapshot(os.open(tmp_path / "k", os.O_RDONLY), stat, print)  # type: ignore[arg-type]
        value.close()
        return value.version

    assert version(now - second) is None
    assert version(now - second + 1) is not None
    assert version(now - 3 * second) is not None


def test_a_directory_has_no_snapshot(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert open_snapshot(LocalStore(tmp_path), "folder") is None


def test_a_wrapper_that_changes_values_offers_no_snapshots() -> None:
    class UpperCase(WrapperStore):
        def get(self, key, range=None):  # type: ignore[no-untyped-def]
            value = self.inner.get(key, range)
            return None if value is None else bytes(value).upper()

    inner = MemoryStore()
    inner.set("k", b"value")
    cached = MemoryCache(2**10).wrap(inner, ArrayPlace("", (4,), (2,), omnizarr.chunk_keys.DefaultKeys()))
    for store in (UpperCase(inner), RecordingStore(inner), cached):
        assert store.snapshots is None
    assert ReadOnlyStore(inner).snapshots is not None


@pytest.mark.parametrize("longest_tick", [snapshot._LONGEST_TICK, -1])
@pytest.mark.parametrize("kind", ["memory", "local", "recorded"])
def test_reads_of_a_replaced_shard_return_its_latest_values(
    longest_tick: int, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the reader has cached the index of an older version."""
    monkeypatch.setattr(snapshot, "_LONGEST_TICK", longest_tick)
    store: Store = LocalStore(tmp_path) if kind == "local" else MemoryStore()
    if kind == "recorded":
        store = RecordingStore(store)
    z = omnizarr.create_array(store, shape=(8, 8), dtype="i4", chunks=(2, 2), shards=(8, 8), fill_value=-1)
    reader = omnizarr.open_array(store, mode="r")
    rng = np.random.default_rng(5)
    expected = np.full((8, 8), -1, "i4")
    for _ in range(30):
        row, column = rng.integers(0, 8, 2)
        z[row, column:] = expected[row, column:] = rng.integers(-1, 2**20)
        time.sleep(0 if longest_tick > 0 else 0.02)
        one = tuple(rng.integers(0, 8, 2))
        assert reader[one] == expected[one]
        np.testing.assert_array_equal(reader[1:4, 2:7], expected[1:4, 2:7])


def test_a_cached_index_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "_LONGEST_TICK", -1)
    z = omnizarr.create_array(tmp_path, data=np.arange(64).reshape(8, 8), chunks=(2, 2), shards=(8, 8))
    from omnizarr.codecs import BoundSharding

    decoded: list[int] = []
    decode = BoundSharding.decode_index
    monkeypatch.setattr(
        BoundSharding, "decode_index", lambda self, *given: (decoded.append(1), decode(self, *given))[1]
    )
    reader = omnizarr.open_array(tmp_path, mode="r")
    assert [reader[row, 3] for row in range(8)] == z[:, 3].tolist()
    assert len(decoded) == 2  # once for each of the two handles


def test_the_cache_of_indexes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from omnizarr.engine import shard_indexes

    monkeypatch.setattr(shard_indexes, "_MAX_BYTES", 1024)
    z = omnizarr.create_array(None, data=np.arange(160), chunks=1, shards=16)
    for index in range(160):
        assert z[index] == index
    assert 0 < len(z._layout.indexes._entries) <= 4


def test_a_replaced_shard_in_memory_is_released() -> None:
    """The version in the cache is the shard itself, so a stale entry would keep it in memory."""
    z = omnizarr.create_array(None, data=np.arange(160), chunks=1, shards=16)
    assert z[3] == 3
    assert list(z._layout.indexes._entries) == ["c/0"]
    z[4] = 5
    assert not z._layout.indexes._entries
