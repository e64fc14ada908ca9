"""CacheStore: the store suite, revalidation of cached values, the size limit, and caches on disk."""

from __future__ import annotations

import errno
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from tests.store.caching.tagged_store import TaggedStore

import omnizarr
from omnizarr.errors import ArgumentError, StoreError
from omnizarr.store import (
    CacheStore,
    FsspecStore,
    LocalStore,
    MemoryStore,
    ObjectStore,
    PrefixStore,
    ReferenceStore,
    Store,
    WrapperStore,
    ZipStore,
)
from omnizarr.store.contract import Buffer, ByteRange, State, Version
from omnizarr.store.requests.window import Window
from omnizarr.testing import RecordingStore, SlowStore, StoreSuite


class TestChecked(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> CacheStore:
        return CacheStore(MemoryStore())


class TestOfFiles(StoreSuite):
    case_sensitive = False

    def make_store(self, tmp_path: Path) -> CacheStore:
        return CacheStore(LocalStore(tmp_path / "x"), max_bytes=1000)


class TestOnDisk(StoreSuite):
    case_sensitive = False

    def make_store(self, tmp_path: Path) -> CacheStore:
        return CacheStore(LocalStore(tmp_path / "x"), folder=tmp_path / "cache", max_age=None)


class TestOnDiskWithTags(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> CacheStore:
        return CacheStore(TaggedStore(), folder=tmp_path / "cache", max_bytes=2000)


class TestRemote(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> CacheStore:
        return CacheStore(SlowStore(MemoryStore(), latency=0), max_age=None)


@pytest.fixture(params=["memory", "disk"])
def tagged(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[TaggedStore, CacheStore]:
    inner = TaggedStore()
    inner.set_each([("k", b"0123456789"), ("other", b"x" * 1000)])
    return inner, CacheStore(inner, folder=tmp_path / "cache" if request.param == "disk" else None)


def test_cached_values_are_revalidated_and_not_fetched_again(tagged: tuple[TaggedStore, CacheStore]) -> None:
    inner, store = tagged
    assert store.get("k") == b"0123456789"
    inner.reads.clear()
    for _ in range(3):
        assert store.get("k") == b"0123456789"
        assert bytes(store.get("k", (2, 3)) or b"") == b"234"
        assert (store.size("k"), store.exists("k")) == (10, True)
    assert set(inner.reads) == {("k", (0, 0))}


def test_changes_by_other_writers_are_detected(tagged: tuple[TaggedStore, CacheStore]) -> None:
    inner, store = tagged
    assert bytes(store.get("k", (2, 3)) or b"") == b"234"
    assert store.get("k") == b"0123456789"
    inner.set("k", b"abcdefghij")
    assert bytes(store.get("k", (2, 3)) or b"") == b"cde"
    assert store.get("k") == b"abcdefghij"
    MemoryStore.erase(inner, "k")
    assert store.get("k") is None
    assert store.get("k", (2, 3)) is None
    inner.set("k", b"again")
    assert store.get("k") == b"again"


def test_writes_through_the_cache_invalidate_it(tagged: tuple[TaggedStore, CacheStore]) -> None:
    _, store = tagged
    for value in (b"one", b"two"):
        store.set("k", value)
        assert store.get("k") == value
    store.erase("k")
    assert store.get("k") is None
    assert store.updates.write("k", b"three", None)
    assert store.get("k") == b"three"
    store.set_partial_values([("k", 0, b"T")])
    assert store.get("k") == b"Three"
    store.erase_prefix("")
    assert store.get("k") is None


def test_parts_in_one_batch_have_one_version(tagged: tuple[TaggedStore, CacheStore]) -> None:
    inner, store = tagged
    assert bytes(store.get("k", (0, 2)) or b"") == b"01"
    inner.set("k", b"abcdefghij")
    requests: list[tuple[str, ByteRange | None]] = [
        ("k", (0, 2)),
        ("k", (-2, None)),
        ("other", (0, 1)),
        ("absent", None),
    ]
    for _ in range(2):
        values = store.get_partial_values(requests)
        assert [None if value is None else bytes(value) for value in values] == [b"ab", b"ij", b"x", None]


class _RemoteStore(TaggedStore, keeps_capabilities=True):
    """A remote store. Each read waits until `together` reads have arrived."""

    remote = True

    def __init__(self, together: int, window: Window | None = None) -> None:
        super().__init__()
        self._barrier = threading.Barrier(together, timeout=20)
        self._window = window

    @property
    def window(self) -> Window | None:
        return self._window

    def get_versioned(self, key: str, range: ByteRange | None, version: Version) -> State | None:
        self._barrier.wait()
        return super().get_versioned(key, range, version)


@pytest.mark.parametrize("window", [None, Window()])
def test_requests_to_a_remote_store_run_concurrently(window: Window | None) -> None:
    remote = _RemoteStore(8, window)
    for number in range(16):
        remote.set(f"k{number}", bytes([number]))
    answers = dict(CacheStore(remote).get_each([(f"k{number}", None) for number in range(16)]))
    assert answers == {number: bytes([number]) for number in range(16)}


def test_prefetching_stays_within_the_window() -> None:
    remote, value = _RemoteStore(1, Window()), bytes(2**22)
    for number in range(200):
        remote.set(f"k{number}", value)
    answers = CacheStore(remote, max_bytes=0).get_each([(f"k{number}", None) for number in range(200)])
    for _ in range(3):
        next(answers)
        time.sleep(0.05)  # long enough to fetch all values
        assert len(remote.reads) < 50
    answers.close()  # type: ignore[attr-defined]


def test_max_age(tagged: tuple[TaggedStore, CacheStore], monkeypatch: pytest.MonkeyPatch) -> None:
    inner, checked = tagged
    store = CacheStore(inner, max_age=60, folder=checked.folder)
    clock = [1e9]
    monkeypatch.setattr("omnizarr.store.caching.store.time.time", lambda: clock[0])
    assert store.get("k") == b"0123456789"
    assert store.get("absent") is None
    inner.reads.clear()
    clock[0] += 59
    inner.set("k", b"new")
    assert store.get("k") == b"0123456789"
    assert store.get("absent") is None
    assert inner.reads == []
    clock[0] += 2
    assert store.get("k") == b"new"
    assert store.get("absent") is None
    assert [key for key, _ in inner.reads] == ["k", "k", "absent"]
    clock[0] -= 1000  # the clock is set back
    inner.set("k", b"newer")
    assert store.get("k") == b"newer"


def test_files_are_revalidated_by_their_modification_time(tmp_path: Path) -> None:
    inner = RecordingStore(LocalStore(tmp_path))
    inner.set("k", b"old")
    os.utime(tmp_path / "k", (1, 1))
    store = CacheStore(LocalStore(tmp_path))
    for _ in range(2):
        assert store.get("k") == b"old"
    inner.set("k", b"new")
    assert store.get("k") == b"new"


def test_a_store_without_versions_requires_max_age() -> None:
    class Unversioned(WrapperStore):
        def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
            return self.inner.get(key, range)

    inner = Unversioned(MemoryStore())
    with pytest.raises(ArgumentError, match="cannot tell whether a value has changed"):
        CacheStore(inner)
    inner.set("k", b"1")
    for age in (60, None):
        store = CacheStore(inner, max_age=age)
        assert store.get("k") == b"1"


@pytest.mark.parametrize("options", [{"max_bytes": -1}, {"max_bytes": 2.5}, {"max_age": -1}, {"max_age": "1"}])
def test_invalid_arguments(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        CacheStore(MemoryStore(), **options)


def test_max_bytes(tmp_path: Path) -> None:
    for folder in (None, tmp_path / "cache"):
        inner = TaggedStore()
        for number in range(50):
            inner.set(f"k{number}", b"x" * 500)
        store = CacheStore(inner, max_bytes=5000, folder=folder)
        for number in range(50):
            store.get(f"k{number}")
            assert store.held_bytes <= 5000
        inner.reads.clear()
        store.get("k49")
        assert inner.reads == [("k49", (0, 0))]
        store.get("k0")
        assert ("k0", None) in inner.reads
        inner.set("large", b"x" * 10_000)
        assert len(store.get("large") or b"") == 10_000
        assert store.held_bytes <= 5000
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 5000
    store.clear()
    assert store.held_bytes == 0
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_a_folder_is_reused_by_later_stores(tmp_path: Path) -> None:
    inner = TaggedStore()
    inner.set("k", b"0123456789")
    inner.set("l", b"l")
    first = CacheStore(inner, folder=tmp_path)
    for key in ("k", "l"):
        first.get(key)
    inner.reads.clear()
    second = CacheStore(inner, folder=tmp_path)
    assert second.held_bytes == first.held_bytes
    assert second.get("k") == b"0123456789"
    assert inner.reads == [("k", (0, 0))]
    inner.set("l", b"new")
    assert second.get("l") == b"new"
    assert CacheStore(MemoryStore(name="another"), folder=tmp_path).get("k") is None  # each store has its own subfolder


def test_stores_with_equal_locations_but_different_options_share_nothing(tmp_path: Path) -> None:
    inner_stores: list[Store] = [
        ObjectStore.from_url("s3://bucket"),
        ObjectStore.from_url("s3://bucket", endpoint="http://127.0.0.1:1"),
        ObjectStore.from_url("az://bucket", account_name="one"),
        ObjectStore.from_url("az://bucket", account_name="two"),
        FsspecStore(MemoryFileSystem(host="one"), "/a"),
        FsspecStore(MemoryFileSystem(host="two"), "/a"),
        FsspecStore(MemoryFileSystem(client_kwargs={"endpoint_url": "http://127.0.0.1:1"}), "/a"),
        ReferenceStore({"a": "1"}),
        ReferenceStore({"a": "2"}),
    ]
    for inner in inner_stores[:4]:
        inner_stores += [PrefixStore(inner, "p"), ZipStore.inside(inner, "x.zip")]
    for inner in inner_stores:
        CacheStore(inner, folder=tmp_path, max_age=60)
    assert len(list(tmp_path.iterdir())) == len(inner_stores)
    for inner in inner_stores:
        CacheStore(inner, folder=tmp_path, max_age=60)
    assert len(list(tmp_path.iterdir())) == len(inner_stores)


def test_damaged_files_in_the_folder_are_ignored(tmp_path: Path) -> None:
    inner = TaggedStore()
    inner.set("k", b"0123456789")
    store = CacheStore(inner, folder=tmp_path)
    store.get("k")
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    valid = path.read_bytes()
    for damaged in (
        b"",
        b"{}",
        b"null\n",
        valid[:-1],
        valid[:-1] + b"X",
        valid.replace(b'"k"', b'"j"'),
        b"\x80\x04K\x01.\n",
        valid * 2,
        b"[" * 60_000 + b"\n",
        valid.replace(b'"at": ', b'"at": ' + b"9" * 400).replace(b".", b""),
    ):
        path.write_bytes(damaged)
        assert store.get("k") == b"0123456789"
        assert CacheStore(inner, folder=tmp_path).get("k") == b"0123456789"
    path.unlink()
    assert store.get("k") == b"0123456789"
    with pytest.raises(StoreError, match="cannot create the cache directory"):
        CacheStore(inner, folder=path)


def test_a_full_disk_that_is_reported_when_a_file_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = TaggedStore()
    inner.set("k", b"0123456789")
    store = CacheStore(inner, folder=tmp_path)
    close = os.close

    def fail(file: int) -> None:
        close(file)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patches:
        patches.setattr(os, "close", fail)
        assert store.get("k") == b"0123456789"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert store.get("k") == b"0123456789"
    assert store.held_bytes > 0


def test_arrays_behind_a_cache(tmp_path: Path) -> None:
    data = np.arange(10_000).reshape(100, 100)
    inner = RecordingStore(SlowStore(MemoryStore(), latency=0))
    for shards in (None, (50, 50)):
        omnizarr.create_array(inner, data=data, chunks=10, shards=shards, overwrite=True)
        store = CacheStore(inner, max_age=None)
        z = omnizarr.open_array(store)
        assert np.array_equal(z[...], data)
        assert np.array_equal(z[25:60, 3], data[25:60, 3])
        inner.reset()
        assert np.array_equal(z[...], data)
        assert np.array_equal(z[25:60, 3], data[25:60, 3])
        assert inner.requests == 0
        z[5, 5] = -1
        assert z[5, 5] == -1
        assert omnizarr.open_array(inner)[5, 5] == -1


def test_many_threads(tmp_path: Path) -> None:
    for store in (
        CacheStore(TaggedStore(), max_bytes=20_000),
        CacheStore(TaggedStore(), folder=tmp_path, max_bytes=20_000),
    ):

        def work(number: int, store: Store = store) -> None:
            key = f"k{number % 7}"
            store.set(key, key.encode() * 100)
            for _ in range(5):
                assert store.get(key) == key.encode() * 100
                assert bytes(store.get(key, (2, 2)) or b"") == key.encode()

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(100)))


def test_pickle_equality_and_repr(tmp_path: Path) -> None:
    store = CacheStore(LocalStore(tmp_path), max_bytes=77, max_age=5, folder=tmp_path / "cache")
    unpickled = pickle.loads(pickle.dumps(store))
    assert unpickled == store
    assert (unpickled.max_bytes, unpickled.max_age, unpickled.folder) == (77, 5, str(tmp_path / "cache"))
    assert repr(store) == f"CacheStore(LocalStore({tmp_path}))"
