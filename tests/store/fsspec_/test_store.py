"""FsspecStore: the store suite on synchronous and asynchronous file systems, faults, secrets and forks."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from tests.servers.proxy import Faults, proxy
from tests.servers.running import RunningServer, rclone

import omnizarr
from omnizarr.errors import LocationError, StoreError
from omnizarr.store import FsspecStore, Store, cut
from omnizarr.testing import StoreSuite

_NUMBERS = count()


class TestMemory(StoreSuite):
    def make_store(self, tmp_path: Path) -> Store:
        return FsspecStore(MemoryFileSystem(), f"/fsspec-{os.getpid()}-{next(_NUMBERS)}")


class TestLocal(StoreSuite):
    def make_store(self, tmp_path: Path) -> Store:
        return FsspecStore(LocalFileSystem(), str(tmp_path))


class TestDirFileSystem(StoreSuite):
    """A synchronous file system on top of another one."""

    def make_store(self, tmp_path: Path) -> Store:
        return FsspecStore.from_url(f"dir::memory://fsspec-{os.getpid()}-{next(_NUMBERS)}")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Iterator[RunningServer]:
    with rclone(tmp_path_factory.mktemp("rclone"), files) as server:
        yield server


class TestWeb(StoreSuite):
    """An asynchronous file system without write access."""

    @pytest.fixture(autouse=True)
    def _start(self, web: RunningServer, files: Path) -> None:
        self.server, self.files = web, files

    def make_store(self, tmp_path: Path) -> Store:
        self.folder = f"suite-{next(_NUMBERS)}"
        (self.files / self.folder).mkdir()
        store = FsspecStore.from_url(f"{self.server.url}/{self.folder}", read_only=True)
        store.writable = store.listable = False
        return store

    def fill(self, store: Store, contents: Mapping[str, bytes]) -> Store:
        for key, value in contents.items():
            path = self.files / self.folder / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(value)
        return store


def test_file_system_objects_are_accepted_as_locations() -> None:
    # The URL `memory://` opens a MemoryStore of omnizarr; a chained URL or a file system object opens fsspec's.
    filesystem = fsspec.filesystem("memory")
    z = omnizarr.create_array(FsspecStore(filesystem, "/one-call"), name="a/z", data=range(10), chunks=3, shards=6)
    assert (z[...] == range(10)).all()
    reopened = omnizarr.open(filesystem, path="one-call/a/z", mode="r")  # type: ignore[arg-type]
    assert (reopened[2:9:3] == [2, 5, 8]).all()  # type: ignore[index]
    assert FsspecStore(filesystem, "/one-call/a").parent() == (FsspecStore(filesystem, "/one-call"), "a")


def test_schemes_of_fsspec(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "x", data=range(10))
    z = omnizarr.open(f"local://{tmp_path}/x")
    assert isinstance(z.store, FsspecStore)
    assert (z[...] == range(10)).all()  # type: ignore[index]
    with pytest.raises(LocationError, match="no store is registered"):
        omnizarr.open("unknown-scheme://x")


class _Replaced(MemoryFileSystem):
    """A writer replaces a value after each read of it, by one of another length."""

    protocol = "replaced"  # as one whose ranges do not count from the end
    cachable = False
    left = 0

    def cat_file(self, path: str, *arguments: Any, **named: Any) -> bytes:
        data: bytes = super().cat_file(path, *arguments, **named)
        if self.left:
            self.left -= 1
            self.pipe_file(path, super().cat_file(path) + b"x")
        return data


def test_a_part_of_a_value_that_a_writer_replaces(monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem = _Replaced()
    store = FsspecStore(filesystem, f"/replaced-{os.getpid()}")
    store.set("k", b"0123456789")
    filesystem.left = 3
    assert store.get("k", (5, 100)) == b"56789xxx"
    filesystem.left = 1000
    with pytest.raises(StoreError, match="gave up after 10 attempts"):
        store.get("k", (5, 2000))


def test_the_end_of_a_value_in_memory_takes_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    store = FsspecStore(MemoryFileSystem(), f"/end-{os.getpid()}")
    store.set("k", b"0123456789")
    monkeypatch.setattr(MemoryFileSystem, "info", None)  # a size of another moment would give other bytes
    assert store.get("k", (-3, None)) == b"789"
    assert store.get("k", (-30, None)) == b"0123456789"
    assert store.get("absent", (-3, None)) is None


def test_an_asynchronous_file_system_reads_concurrently(web: RunningServer, files: Path) -> None:
    data = np.arange(400).reshape(20, 20)
    omnizarr.create_array(files / "together", data=data, chunks=(4, 4))
    omnizarr.create_array(files / "shards", data=data, chunks=(2, 2), shards=(10, 10), compressors=None)
    with proxy(web.endpoint) as slow:
        slow.faults = Faults(latency=0.3)
        z = omnizarr.open_array(FsspecStore.from_url(f"{slow.endpoint}/together"), mode="r")
        slow.most = 0
        assert (z[...] == data).all()
        assert slow.most > 10
        z = omnizarr.open_array(FsspecStore.from_url(f"{slow.endpoint}/shards"), mode="r")
        assert z[3, 4] == data[3, 4]
        assert (z[1:18:7, ::5] == data[1:18:7, ::5]).all()


def test_errors_name_the_location_and_show_no_secret(web: RunningServer) -> None:
    with proxy(web.endpoint) as faulty:
        faulty.faults = Faults(status=500)
        options: dict[str, Any] = {"client_kwargs": {"headers": {"Authorization": "a-secret-token"}}, "max_retries": 0}
        store = FsspecStore.from_url(f"{faulty.endpoint}/x", **options)
        with pytest.raises(StoreError, match="`a` in FsspecStore") as caught:
            store.get("a")
        assert faulty.endpoint in str(caught.value)
        for text in (str(caught.value), repr(store), store.location):
            assert "a-secret-token" not in text
        faulty.faults = Faults(status=403)
        with pytest.raises(StoreError):
            store.get("a")
        assert FsspecStore.from_url(f"{faulty.endpoint}/x", forbidden_is_absent=True, **options).get("a") is None


def test_pickles_do_not_contain_secrets_in_plain_text() -> None:
    inner = MemoryFileSystem(password="hunter-2")
    for filesystem, path in (
        (MemoryFileSystem(password="hunter-2"), "/a"),
        (MemoryFileSystem(client_kwargs={"aws_secret_access_key": "hunter-2"}), "/a"),
        (fsspec.filesystem("dir", fs=inner, path="/a"), "b"),
        (fsspec.filesystem("http"), "http://me:hunter-2@127.0.0.1:9/x"),
    ):
        store = FsspecStore(filesystem, path)
        pickled = pickle.dumps(store)
        assert b"hunter-2" not in pickled
        assert pickle.loads(pickled) == store


def test_errors_of_fsspec_become_location_errors() -> None:
    with pytest.raises(LocationError, match="`ftp://`") as caught:
        FsspecStore.from_url("ftp://me:hunter-2@127.0.0.1:9/x")
    assert "hunter-2" not in str(caught.value)


def test_the_location_contains_the_host() -> None:
    assert FsspecStore(MemoryFileSystem(host="server", password="hunter-2"), "/a").location == "memory://server/a"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_can_read(web: RunningServer, files: Path) -> None:
    omnizarr.create_array(files / "fork", data=range(100), chunks=10)
    z = omnizarr.open_array(FsspecStore.from_url(f"{web.url}/fork"), mode="r")
    assert z[...].sum() == 4950
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends a child that hangs
        try:
            os._exit(0 if z[...].sum() == 4950 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert z[...].sum() == 4950
    assert pickle.loads(pickle.dumps(z))[...].sum() == 4950


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_threads_of_its_parent() -> None:
    """The process forks while another thread holds the lock of a synchronous file system."""
    store = FsspecStore.from_url(f"dir::memory://fork-{os.getpid()}")
    store.set("a", b"1")
    held, ended = threading.Event(), threading.Event()

    def use() -> None:
        with store._filesystem._lock:
            held.set()
            ended.wait(60)

    thread = threading.Thread(target=use)
    thread.start()
    assert held.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a child that hangs
        try:
            store.set("b", b"2")
            os._exit(0 if (store.get("a"), store.get("b")) == (b"1", b"2") else 1)
        finally:
            os._exit(2)
    status = os.waitpid(child, 0)[1]
    ended.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize(
    "faults", [Faults(fail=0.15), Faults(reset=0.15), Faults(cut=0.15)], ids=["fail", "reset", "cut"]
)
def test_random_faults_are_retried(web: RunningServer, files: Path, faults: Faults) -> None:
    data = np.arange(400).reshape(20, 20)
    omnizarr.create_array(files / "faults", data=data, chunks=(4, 4), overwrite=True)
    with proxy(web.endpoint) as faulty:
        faulty.faults = faults
        z = omnizarr.open_array(FsspecStore.from_url(f"{faulty.endpoint}/faults", max_retries=6), mode="r")
        assert (z[...] == data).all()


@pytest.mark.parametrize("status", [400, 403, 429, 500, 503])
def test_a_failed_request_does_not_mean_that_the_key_is_absent(web: RunningServer, files: Path, status: int) -> None:
    omnizarr.create_array(files / "failing", data=range(10), chunks=5, overwrite=True)
    with proxy(web.endpoint) as faulty:
        z = omnizarr.open_array(FsspecStore.from_url(f"{faulty.endpoint}/failing", max_retries=0), mode="r")
        faulty.faults = Faults(status=status)
        for part in (None, (0, 100), (2, 3), (2, None), (-2, None), (0, 0)):
            with pytest.raises(StoreError, match="`c/0`"):
                z.store.get("c/0", part)
        for operation in (z.store.size, z.store.exists):
            with pytest.raises(StoreError, match="`c/0`"):
                operation("c/0")
        with pytest.raises(StoreError):
            z[...]
        faulty.faults = Faults(status=404)
        for part in (None, (0, 100), (2, 3), (2, None), (-2, None), (0, 0)):
            assert z.store.get("c/0", part) is None
        assert not z.store.exists("c/0")
        faulty.faults = Faults(reset=1)
        with pytest.raises(StoreError):
            z[...]


def test_a_server_that_never_answers_raises_an_error_in_time(web: RunningServer) -> None:
    with proxy(web.endpoint) as faulty:
        faulty.faults = Faults(stall=1)
        store = FsspecStore.from_url(f"{faulty.endpoint}/x", timeout=0.5, max_retries=0)
        with pytest.raises(StoreError, match="`a` in FsspecStore"):
            store.get("a")


def test_a_server_that_ignores_ranges(web: RunningServer, files: Path) -> None:
    data = np.arange(400).reshape(20, 20)
    omnizarr.create_array(files / "ranges", data=data, chunks=(2, 2), shards=(10, 10), compressors=None)
    with proxy(web.endpoint) as faulty:
        faulty.faults = Faults(no_ranges=True)
        z = omnizarr.open_array(FsspecStore.from_url(f"{faulty.endpoint}/ranges"), mode="r")
        assert z[3, 4] == data[3, 4]
        assert (z[1:18:7, ::5] == data[1:18:7, ::5]).all()


@pytest.mark.parametrize("no_ranges", [False, True])
def test_ranges_on_servers_with_and_without_range_support(web: RunningServer, files: Path, no_ranges: bool) -> None:
    value = bytes(range(20))
    (files / "parts").mkdir(exist_ok=True)
    (files / "parts" / "k").write_bytes(value)
    with proxy(web.endpoint) as faulty:
        faulty.faults = Faults(no_ranges=no_ranges)
        for part in (
            (5, None),
            (5, 3),
            (5, 100),
            (5, 20),
            (0, 20),
            (0, 21),
            (-4, None),
            (-30, None),
            (20, 5),
            (30, None),
        ):
            store = FsspecStore.from_url(f"{faulty.endpoint}/parts")
            for _ in range(2):
                assert bytes(store.get("k", part) or b"") == bytes(cut(value, part))
