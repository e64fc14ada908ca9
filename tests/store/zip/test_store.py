"""ZipStore: the store suite, other ZIP readers and writers, crashes, and damaged or malicious archives."""

from __future__ import annotations

import copy
import gc
import io
import os
import pickle
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from obstore.store import MemoryStore as ObstoreMemory

import omnizarr
from omnizarr.errors import ArgumentError, LocationError, OmnizarrError, OmnizarrWarning, ReadOnlyError, StoreError
from omnizarr.store import LocalStore, MemoryStore, ObjectStore, Store, ZipStore, as_read_only
from omnizarr.store.address.parse import locate
from omnizarr.store.zip import location
from omnizarr.store.zip.records import central_record, end_records, local_record
from omnizarr.testing import Fault, FaultyStore, RecordingStore, SlowStore, StoreSuite

# -- the store suite


class ZipSuite(StoreSuite):
    def fill(self, store: Store, contents: Mapping[str, bytes]) -> Store:
        filled = super().fill(store, contents)
        filled.flush()
        return filled


class TestZip(ZipSuite):
    def make_store(self, tmp_path: Path) -> ZipStore:
        return ZipStore(tmp_path / "x.zip")


class TestUnfinished(StoreSuite):
    """A store with an unfinished archive reads the same values; it only cannot be pickled."""

    def make_store(self, tmp_path: Path) -> ZipStore:
        return ZipStore(tmp_path / "x.zip")

    def test_it_pickles(self, store: Store) -> None:
        store.set("k", b"x")
        with pytest.raises(StoreError, match="not published"):
            pickle.dumps(store)


class TestDeflated(ZipSuite):
    def make_store(self, tmp_path: Path) -> ZipStore:
        return ZipStore(tmp_path / "x.zip", compression="deflated")


