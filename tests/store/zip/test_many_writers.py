"""Several writers of one archive, in one process and in several, and writers that crash."""

from __future__ import annotations

import io
import os
import signal
import stat
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore as ObstoreMemory
from tests.store.zip.archives import entry_names, run_python, write_archive

from omnizarr.errors import StoreError, UncertainWriteError
from omnizarr.store import LocalStore, MemoryStore, ObjectStore, SQLiteStore, Store, WrapperStore, ZipStore
from omnizarr.store.wrappers import ForwardedReads, ForwardedUpdates, forwarded
from omnizarr.store.zip import location
from omnizarr.testing import Fault, FaultyStore


def test_other_readers_see_the_old_archive_until_it_is_finished(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "x.zip", {"a": b"old"})
    store = ZipStore(path)
    store.set("a", b"new")
    store.set("large", bytes(10**6))
    assert zipfile.ZipFile(path).read("a") == b"old"
    assert run_python("import sys, omnizarr; print(bytes(omnizarr.ZipStore(sys.argv[1]).get('a')))", path) == "b'old'\n"
    store.flush()
    assert zipfile.ZipFile(path).read("a") == b"new"
    assert store.get("a") == b"new"
    store.set("a", b"newer")
    store.close()
    assert zipfile.ZipFile(path).read("a") == b"newer"


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_a_killed_writer_leaves_the_old_archive(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "x.zip", {"a": b"old"})
    code = """
        import os, signal, sys, omnizarr
        store = omnizarr.ZipStore(sys.argv[1])
        store.set("a", b"new")
        store.set("large", bytes(10**6))
        step = sys.argv[2]
        if step != "now":
            module = __import__("omnizarr.store.local.files", fromlist=["x"]) if step in ("replace", "remove") else os
            setattr(module, step, lambda *arguments: os.kill(os.getpid(), signal.SIGKILL))
            store.set("large", b"")
            store.close()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    for step in ("now", "replace", "write", "ftruncate", "chmod"):
        run_python(code, path, step, expect=-signal.SIGKILL)
        assert ZipStore(path).get("a") == b"old"
        assert entry_names(path) == ["a"]
    with ZipStore(path) as store:  # temporary files of the killed writers do not matter
        store.set("b", b"x")
    assert entry_names(path) == ["a", "b"]
    assert os.listdir(tmp_path) == ["x.zip"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_does_not_keep_the_claim_of_a_killed_writer(tmp_path: Path) -> None:
    """The child still reads what its parent wrote, also from the new archive."""
    path = write_archive(tmp_path / "x.zip", {"a": b"old"})
    code = """
        import os, signal, sys, time, omnizarr
        store = omnizarr.ZipStore(sys.argv[1])
        store.set("large", bytes(10**6))
        child = os.fork()
        if child:
            print(child)
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        os.close(1)
        os.close(2)
        while not os.path.exists(sys.argv[2]):
            time.sleep(0.01)
        with open(sys.argv[3] + "-new", "wb") as file:
            file.write(store.get("large"))
        os.rename(sys.argv[3] + "-new", sys.argv[3])
        os._exit(0)
    """
    stop, result = tmp_path / "stop", tmp_path / "result"
    child = int(run_python(code, path, stop, result, expect=-signal.SIGKILL))
    try:
        with ZipStore(path) as store:
            store.set("b", b"x")
        assert entry_names(path) == ["a", "b"]
    finally:
        stop.write_bytes(b"")
    for _ in range(3000):
        if result.exists():
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
    assert result.read_bytes() == bytes(10**6)


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot flush directories")
def test_durable_flushes_the_file_then_renames_it_then_flushes_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def recording_fsync(file: int) -> None:
        calls.append("directory" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        fsync(file)

    def recording_replace(old: str, new: str) -> None:
        calls.append("rename")
        replace(old, new)

    monkeypatch.setattr("os.fsync", recording_fsync)
    monkeypatch.setattr("os.replace", recording_replace)
    with ZipStore(tmp_path / "x.zip", durable=True) as store:
        store.set("a", b"1" * 100_000)
        store.set("a", b"2" * 100_000)
    assert calls == ["file", "rename", "directory"]
    calls.clear()
    with ZipStore(tmp_path / "y.zip") as store:
        store.set("a", b"1")
    assert calls == ["rename"]


def test_only_one_process_writes_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    store = ZipStore(path)
    store.set("a", b"1")
    code = """
        import sys, omnizarr
        try:
            omnizarr.ZipStore(sys.argv[1]).set("b", b"2")
        except OSError as error:
            print(error.message)
    """
    assert "another process is writing" in run_python(code, path)
    store.close()
    assert run_python(code, path) == ""
    assert entry_names(path) == ["a", "b"]
    with ZipStore(path) as store:
        assert store.get("b") == b"2"


def test_a_writer_starts_from_the_latest_archive_of_another_process(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "x.zip", {"a": b"1"})
    store = ZipStore(path)
    assert store.get("a") == b"1"
    run_python(
        "import sys, omnizarr\nwith omnizarr.ZipStore(sys.argv[1]) as s: s.set('a', b'2'); s.set('b', b'')", path
    )
    assert store.get("a") == b"1"  # the archive as it was when it was opened
    assert ZipStore(path).get("a") == b"2"
    with store.lock(["a"]):
        assert store.get("a") == b"2"  # the holder of the lock reads the latest archive
    store.set("c", b"")
    store.close()
    assert entry_names(path) == ["a", "b", "c"]


def test_an_archive_replaced_by_another_writer_is_not_overwritten(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "x.zip", {"a": b"1"})
    store = ZipStore(path)
    store.set("b", b"")
    write_archive(tmp_path / "y.zip", {"other": b""})
    os.replace(tmp_path / "y.zip", path)
    with pytest.raises(StoreError, match="another program replaced or removed"):
        store.close()
    assert entry_names(path) == ["other"]
    assert os.listdir(tmp_path) == ["x.zip"]
    with ZipStore(path) as store:
        store.set("b", b"")  # once more, as the hint of the error says
    assert entry_names(path) == ["b", "other"]


def test_two_stores_of_one_process_share_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    one, two = ZipStore(path), ZipStore(tmp_path / "." / "x.zip")
    one.set("a", b"1")
    two.set("b", b"2")
    assert sorted(one.list()) == sorted(two.list()) == ["a", "b"]
    one.close()
    assert entry_names(path) == ["a", "b"]
    two.set("c", b"3")
    two.close()
    assert entry_names(path) == ["a", "b", "c"]


def test_two_stores_inside_one_value_cannot_both_write() -> None:
    outer = MemoryStore()
    one, two = ZipStore.inside(outer, "x.zip"), ZipStore.inside(outer, "x.zip")
    assert one.get("a") is two.get("a") is None
    one.set("a", b"1")
    with pytest.raises(StoreError, match="another store of this process"):
        two.set("b", b"2")
    three = ZipStore.inside(outer, "x.zip")
    assert three.get("a") == b"1"
    one.close()
    two.set("b", b"2")
    two.close()
    three.close()
    assert sorted(ZipStore.inside(outer, "x.zip").list()) == ["a", "b"]


@pytest.mark.parametrize("one_request", [2**25, 0])
@pytest.mark.parametrize("exists", [True, False])
def test_a_value_replaced_by_another_writer_is_not_overwritten(
    exists: bool, one_request: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(location, "_ONE_REQUEST", one_request)
    client = ObstoreMemory()
    store_a, store_b = ObjectStore(client), ObjectStore(client, prefix="")
    if exists:
        with ZipStore.inside(store_a, "x.zip") as store:
            store.set("a", b"1")
    store = ZipStore.inside(store_a, "x.zip")
    store.set("b", b"2")
    archive = io.BytesIO()
    with ZipStore(archive) as other:
        other.set("c", b"3")
    store_b.set("x.zip", archive.getvalue())  # as a writer on another machine
    with pytest.raises(StoreError, match="another program replaced or removed"):
        store.flush()
    assert sorted(ZipStore(io.BytesIO(bytes(store_b.get("x.zip") or b""))).list()) == ["c"]
    store.set("b", b"2")  # once more, as the hint of the error says
    store.close()
    assert sorted(ZipStore.inside(store_a, "x.zip").list()) == ["b", "c"]


@pytest.mark.parametrize("kind", ["sqlite", "local"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_value_replaced_by_another_process_is_not_overwritten(tmp_path: Path, kind: str, exists: bool) -> None:
    """In stores without versioned reads."""
    store: Store = SQLiteStore(tmp_path / "x.sqlite") if kind == "sqlite" else LocalStore(tmp_path / "x")
    if exists:
        with ZipStore.inside(store, "x.zip") as first:
            first.set("a", b"1")
    code = """
        import sys, omnizarr
        make = omnizarr.SQLiteStore if sys.argv[1].endswith("sqlite") else omnizarr.LocalStore
        store = make(sys.argv[1])
        with omnizarr.ZipStore.inside(store, "x.zip") as archive:
            archive.set("a", b"2")
    """
    late = ZipStore.inside(store, "x.zip")
    late.set("b", b"3")
    run_python(code, store.location)
    with pytest.raises(StoreError, match="another program replaced or removed"):
        late.flush()
    found = ZipStore(io.BytesIO(bytes(store.get("x.zip") or b"")))
    assert {key: bytes(found.get(key) or b"") for key in found.list()} == {"a": b"2"}
    late.set("b", b"3")  # once more, as the hint of the error says
    late.close()
    found = ZipStore.inside(store, "x.zip")
    assert {key: bytes(found.get(key) or b"") for key in found.list()} == {"a": b"2", "b": b"3"}


def test_publishing_settles_an_uncertain_write_without_versioned_reads() -> None:
    outer = FaultyStore(MemoryStore(), [Fault("lose", methods={"updates.write"})])
    with ZipStore.inside(outer, "x.zip") as store:
        store.set("a", b"1")
    assert ZipStore.inside(outer, "x.zip").get("a") == b"1"


def test_a_failed_flush_can_be_retried(tmp_path: Path) -> None:
    outer = MemoryStore()
    faulty = FaultyStore(outer, [Fault("fail", methods={"set", "updates.write"}, calls={3, 4})])
    store = ZipStore.inside(faulty, "x.zip")
    store.set("a", b"1" * 100_000)
    with pytest.raises(StoreError):
        store.flush()
    assert outer.get("x.zip") is None
    store.close()
    assert ZipStore.inside(outer, "x.zip").get("a") == b"1" * 100_000


def test_publishing_settles_an_uncertain_write() -> None:
    class LostAnswer(ForwardedUpdates):
        def write(self, key: str, value: Any, version: Any) -> bool:
            super().write(key, value, version)
            raise UncertainWriteError("the connection was lost", key=key)

    class Lossy(WrapperStore):
        updates = forwarded("updates", LostAnswer)
        versioned_reads = forwarded("versioned_reads", ForwardedReads)

    outer = Lossy(ObjectStore(ObstoreMemory()))
    with ZipStore.inside(outer, "x.zip") as store:
        store.set("a", b"1")
    assert ZipStore.inside(outer, "x.zip").get("a") == b"1"


def test_publishing_without_updates_compares_and_sets_under_the_lock() -> None:
    locked: list[str] = []

    class Watched(WrapperStore):
        def lock(self, keys: Any, *, shared: bool = False) -> Any:
            locked.extend(keys)
            return super().lock(keys, shared=shared)

    with ZipStore.inside(Watched(MemoryStore()), "x.zip") as store:
        store.set("a", b"1")
    assert locked == ["x.zip"]
