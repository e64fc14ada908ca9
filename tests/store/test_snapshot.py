"""Snapshots of values, and shard indexes that are cached as long as they are current."""

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


def opened(store: Store, key: str) -> Snapshot | None:
    assert store.snapshots is not None
    return store.snapshots.open(key)


@pytest.mark.parametrize("name", ["memory", "local", "prefix", "transparent"])
def test_a_snapshot_stays_as_it_was(name: str, tmp_path: Path) -> None:
    store = stores(tmp_path)[name]
    assert opened(store, "k") is None
    store.set("k", b"0123456789")
    value = opened(store, "k")
    assert value is not None
    store.set("k", b"other")
    assert (value.size, bytes(value.get((2, 3))), bytes(value.get((-2, None)))) == (10, b"234", b"89")
    store.erase("k")
    assert bytes(value.get((0, None))) == b"0123456789"
    value.close()
    assert opened(store, "k") is None


@pytest.mark.parametrize("name", ["memory", "local"])
def test_its_version_tells_it_from_others(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "_SETTLED", -1)
    store = stores(tmp_path)[name]
    versions = []
    for content in (b"one", b"two"):
        store.set("k", content)
        time.sleep(0.02)  # so that the clock that dates files has ticked
        for _ in range(2):
            value = opened(store, "k")
            assert value is not None
            versions.append(value.version)
            value.close()
    assert versions[0] == versions[1] != versions[2] == versions[3]


def test_a_file_that_was_made_a_moment_ago_has_no_version(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("k", b"new")
    fresh = opened(store, "k")
    os.utime(tmp_path / "k", ns=(0, 0))  # which dates the change of the dates themselves
    assert fresh is not None
    assert fresh.version is None
    fresh.close()


def test_dates_in_whole_seconds_settle_later(tmp_path: Path) -> None:
    """Where the clock of the file system ticks once in two seconds, as on memory cards."""
    (tmp_path / "k").write_bytes(b"new")
    status = (tmp_path / "k").stat()
    second = 10**9
    now = time.time_ns() // second * second

    def version(date: int) -> object:
        dated = SimpleNamespace(st_dev=1, st_ino=1, st_size=status.st_size, st_mtime_ns=date, st_ctime_ns=date)
        value = snapshot.FileSnapshot(os.open(tmp_path / "k", os.O_RDONLY), dated, print)  # type: ignore[arg-type]
        value.close()
        return value.version

    assert version(now - second) is None
    assert version(now - second + 1) is not None
    assert version(now - 3 * second) is not None


def test_a_directory_has_no_snapshot(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert opened(LocalStore(tmp_path), "folder") is None


def test_a_wrapper_that_shows_other_values_offers_no_snapshots() -> None:
    class Louder(WrapperStore):
        def get(self, key, range=None):  # type: ignore[no-untyped-def]
            found = self.inner.get(key, range)
            return None if found is None else bytes(found).upper()

    inner = MemoryStore()
    inner.set("k", b"quiet")
    cached = MemoryCache(2**10).wrap(inner, ArrayPlace("", (4,), (2,), omnizarr.chunk_keys.DefaultKeys()))
    for store in (Louder(inner), RecordingStore(inner), cached):
        assert store.snapshots is None
    assert ReadOnlyStore(inner).snapshots is not None


@pytest.mark.parametrize("settled", [snapshot._SETTLED, -1])
@pytest.mark.parametrize("place", ["memory", "local", "recorded"])
def test_parts_of_a_shard_that_others_replace_are_its_newest(
    settled: int, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when its index is known from before."""
    monkeypatch.setattr(snapshot, "_SETTLED", settled)
    store: Store = LocalStore(tmp_path) if place == "local" else MemoryStore()
    if place == "recorded":
        store = RecordingStore(store)
    z = omnizarr.create_array(store, shape=(8, 8), dtype="i4", chunks=(2, 2), shards=(8, 8), fill_value=-1)
    reader = omnizarr.open_array(store, mode="r")
    rng = np.random.default_rng(5)
    expected = np.full((8, 8), -1, "i4")
    for _ in range(30):
        row, column = rng.integers(0, 8, 2)
        z[row, column:] = expected[row, column:] = rng.integers(-1, 2**20)
        time.sleep(0 if settled > 0 else 0.02)
        one = tuple(rng.integers(0, 8, 2))
        assert reader[one] == expected[one]
        np.testing.assert_array_equal(reader[1:4, 2:7], expected[1:4, 2:7])


def test_a_known_index_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "_SETTLED", -1)
    z = omnizarr.create_array(tmp_path, data=np.arange(64).reshape(8, 8), chunks=(2, 2), shards=(8, 8))
    from omnizarr.codecs import BoundSharding

    decoded: list[int] = []
    decode = BoundSharding.decode_index
    monkeypatch.setattr(
        BoundSharding, "decode_index", lambda self, *given: (decoded.append(1), decode(self, *given))[1]
    )
    reader = omnizarr.open_array(tmp_path, mode="r")
    assert [reader[place, 3] for place in range(8)] == z[:, 3].tolist()
    assert len(decoded) == 2  # for each of the two handles


def test_few_indexes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    from omnizarr.engine import shard_indexes

    monkeypatch.setattr(shard_indexes, "_MAX_BYTES", 1024)
    z = omnizarr.create_array(None, data=np.arange(160), chunks=1, shards=16)
    for place in range(160):
        assert z[place] == place
    assert 0 < len(z._layout.indexes._entries) <= 4


def test_a_shard_in_memory_is_let_go_when_it_is_replaced() -> None:
    """The version of its index is the shard itself."""
    z = omnizarr.create_array(None, data=np.arange(160), chunks=1, shards=16)
    assert z[3] == 3
    assert list(z._layout.indexes._entries) == ["c/0"]
    z[4] = 5
    assert not z._layout.indexes._entries