class TestInAStore(ZipSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> ZipStore:
        return ZipStore.inside(MemoryStore(), "deep/x.zip")


class TestRemote(ZipSuite):
    def make_store(self, tmp_path: Path) -> ZipStore:
        return ZipStore.inside(SlowStore(LocalStore(tmp_path), latency=0), "x.zip")


class TestFileObject(ZipSuite):
    def make_store(self, tmp_path: Path) -> ZipStore:
        return ZipStore(io.BytesIO())

    def test_it_pickles(self, store: Store) -> None:
        with pytest.raises(StoreError, match="cannot be pickled"):
            pickle.dumps(store)


# -- archives of other writers and readers


def _names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return sorted(archive.namelist())


def _write_archive(path: Path, values: Mapping[str, bytes], **options: Any) -> Path:
    with zipfile.ZipFile(path, "w", **options) as archive:
        for key, value in values.items():
            archive.writestr(key, value)
    return path


VALUES = {"zarr.json": b"{}", "c/0": bytes(1000), "c/1": os.urandom(100_000), "ä/日本": b"x", "empty": b""}


@pytest.mark.smoke
def test_zipfile_reads_our_archives(tmp_path: Path) -> None:
    for compression in ("stored", "deflated"):
        path = tmp_path / f"{compression}.zip"
        with ZipStore(path, compression=compression) as store:  # type: ignore[arg-type]
            store.set_each(VALUES.items())
        assert sorted(os.listdir(tmp_path)) == sorted({path.name, "stored.zip"})
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            assert {name: archive.read(name) for name in archive.namelist()} == VALUES
        used = {item.compress_type for item in zipfile.ZipFile(path).infolist()}
        assert used == ({0} if compression == "stored" else {0, 8})


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archives_of_zipfile(tmp_path: Path, compression: int) -> None:
    path = _write_archive(tmp_path / "x.zip", VALUES, compression=compression)
    with zipfile.ZipFile(path, "a") as archive:
        archive.mkdir("folder")
        archive.comment = b"a comment PK\5\6 with a mark in it" + bytes(20)
    with ZipStore(path) as store:
        assert {key: bytes(store.get(key) or b"") for key in store.list()} == VALUES
        for key, value in VALUES.items():
            assert store.size(key) == len(value)
            for part in ((0, 10), (5, None), (-7, None), (500, 500), (2**40, 3), (0, 0)):
                start = part[0] if part[0] >= 0 else max(0, len(value) + part[0])
                assert bytes(store.get(key, part) or b"") == value[start:][: part[1]]


def test_archives_of_streams_with_data_descriptors_and_zip64(tmp_path: Path) -> None:
    class Pipe(io.RawIOBase):  # not seekable, so zipfile writes the sizes after the data
        def __init__(self) -> None:
            self.data = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.data += data
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w") as archive:  # type: ignore[arg-type]
        for key, value in VALUES.items():
            with archive.open(key, "w", force_zip64=True) as file:
                file.write(value)
    path = tmp_path / "x.zip"
    path.write_bytes(pipe.data)
    with ZipStore(path) as store:
        for _ in range(2):
            assert {key: bytes(store.get(key) or b"") for key in store.list()} == VALUES
        store.set("new", b"y")
    assert _names(path) == sorted([*VALUES, "new"])
    with zipfile.ZipFile(path) as archive:
        assert {name: archive.read(name) for name in VALUES} == VALUES


def test_more_entries_than_16_bits_can_count(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with ZipStore(path) as store:
        store.set_each((f"c/{number}", b"%d" % number) for number in range(65_600))
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == 65_600
        assert archive.read("c/65599") == b"65599"
    store = ZipStore(path)
    assert store.get("c/65599") == b"65599"
    assert len(store.list_dir("c/")[0]) == 65_600


def test_more_bytes_than_32_bits_can_count(tmp_path: Path) -> None:
    """The archive is a sparse file, so it does not need that much space on disk."""
    path = tmp_path / "x.zip"
    large = 2**32 + 5
    with open(path, "wb") as file:
        head = local_record(b"large", 0, 0, large, large)
        file.write(head)
        file.seek(large, os.SEEK_CUR)
        offset = file.tell()
        file.write(local_record(b"late", 0, 0, 1, 1) + b"y")
        directory = file.tell()
        records = central_record(b"large", 0, 0, large, large, 0) + central_record(b"late", 0, 1, 1, 1, offset)
        file.write(records + end_records(directory, len(records), 2))
    store = ZipStore(path)
    assert store.size("large") == large
    assert store.get("large", (large - 3, None)) == bytes(3)
    with pytest.raises(StoreError, match="checksum"):
        store.get("late")
    assert [item.file_size for item in zipfile.ZipFile(path).infolist()] == [large, 1]
    path.unlink()


# -- writing


def test_overwritten_and_erased_values_take_no_space(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with ZipStore(path) as store:
        store.set_each([("a", b"first" * 50_000), ("b", b"b" * 90_000), ("c", b"c"), ("d", b"d" * 90_000)])
        store.set("a", b"second" * 50_000)
        store.erase("b")
        for number in range(10):
            store.set("c", b"%d" % number)
    assert _names(path) == ["a", "c", "d"]
    data = path.read_bytes()
    assert b"firstfirst" not in data
    assert b"bbbb" not in data
    assert data.count(b"PK\3\4") == 3
    with ZipStore(path) as store:
        store.set("c", b"again")
        store.erase_prefix("")
        store.set("e", b"e")
    assert _names(path) == ["e"]
    assert path.stat().st_size < 200


def test_new_values_are_appended_to_an_archive(tmp_path: Path) -> None:
    path = _write_archive(tmp_path / "x.zip", VALUES, compression=zipfile.ZIP_DEFLATED)
    path.chmod(0o640)
    with ZipStore(path) as store:
        store.set("zarr.json", b"{1}")
        store.set("c/2", bytes(200_000))
        store.erase("c/0")
    expected = {**VALUES, "zarr.json": b"{1}", "c/2": bytes(200_000)}
    del expected["c/0"]
    with zipfile.ZipFile(path) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == expected
        assert archive.getinfo("c/1").compress_type == zipfile.ZIP_DEFLATED  # copied without recompression
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_same_values_give_the_same_archive(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with ZipStore(tmp_path / name) as store:
            store.set_each(VALUES.items())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_of_duplicate_names_the_last_entry_counts_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")
        for value in (b"1", b"2", b"3"):
            archive.writestr("zarr.json", value)
            archive.writestr("a", value)
    store = ZipStore(path)
    with pytest.warns(OmnizarrWarning, match=r"`zarr.json` and 1 more more than once"):
        assert store.get("zarr.json") == b"3"
    store.set("b", b"4")
    store.close()
    assert _names(path) == ["a", "b", "zarr.json"]


def test_the_archive_is_finished_when_its_last_writer_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr.zip"
    z = omnizarr.create_array(path, data=np.arange(10))
    reader = omnizarr.open(path, mode="r")  # sees unfinished values of this process
    assert reader[3] == 3  # type: ignore[index]
    assert not path.exists()
    del z
    gc.collect()
    assert zipfile.is_zipfile(path)  # although the reader still has it open
    assert reader[3] == 3  # type: ignore[index]
    assert omnizarr.load(path).tolist() == list(range(10))
    assert sorted(os.listdir(tmp_path)) == [path.name]


def test_the_archive_is_finished_when_the_program_ends(tmp_path: Path) -> None:
    code = """
        import sys, omnizarr
        group = omnizarr.create_group(sys.argv[1])
        group.create_array("a", data=[1, 2, 3])
        group.attrs["title"] = "kept"
    """
    _run(code, tmp_path / "x.zip")
    assert omnizarr.open_group(tmp_path / "x.zip", mode="r").attrs["title"] == "kept"


def test_an_archive_that_cannot_be_finished_does_not_affect_others(tmp_path: Path) -> None:
    code = """
        import shutil, sys, omnizarr
        kept = []
        for number in range(8):
            store = omnizarr.ZipStore(f"{sys.argv[1]}/{number}/x.zip")
            store.set("a", b"1")
            store.__class__.__del__ = lambda self: None  # Python may skip it at exit
            kept.append(store)
        for number in range(0, 8, 2):
            shutil.rmtree(f"{sys.argv[1]}/{number}")
    """
    _run(code, tmp_path)
    for number in range(1, 8, 2):
        assert ZipStore(tmp_path / str(number) / "x.zip", read_only=True).get("a") == b"1"


def _run(code: str, *arguments: object, expect: int = 0) -> str:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == expect, result.stderr
    return result.stdout


def test_other_readers_see_the_old_archive_until_it_is_finished(tmp_path: Path) -> None:
    path = _write_archive(tmp_path / "x.zip", {"a": b"old"})
    store = ZipStore(path)
    store.set("a", b"new")
    store.set("large", bytes(10**6))
    assert zipfile.ZipFile(path).read("a") == b"old"
    assert _run("import sys, omnizarr; print(bytes(omnizarr.ZipStore(sys.argv[1]).get('a')))", path) == "b'old'\n"
    store.flush()
    assert zipfile.ZipFile(path).read("a") == b"new"
    assert store.get("a") == b"new"
    store.set("a", b"newer")
    store.close()
    assert zipfile.ZipFile(path).read("a") == b"newer"


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_a_killed_writer_leaves_the_old_archive(tmp_path: Path) -> None:
    path = _write_archive(tmp_path / "x.zip", {"a": b"old"})
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
        _run(code, path, step, expect=-signal.SIGKILL)
        assert ZipStore(path).get("a") == b"old"
        assert _names(path) == ["a"]
    with ZipStore(path) as store:  # temporary files of the killed writers do not matter
        store.set("b", b"x")
    assert _names(path) == ["a", "b"]
    assert os.listdir(tmp_path) == ["x.zip"]


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
    assert "another process is writing" in _run(code, path)
    store.close()
    assert _run(code, path) == ""
    assert _names(path) == ["a", "b"]
    with ZipStore(path) as store:
        assert store.get("b") == b"2"


def test_a_writer_starts_from_the_latest_archive_of_another_process(tmp_path: Path) -> None:
    path = _write_archive(tmp_path / "x.zip", {"a": b"1"})
    store = ZipStore(path)
    assert store.get("a") == b"1"
    _run("import sys, omnizarr\nwith omnizarr.ZipStore(sys.argv[1]) as s: s.set('a', b'2'); s.set('b', b'')", path)
    assert store.get("a") == b"1"  # the archive as it was when it was opened
    assert ZipStore(path).get("a") == b"2"
    with store.lock(["a"]):
        assert store.get("a") == b"2"  # the holder of the lock reads the latest archive
    store.set("c", b"")
    store.close()
    assert _names(path) == ["a", "b", "c"]


def test_an_archive_replaced_by_another_writer_is_not_overwritten(tmp_path: Path) -> None:
    path = _write_archive(tmp_path / "x.zip", {"a": b"1"})
    store = ZipStore(path)
    store.set("b", b"")
    _write_archive(tmp_path / "y.zip", {"other": b""})
    os.replace(tmp_path / "y.zip", path)
    with pytest.raises(StoreError, match="another program replaced or removed"):
        store.close()
    assert _names(path) == ["other"]
    os.unlink(path)
    _write_archive(path, {"a": b"1"})
    store._archive._changed = False  # type: ignore[union-attr]  # nothing to write at exit
    store.close()


def test_two_stores_of_one_process_share_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    one, two = ZipStore(path), ZipStore(tmp_path / "." / "x.zip")
    one.set("a", b"1")
    two.set("b", b"2")
    assert sorted(one.list()) == sorted(two.list()) == ["a", "b"]
    one.close()
    assert _names(path) == ["a", "b"]
    two.set("c", b"3")
    two.close()
    assert _names(path) == ["a", "b", "c"]


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
    store_b.erase("x.zip")
    store._archive._state = location._ABSENT  # type: ignore[union-attr]
    store.close()
    assert "b" in set(ZipStore.inside(store_a, "x.zip").list())


def test_a_failed_flush_can_be_retried(tmp_path: Path) -> None:
    outer = MemoryStore()
    faulty = FaultyStore(outer, [Fault("fail", methods={"set", "updates.write"}, calls={3})])
    store = ZipStore.inside(faulty, "x.zip")
    store.set("a", b"1" * 100_000)
    with pytest.raises(StoreError):
        store.flush()
    assert outer.get("x.zip") is None
    store.close()
    assert ZipStore.inside(outer, "x.zip").get("a") == b"1" * 100_000


# -- close, copies, threads and forks


def test_a_closed_store_rejects_every_call(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with ZipStore(path) as store:
        z = omnizarr.create_array(store, data=[1, 2, 3])
    store.close()
    for operation in (
        lambda: store.get("zarr.json"),
        lambda: store.set("a", b""),
        lambda: store.list(),
        lambda: store.erase("a"),
        lambda: store.snapshots.open("zarr.json"),
        lambda: store.flush(),
        lambda: z[...],
    ):
        with pytest.raises(StoreError, match="is closed"):
            operation()
    assert omnizarr.load(path).tolist() == [1, 2, 3]


def test_copies(tmp_path: Path) -> None:
    store = ZipStore(tmp_path / "x.zip")
    store.set("a", b"1")
    for duplicate in (as_read_only(store), copy.copy(store)):
        assert duplicate == store
        assert duplicate.get("a") == b"1"
        duplicate.close()
        assert store.get("a") == b"1"
    with pytest.raises(ReadOnlyError):
        as_read_only(store).set("a", b"2")
    assert ZipStore(tmp_path / "y.zip") != store
    store.close()
    unpickled = pickle.loads(
        pickle.dumps(ZipStore(tmp_path / "x.zip", compression="deflated", level=9, read_only=True))
    )
    assert (unpickled, unpickled._level, unpickled.read_only) == (store, 9, True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    clean, dirty = ZipStore(_write_archive(tmp_path / "y.zip", {"a": b"1"})), ZipStore(path)
    assert clean.get("a") == b"1"
    dirty.set_each([("a", b"1"), ("large", b"2" * 100_000)])
    child = os.fork()
    if not child:
        code = 1
        try:
            assert clean.get("a") == dirty.get("a") == b"1"
            assert dirty.get("large") == b"2" * 100_000
            with pytest.raises(StoreError, match="forked"):
                dirty.set("b", b"")
            clean.set("child", b"")
            clean.close()
            dirty.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not path.exists()
    dirty.close()
    assert _names(path) == ["a", "large"]
    assert _names(tmp_path / "y.zip") == ["a", "child"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_cannot_read_a_file_object(tmp_path: Path) -> None:
    """Both processes would share the file position, and each could read bytes at the position of the other."""
    path = _write_archive(tmp_path / "x.zip", VALUES)
    with open(path, "rb") as file:
        on_disk, in_memory = ZipStore(file), ZipStore(io.BytesIO(path.read_bytes()))
        assert on_disk.get("c/1", (3, 5)) == in_memory.get("c/1", (3, 5)) == VALUES["c/1"][3:8]
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # ends a child that hangs
            try:
                assert in_memory.get("c/1", (3, 5)) == VALUES["c/1"][3:8]
                on_disk.get("c/1", (3, 5))
            except StoreError as error:
                os._exit(0 if "create the store from a path" in str(error) else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert on_disk.get("c/1", (3, 5)) == VALUES["c/1"][3:8]


def test_many_readers_and_writers(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    store = ZipStore(path)
    values = {f"k{number}": os.urandom(1000 * (number % 100)) for number in range(300)}

    def work(key: str) -> None:
        store.set(key, values[key])
        assert bytes(store.get(key) or b"") == values[key]
        if threading.get_ident() % 3 == 0:
            store.flush()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, values))
        assert list(pool.map(lambda key: bytes(store.get(key) or b""), values)) == list(values.values())
    store.close()
    assert _names(path) == sorted(values)


def test_invalid_arguments(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="compression"):
        ZipStore(tmp_path / "x", compression="best")  # type: ignore[arg-type]
    for level in (0, 13, "6"):
        with pytest.raises(ArgumentError, match="level"):
            ZipStore(tmp_path / "x", level=level)  # type: ignore[arg-type]
    for path in (3, object(), None):
        with pytest.raises(LocationError):
            ZipStore(path)
    with pytest.raises(StoreError, match="longer than the 65,535"):
        ZipStore(tmp_path / "x").set("x" * 70_000, b"")
    with pytest.raises(StoreError, match="cannot open"):
        ZipStore(tmp_path).get("a")
    with pytest.raises(LocationError, match="not a file's path"):
        ZipStore("a\0b")


def test_file_objects_that_fail(tmp_path: Path) -> None:
    path = _write_archive(tmp_path / "x.zip", VALUES)
    file = open(path, "rb")  # noqa: SIM115
    store = ZipStore(file)
    assert store.exists("c/1")
    file.close()
    with pytest.raises(StoreError, match="`c/1`.*closed file"):
        store.get("c/1")
    with pytest.raises(LocationError, match="seekable file object"):
        ZipStore(file)
    with open(path, encoding="latin-1") as text, pytest.raises(StoreError, match="cannot open.*str"):
        ZipStore(text).get("c/1")
    memory = io.BytesIO()
    store = ZipStore(memory)
    store.set("a", b"1")
    open_file, store._archive._location._file = memory, _ClosedFile()  # type: ignore[union-attr, attr-defined]
    with pytest.raises(StoreError, match="cannot finish.*closed"):
        store.flush()
    store._archive._location._file = open_file  # type: ignore[union-attr, attr-defined]
    store.close()
    assert ZipStore(io.BytesIO(memory.getvalue())).get("a") == b"1"


class _ClosedFile:
    def seek(self, *_: int) -> int:
        raise ValueError("closed")


def test_file_objects(tmp_path: Path) -> None:
    path = _write_archive(tmp_path / "x.zip", VALUES)
    with open(path, "rb") as file:
        store = ZipStore(file)
        assert store.read_only
        assert bytes(store.get("c/1") or b"") == VALUES["c/1"]
        with ThreadPoolExecutor(4) as pool:
            parts = list(pool.map(lambda start: bytes(store.get("c/1", (start, 10)) or b""), range(0, 5000, 7)))
        assert parts == [VALUES["c/1"][start : start + 10] for start in range(0, 5000, 7)]
        assert str(path) in repr(store)
    with open(path, "r+b") as file, ZipStore(file) as store:
        store.erase("c/1")
    assert _names(path) == sorted(set(VALUES) - {"c/1"})
    memory = io.BytesIO()
    with ZipStore(memory) as store:
        omnizarr.create_array(store, data=np.arange(5))
    assert omnizarr.load(ZipStore(io.BytesIO(memory.getvalue()))).tolist() == list(range(5))


# -- by address


@pytest.mark.smoke
def test_arrays_by_address(tmp_path: Path) -> None:
    data = np.arange(100).reshape(10, 10)
    path = tmp_path / "x.zarr.zip"
    omnizarr.save_array(path, data)
    assert zipfile.is_zipfile(path)  # finished without a call of `close`
    for address in (path, str(path), f"zip::{path}", path.as_uri(), f"zip::{path.as_uri()}", f"{path}|zip:"):
        assert np.array_equal(omnizarr.open(address, mode="r")[...], data)  # type: ignore[index]
    group = omnizarr.open_group(tmp_path / "g.zip", mode="w")
    group.create_array("a/b", data=data)
    group.store.close()
    for inner in (f"{tmp_path}/g.zip/a/b", f"zip://a/b::{tmp_path}/g.zip", f"{tmp_path}/g.zip|zip:a/b"):
        z = omnizarr.open_array(inner, mode="r")
        assert (z.path, z[1, 1]) == ("a/b", 11)
    assert isinstance(omnizarr.open_group(f"{tmp_path}/g.zip/a", mode="r")["b"], omnizarr.Array)
    with pytest.raises(KeyError):
        omnizarr.open(tmp_path / "absent.zip", mode="r")
    with pytest.raises(LocationError, match="does not take these `storage_options`: colour"):
        omnizarr.open(str(path), storage_options={"colour": 1})
    store = locate(str(path), {"compression": "deflated"}).store
    assert isinstance(store, ZipStore)
    assert store._level == 6


def test_modes(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    for _ in range(2):
        z = omnizarr.open_array(path, mode="w", data=np.arange(100_000), chunks=50_000, compressors=None)
        z.store.close()
        assert _names(path) == ["c/0", "c/1", "zarr.json"]
        assert path.read_bytes().count(b"PK\3\4") == 3
    with pytest.raises(FileExistsError):
        omnizarr.open_array(path, mode="w-", shape=3, dtype="int8")
    z = omnizarr.open_array(path, mode="r+")
    z[0] = -1
    z.store.close()
    assert omnizarr.load(path)[:2].tolist() == [-1, 1]
    with pytest.raises(ReadOnlyError):
        omnizarr.open_array(path, mode="r")[0] = 5
    omnizarr.open_group(tmp_path / "new.zip", mode="a").store.close()
    assert _names(tmp_path / "new.zip") == ["zarr.json"]


def test_an_archive_in_memory_by_address(tmp_path: Path) -> None:
    z = omnizarr.create_array("zip::memory://zips/x.zip", data=[1, 2, 3])
    z.store.close()
    assert omnizarr.load("zip::memory://zips/x.zip").tolist() == [1, 2, 3]
    assert omnizarr.load("memory://zips/x.zip").tolist() == [1, 2, 3]
    assert z.store.location == "zip::memory://zips/x.zip"


@pytest.mark.parametrize("zarr_format", [1, 2, "3-draft-2020", "3-draft-2022", 3])
def test_every_generation(tmp_path: Path, zarr_format: Any) -> None:
    z = omnizarr.create_array(tmp_path / "x.zip", data=np.arange(30), chunks=7, zarr_format=zarr_format)
    z.attrs["a"] = 1
    z.resize(40)
    z[35:] = 5
    z.store.close()
    z = omnizarr.open(tmp_path / "x.zip", mode="r")
    assert isinstance(z, omnizarr.Array)
    assert z[...].tolist() == [*range(30), *[0] * 5, *[5] * 5]


def test_a_remote_archive_needs_few_requests(tmp_path: Path) -> None:
    data = np.arange(100_000, dtype="int32")
    omnizarr.save_array(tmp_path / "x.zip", data, chunks=10_000, compressors=None)
    inner = RecordingStore(SlowStore(LocalStore(tmp_path), latency=0))
    z = omnizarr.open_array(ZipStore.inside(inner, "x.zip"), mode="r")
    assert inner.methods() == ["size", "get"]  # the end of the archive also contains the document
    inner.reset()
    assert np.array_equal(z[...], data)
    assert [len(call.key) for call in inner.calls if call.method == "get_each"] == [len(inner.calls[0].key)]
    store = ZipStore.inside(inner, "x.zip")
    requests = [(f"c/{number}", (0, 4)) for number in range(5)] + [("c/3", None), ("absent", None)]
    inner.reset()
    values = store.get_partial_values(requests)
    assert [len(value or b"") for value in values] == [4] * 5 + [40_000, 0]
    assert values[6] is None
    assert [len(call.key) for call in inner.of("get_each")] == [5, 6]  # first the local headers, then the values


def test_a_point_in_a_shard_of_a_remote_archive_takes_two_requests_then_one(tmp_path: Path) -> None:
    data = np.random.default_rng(0).integers(0, 2**15, (400, 400)).astype("int32")
    omnizarr.save_array(tmp_path / "x.zip", data, chunks=50, shards=200)
    inner = RecordingStore(SlowStore(LocalStore(tmp_path), latency=0))
    z = omnizarr.open_array(ZipStore.inside(inner, "x.zip"), mode="r")
    z.store.get("c/0/0", (0, 1))  # reads the local header once; the central directory has no offset of the data
    inner.reset()
    assert z[3, 3] == data[3, 3]
    assert inner.requests == 2
    assert z[190, 7] == data[190, 7]
    assert inner.requests == 3


def test_an_archive_in_a_bucket(tmp_path: Path) -> None:
    obstore = pytest.importorskip("obstore.store")
    bucket = ObjectStore(obstore.MemoryStore())
    data = np.random.default_rng(0).integers(0, 2**15, (400, 400)).astype("int32")
    for shards in (None, 200):
        omnizarr.save_array(tmp_path / "x.zip", data, chunks=50, shards=shards)
        bucket.set("x.zip", (tmp_path / "x.zip").read_bytes())
        z = omnizarr.open_array(ZipStore.inside(bucket, "x.zip"), mode="r")
        assert np.array_equal(z[...], data)
        assert np.array_equal(z[7:350:9, 3], data[7:350:9, 3])
        bucket.set("x.zip", b"another one, of another length")
        for operation in (lambda z=z: z[...], lambda z=z: z[7:9, 3], lambda z=z: z.store.get("c/0/0", (1, 2))):
            with pytest.raises(StoreError, match="replaced or removed"):
                operation()


def test_partial_reads_of_shards(tmp_path: Path) -> None:
    data = np.arange(100_000, dtype="int32")
    path = tmp_path / "x.zip"
    for compression in ("stored", "deflated"):
        z = omnizarr.create_array(
            ZipStore(path, compression=compression),
            data=data,
            chunks=100,
            shards=10_000,
            overwrite=True,  # type: ignore[arg-type]
        )
        z.store.close()
        z = omnizarr.open_array(path, mode="r")
        assert np.array_equal(z[5_050:5_150], data[5_050:5_150])
        assert np.array_equal(z[::999], data[::999])


# -- damaged and malicious archives


def _patch(path: Path, find: bytes, offset: int, new: bytes, last: bool = False) -> None:
    data = bytearray(path.read_bytes())
    position = data.rfind(find) if last else data.find(find)
    assert position >= 0
    data[position + offset : position + offset + len(new)] = new
    path.write_bytes(data)


CENTRAL, LOCAL, END = b"PK\1\2", b"PK\3\4", b"PK\5\6"


@pytest.mark.parametrize("name", ["../a", "/a", "a/../b", "a//b", "./a", "..", "a\\../../b", "a/./b", "//x", "../"])
def test_invalid_names_are_rejected(tmp_path: Path, name: str) -> None:
    path = _write_archive(tmp_path / "x.zip", {"zarr.json": b"{}", name: b"" if name == "../" else b"x"})
    with pytest.raises(StoreError, match="which is not a valid key"):
        ZipStore(path).get("zarr.json")


@pytest.mark.parametrize(
    ("fault", "find", "offset", "new", "message"),
    [
        ("outside", CENTRAL, 42, struct.pack("<I", 10**6), "outside"),
        ("sizes", CENTRAL, 20, struct.pack("<II", 10**8, 10**8), "outside"),
        ("stored sizes differ", CENTRAL, 24, struct.pack("<I", 500), "cannot have 500 bytes"),
        ("method", CENTRAL, 10, struct.pack("<H", 99), "method 99"),
        ("encrypted", CENTRAL, 8, struct.pack("<H", 1), "encrypted"),
        ("count", END, 8, struct.pack("<HH", 9, 9), "fewer entries"),
        ("count", END, 8, struct.pack("<HH", 1, 1), "more entries"),
        ("parts", END, 4, struct.pack("<H", 1), "several parts"),
        ("directory", END, 16, struct.pack("<I", 3), "does not end where"),
        ("record", CENTRAL, 0, b"XX", "fewer entries"),
        ("long name", CENTRAL, 28, struct.pack("<H", 60_000), "longer than the rest"),
    ],
)
def test_invalid_central_directories(
    tmp_path: Path, fault: str, find: bytes, offset: int, new: bytes, message: str
) -> None:
    path = _write_archive(tmp_path / "x.zip", {"a": b"1" * 100, "b": b"2"})
    _patch(path, find, offset, new)
    with pytest.raises(StoreError, match=message) as caught:
        ZipStore(path).get("a")
    assert str(path) in str(caught.value)
    assert fault


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = _write_archive(tmp_path / "x.zip", {"ä": b"1"})
    path.write_bytes(path.read_bytes().replace("ä".encode(), b"\xff\xff"))
    with pytest.raises(StoreError, match="UTF-8"):
        ZipStore(path).get("a")


def test_overlapping_entries(tmp_path: Path) -> None:
    path = _write_archive(tmp_path / "x.zip", {"a": b"1" * 100, "b": b"2" * 50})
    second = path.read_bytes().rfind(LOCAL)
    _patch(path, CENTRAL, 20, struct.pack("<II", 120, 120))
    with pytest.raises(StoreError, match="overlap"):
        ZipStore(path).get("a")
    _write_archive(path, {"a": b"1" * 100, "b": b"2" * 50})
    _patch(path, CENTRAL, 42, struct.pack("<I", 0), last=True)  # two names for one entry
    with pytest.raises(StoreError, match="overlap"):
        ZipStore(path).get("a")
    _write_archive(path, {"a": b"1" * 100, "b": b"2" * 50})
    _patch(path, LOCAL, 28, struct.pack("<H", 90))  # the local header contradicts the central directory
    with pytest.raises(StoreError, match="overlap the next one"):
        ZipStore(path).get("a")
    assert second > 0
    _write_archive(path, {"a": b"1" * 100, "b": b"2" * 50})
    _patch(path, LOCAL, 0, b"XX")
    store = ZipStore(path)
    with pytest.raises(StoreError, match=r"cannot read `a` in ZipStore\(.*no entry where its directory says"):
        store.get("a", (1, 2))
    assert store.get("b") == b"2" * 50  # other entries can still be read


def test_duplicate_names_in_the_wrong_order(tmp_path: Path) -> None:
    path = _write_archive(tmp_path / "x.zip", {"a": b"1", "b": b"2"})
    data = path.read_bytes()
    begin = data.find(CENTRAL)
    middle = data.find(CENTRAL, begin + 1)
    end = data.find(END)
    swapped = data[:begin] + data[middle:end] + data[begin:middle] + data[end:]
    path.write_bytes(swapped.replace(b"b", b"a"))
    with pytest.raises(StoreError, match="twice, in an order that does not say which one counts"):
        ZipStore(path).get("a")


def test_damaged_values_are_detected(tmp_path: Path) -> None:
    value = bytes(range(256)) * 40
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path = _write_archive(tmp_path / "x.zip", {"a": value}, compression=compression)
        data = bytearray(path.read_bytes())
        data[60] ^= 1
        path.write_bytes(data)
        store = ZipStore(path)
        target = memoryview(bytearray(len(value)))
        for operation in (
            partial(store.get, "a"),
            partial(store.get, "a", (0, 10**9)),
            partial(store.get_into, "a", 0, target),
            partial(store.get_partial_values, [("a", None)]),
        ):
            with pytest.raises(StoreError, match=r"cannot read `a`.*(checksum|decompressed|promises)"):
                operation()


def test_decompression_bombs(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    large = 2**26
    stored = zlib.compress(bytes(large), 6, -15)

    def write_bomb(size: int) -> None:
        head = local_record(b"c/0", 8, 0, len(stored), size)
        record = central_record(b"c/0", 8, 0, len(stored), size, 0)
        path.write_bytes(head + stored + record + end_records(len(head) + len(stored), len(record), 1))

    write_bomb(100)  # declares too small a size
    with pytest.raises(StoreError, match="does not have the 100 bytes"):
        ZipStore(path).get("c/0")
    write_bomb(large)
    assert ZipStore(path).get("c/0", (5, 10)) == bytes(10)  # decompresses only as much as it returns
    with omnizarr.config(max_chunk_bytes=2**20), pytest.raises(StoreError, match="max_chunk_bytes"):
        ZipStore(path).get("c/0")
    write_bomb(large * 2)
    with pytest.raises(StoreError, match="cannot have 134217728 bytes"):
        ZipStore(path).get("c/0")


def test_every_truncation_is_detected(tmp_path: Path) -> None:
    path = _write_archive(tmp_path / "x.zip", {"a": b"1" * 50, "zarr.json": b"{}"})
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(StoreError, match="cannot open the archive"):
            ZipStore(path).get("a")
        with pytest.raises(OmnizarrError):
            omnizarr.open(path)
    path.write_bytes(data + b"x")
    with pytest.raises(StoreError, match="cut off, or no ZIP archive"):
        ZipStore(path).get("a")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_changed_bytes_give_values_or_omnizarr_errors(data: st.DataObject) -> None:
    good = io.BytesIO()
    with zipfile.ZipFile(good, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b", b"1" * 30)
        archive.writestr(zipfile.ZipInfo("c"), b"2" * 20)
    raw = bytearray(good.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        store = ZipStore(io.BytesIO(raw))
        for key in store.list():
            store.get(key)
            store.get(key, (2, 5))
            store.snapshots.open(key)
    except OmnizarrError:
        pass


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_rejected(data: bytes) -> None:
    if data and not data.startswith(END):
        with pytest.raises(StoreError):
            ZipStore(io.BytesIO(data)).get("a")


class ArchiveMachine(RuleBasedStateMachine):
    """Compare an archive with a dict while stores write, flush, close and reopen it in any order."""

    keys = st.sampled_from(["a", "a/b", "c/0/0", "c/0/1", "zarr.json", "ä"])
    values = st.one_of(st.binary(max_size=40), st.integers(1, 200_000).map(bytes))

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "x.zip"
        self.compression: Any = "stored"
        self.store = ZipStore(self.path)
        self.model: dict[str, bytes] = {}
        self.finished: dict[str, bytes] | None = None

    @rule(key=keys, value=values)
    def set(self, key: str, value: bytes) -> None:
        self.store.set(key, value)
        self.model[key] = value

    @rule(key=keys)
    def erase(self, key: str) -> None:
        self.store.erase(key)
        self.model.pop(key, None)

    @rule(prefix=st.sampled_from(["", "a/", "c/", "c/0/"]))
    def erase_prefix(self, prefix: str) -> None:
        self.store.erase_prefix(prefix)
        self.model = {key: value for key, value in self.model.items() if not key.startswith(prefix)}

    @rule()
    def flush(self) -> None:
        self.store.flush()
        if self.path.exists():
            self.finished = dict(self.model)

    @rule(compression=st.sampled_from(["stored", "deflated"]))
    def close_and_open(self, compression: Any) -> None:
        self.store.close()
        if self.path.exists():
            self.finished = dict(self.model)
        self.store = ZipStore(self.path, compression=compression)

    @rule()
    def use_another_store(self) -> None:
        self.store, previous = ZipStore(self.path), self.store
        assert sorted(self.store.list()) == sorted(previous.list())
        del previous  # finishes the archive if it wrote to it
        if self.path.exists():
            self.finished = dict(self.model)

    @invariant()
    def reads_as_written(self) -> None:
        assert {key: bytes(self.store.get(key) or b"") for key in self.store.list()} == self.model
        for key, value in self.model.items():
            assert bytes(self.store.get(key, (1, 3)) or b"") == value[1:4]

    @invariant()
    def the_file_has_finished_or_current_values(self) -> None:
        if self.finished is None:
            return
        with zipfile.ZipFile(self.path) as archive:
            names = archive.namelist()
            assert len(names) == len(set(names))
            stored = {name: archive.read(name) for name in names}
        assert stored in (self.finished, self.model)

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestArchiveMachine = ArchiveMachine.TestCase
TestArchiveMachine.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
