"""Stores in ZIP archives: read by anybody, written without leftovers, and never half finished."""

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

# -- the suite that all stores pass


class _Zips(StoreSuite):
    def fill(self, store: Store, contents: Mapping[str, bytes]) -> Store:
        filled = super().fill(store, contents)
        filled.flush()
        return filled


class TestZip(_Zips):
    def make_store(self, tmp_path: Path) -> ZipStore:
        return ZipStore(tmp_path / "x.zip")


class TestUnfinished(StoreSuite):
    """Everything reads the same before it is finished; only a pickle cannot be made."""

    def make_store(self, tmp_path: Path) -> ZipStore:
        return ZipStore(tmp_path / "x.zip")

    def test_it_pickles(self, store: Store) -> None:
        store.set("k", b"x")
        with pytest.raises(StoreError, match="not published"):
            pickle.dumps(store)


class TestDeflated(_Zips):
    def make_store(self, tmp_path: Path) -> ZipStore:
        return ZipStore(tmp_path / "x.zip", compression="deflated")


class TestInAStore(_Zips):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> ZipStore:
        return ZipStore.inside(MemoryStore(), "deep/x.zip")


class TestFarAway(_Zips):
    def make_store(self, tmp_path: Path) -> ZipStore:
        return ZipStore.inside(SlowStore(LocalStore(tmp_path), latency=0), "x.zip")


class TestFileObject(_Zips):
    def make_store(self, tmp_path: Path) -> ZipStore:
        return ZipStore(io.BytesIO())

    def test_it_pickles(self, store: Store) -> None:
        with pytest.raises(StoreError, match="cannot be pickled"):
            pickle.dumps(store)


# -- what others see of it, and what it sees of others


def _names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return sorted(archive.namelist())


def _written(path: Path, values: Mapping[str, bytes], **options: Any) -> Path:
    with zipfile.ZipFile(path, "w", **options) as archive:
        for key, value in values.items():
            archive.writestr(key, value)
    return path


VALUES = {"zarr.json": b"{}", "c/0": bytes(1000), "c/1": os.urandom(100_000), "ä/日本": b"x", "empty": b""}


@pytest.mark.smoke
def test_what_we_write_others_read(tmp_path: Path) -> None:
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
def test_what_others_write_we_read(tmp_path: Path, compression: int) -> None:
    path = _written(tmp_path / "x.zip", VALUES, compression=compression)
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


def test_with_streams_extra_fields_and_64_bits(tmp_path: Path) -> None:
    class Pipe(io.RawIOBase):  # cannot be sought, so that sizes come behind the bytes
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


def test_more_entries_than_16_bits_count(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with ZipStore(path) as store:
        store.set_each((f"c/{number}", b"%d" % number) for number in range(65_600))
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == 65_600
        assert archive.read("c/65599") == b"65599"
    store = ZipStore(path)
    assert store.get("c/65599") == b"65599"
    assert len(store.list_dir("c/")[0]) == 65_600


def test_more_bytes_than_32_bits_count(tmp_path: Path) -> None:
    """A hole stands for the bytes, so that no disk is filled with them."""
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


# -- changing


def test_overwritten_and_erased_values_leave_nothing_behind(tmp_path: Path) -> None:
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


def test_what_is_appended_stands_beside_what_was_there(tmp_path: Path) -> None:
    path = _written(tmp_path / "x.zip", VALUES, compression=zipfile.ZIP_DEFLATED)
    path.chmod(0o640)
    with ZipStore(path) as store:
        store.set("zarr.json", b"{1}")
        store.set("c/2", bytes(200_000))
        store.erase("c/0")
    expected = {**VALUES, "zarr.json": b"{1}", "c/2": bytes(200_000)}
    del expected["c/0"]
    with zipfile.ZipFile(path) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == expected
        assert archive.getinfo("c/1").compress_type == zipfile.ZIP_DEFLATED  # copied as it was
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_same_values_give_the_same_archive(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with ZipStore(tmp_path / name) as store:
            store.set_each(VALUES.items())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_duplicates_of_other_writers_count_once_with_a_warning(tmp_path: Path) -> None:
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


def test_it_is_finished_when_nobody_writes_any_more(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr.zip"
    z = omnizarr.create_array(path, data=np.arange(10))
    again = omnizarr.open(path, mode="r")  # sees what is not finished
    assert again[3] == 3  # type: ignore[index]
    assert not path.exists()
    del z
    gc.collect()
    assert zipfile.is_zipfile(path)  # readers do not matter
    assert again[3] == 3  # type: ignore[index]
    assert omnizarr.load(path).tolist() == list(range(10))
    assert sorted(os.listdir(tmp_path)) == [path.name]


def test_it_is_finished_when_the_program_ends(tmp_path: Path) -> None:
    code = """
        import sys, omnizarr
        group = omnizarr.create_group(sys.argv[1])
        group.create_array("a", data=[1, 2, 3])
        group.attrs["title"] = "kept"
    """
    _run(code, tmp_path / "x.zip")
    assert omnizarr.open_group(tmp_path / "x.zip", mode="r").attrs["title"] == "kept"


def test_one_that_cannot_be_finished_keeps_no_other_from_it(tmp_path: Path) -> None:
    code = """
        import shutil, sys, omnizarr
        kept = []
        for number in range(8):
            store = omnizarr.ZipStore(f"{sys.argv[1]}/{number}/x.zip")
            store.set("a", b"1")
            store.__class__.__del__ = lambda self: None  # which a program that ends need not call
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


def test_until_it_is_finished_others_see_the_old_one(tmp_path: Path) -> None:
    path = _written(tmp_path / "x.zip", {"a": b"old"})
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


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_writer_that_is_killed_leaves_the_old_one(tmp_path: Path) -> None:
    path = _written(tmp_path / "x.zip", {"a": b"old"})
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
    with ZipStore(path) as store:  # what was left over is in nobody's way
        store.set("b", b"x")
    assert _names(path) == ["a", "b"]
    assert os.listdir(tmp_path) == ["x.zip"]


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be flushed there")
def test_durable_means_the_file_then_its_name_then_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def flushed(file: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        fsync(file)

    def renamed(old: str, new: str) -> None:
        calls.append("rename")
        replace(old, new)

    monkeypatch.setattr("os.fsync", flushed)
    monkeypatch.setattr("os.replace", renamed)
    with ZipStore(tmp_path / "x.zip", durable=True) as store:
        store.set("a", b"1" * 100_000)
        store.set("a", b"2" * 100_000)
    assert calls == ["file", "rename", "folder"]
    calls.clear()
    with ZipStore(tmp_path / "y.zip") as store:
        store.set("a", b"1")
    assert calls == ["rename"]


def test_one_process_at_a_time_writes(tmp_path: Path) -> None:
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
    with ZipStore(path) as again:
        assert again.get("b") == b"2"


def test_a_writer_begins_from_what_another_process_finished(tmp_path: Path) -> None:
    path = _written(tmp_path / "x.zip", {"a": b"1"})
    store = ZipStore(path)
    assert store.get("a") == b"1"
    _run("import sys, omnizarr\nwith omnizarr.ZipStore(sys.argv[1]) as s: s.set('a', b'2'); s.set('b', b'')", path)
    assert store.get("a") == b"1"  # as it was when it was opened
    assert ZipStore(path).get("a") == b"2"
    with store.lock(["a"]):
        assert store.get("a") == b"2"  # the holder of the lock reads what it may replace
    store.set("c", b"")
    store.close()
    assert _names(path) == ["a", "b", "c"]


def test_an_archive_that_somebody_else_replaces_is_not_overwritten(tmp_path: Path) -> None:
    path = _written(tmp_path / "x.zip", {"a": b"1"})
    store = ZipStore(path)
    store.set("b", b"")
    _written(tmp_path / "y.zip", {"other": b""})
    os.replace(tmp_path / "y.zip", path)
    with pytest.raises(StoreError, match="another program replaced or removed"):
        store.close()
    assert _names(path) == ["other"]
    os.unlink(path)
    _written(path, {"a": b"1"})
    store._archive._changed = False  # type: ignore[union-attr]  # it has nothing to say at the end of the program
    store.close()


def test_two_stores_of_one_process_share_what_is_written(tmp_path: Path) -> None:
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


def test_two_stores_in_one_value_cannot_both_write() -> None:
    place = MemoryStore()
    one, two = ZipStore.inside(place, "x.zip"), ZipStore.inside(place, "x.zip")
    assert one.get("a") is two.get("a") is None
    one.set("a", b"1")
    with pytest.raises(StoreError, match="another store of this process"):
        two.set("b", b"2")
    three = ZipStore.inside(place, "x.zip")
    assert three.get("a") == b"1"
    one.close()
    two.set("b", b"2")
    two.close()
    three.close()
    assert sorted(ZipStore.inside(place, "x.zip").list()) == ["a", "b"]


@pytest.mark.parametrize("one_request", [2**25, 0])
@pytest.mark.parametrize("there", [True, False])
def test_a_value_that_somebody_else_replaces_is_not_overwritten(
    there: bool, one_request: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(location, "_ONE_REQUEST", one_request)
    client = ObstoreMemory()
    here, elsewhere = ObjectStore(client), ObjectStore(client, prefix="")
    if there:
        with ZipStore.inside(here, "x.zip") as store:
            store.set("a", b"1")
    store = ZipStore.inside(here, "x.zip")
    store.set("b", b"2")
    made = io.BytesIO()
    with ZipStore(made) as other:
        other.set("c", b"3")
    elsewhere.set("x.zip", made.getvalue())  # as another machine would
    with pytest.raises(StoreError, match="another program replaced or removed"):
        store.flush()
    assert sorted(ZipStore(io.BytesIO(bytes(elsewhere.get("x.zip") or b""))).list()) == ["c"]
    elsewhere.erase("x.zip")
    store._archive._state = location._ABSENT  # type: ignore[union-attr]
    store.close()
    assert "b" in set(ZipStore.inside(here, "x.zip").list())


def test_a_failed_finish_can_be_tried_again(tmp_path: Path) -> None:
    place = MemoryStore()
    faulty = FaultyStore(place, [Fault("fail", methods={"set", "updates.write"}, calls={3})])
    store = ZipStore.inside(faulty, "x.zip")
    store.set("a", b"1" * 100_000)
    with pytest.raises(StoreError):
        store.flush()
    assert place.get("x.zip") is None
    store.close()
    assert ZipStore.inside(place, "x.zip").get("a") == b"1" * 100_000


# -- its life


def test_after_close_everything_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with ZipStore(path) as store:
        z = omnizarr.create_array(store, data=[1, 2, 3])
    store.close()
    for act in (
        lambda: store.get("zarr.json"),
        lambda: store.set("a", b""),
        lambda: store.list(),
        lambda: store.erase("a"),
        lambda: store.snapshots.open("zarr.json"),
        lambda: store.flush(),
        lambda: z[...],
    ):
        with pytest.raises(StoreError, match="is closed"):
            act()
    assert omnizarr.load(path).tolist() == [1, 2, 3]


def test_twins_and_copies(tmp_path: Path) -> None:
    store = ZipStore(tmp_path / "x.zip")
    store.set("a", b"1")
    for twin in (as_read_only(store), copy.copy(store)):
        assert twin == store
        assert twin.get("a") == b"1"
        twin.close()
        assert store.get("a") == b"1"
    with pytest.raises(ReadOnlyError):
        as_read_only(store).set("a", b"2")
    assert ZipStore(tmp_path / "y.zip") != store
    store.close()
    again = pickle.loads(pickle.dumps(ZipStore(tmp_path / "x.zip", compression="deflated", level=9, read_only=True)))
    assert (again, again._level, again.read_only) == (store, 9, True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    clean, dirty = ZipStore(_written(tmp_path / "y.zip", {"a": b"1"})), ZipStore(path)
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_file_object_is_not_read_by_a_child_too(tmp_path: Path) -> None:
    """The two would share the place at which it is read, and each find bytes that the other looked for."""
    path = _written(tmp_path / "x.zip", VALUES)
    with open(path, "rb") as file:
        on_disk, in_memory = ZipStore(file), ZipStore(io.BytesIO(path.read_bytes()))
        assert on_disk.get("c/1", (3, 5)) == in_memory.get("c/1", (3, 5)) == VALUES["c/1"][3:8]
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # a child that hangs ends, too
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


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="compression"):
        ZipStore(tmp_path / "x", compression="best")  # type: ignore[arg-type]
    for level in (0, 13, "6"):
        with pytest.raises(ArgumentError, match="level"):
            ZipStore(tmp_path / "x", level=level)  # type: ignore[arg-type]
    for place in (3, object(), None):
        with pytest.raises(LocationError):
            ZipStore(place)
    with pytest.raises(StoreError, match="longer than the 65,535"):
        ZipStore(tmp_path / "x").set("x" * 70_000, b"")
    with pytest.raises(StoreError, match="cannot open"):
        ZipStore(tmp_path).get("a")
    with pytest.raises(LocationError, match="not a file's path"):
        ZipStore("a\0b")


def test_file_objects_that_fail(tmp_path: Path) -> None:
    path = _written(tmp_path / "x.zip", VALUES)
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
    open_file, store._archive._location._file = memory, _Closed()  # type: ignore[union-attr, attr-defined]
    with pytest.raises(StoreError, match="cannot finish.*closed"):
        store.flush()
    store._archive._location._file = open_file  # type: ignore[union-attr, attr-defined]
    store.close()
    assert ZipStore(io.BytesIO(memory.getvalue())).get("a") == b"1"


class _Closed:
    def seek(self, *_: int) -> int:
        raise ValueError("closed")


def test_file_objects(tmp_path: Path) -> None:
    path = _written(tmp_path / "x.zip", VALUES)
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
    assert zipfile.is_zipfile(path)  # finished, though nobody closed it
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
    again = omnizarr.open(tmp_path / "x.zip", mode="r")
    assert isinstance(again, omnizarr.Array)
    assert again[...].tolist() == [*range(30), *[0] * 5, *[5] * 5]


def test_few_requests_to_an_archive_that_is_far_away(tmp_path: Path) -> None:
    data = np.arange(100_000, dtype="int32")
    omnizarr.save_array(tmp_path / "x.zip", data, chunks=10_000, compressors=None)
    inner = RecordingStore(SlowStore(LocalStore(tmp_path), latency=0))
    z = omnizarr.open_array(ZipStore.inside(inner, "x.zip"), mode="r")
    assert inner.methods() == ["size", "get"]  # its end, in which the document is found
    inner.reset()
    assert np.array_equal(z[...], data)
    assert [len(call.key) for call in inner.calls if call.method == "get_each"] == [len(inner.calls[0].key)]
    store = ZipStore.inside(inner, "x.zip")
    wanted = [(f"c/{number}", (0, 4)) for number in range(5)] + [("c/3", None), ("absent", None)]
    inner.reset()
    found = store.get_partial_values(wanted)
    assert [len(value or b"") for value in found] == [4] * 5 + [40_000, 0]
    assert found[6] is None
    assert [len(call.key) for call in inner.of("get_each")] == [5, 6]  # where they begin, then the values


def test_a_point_in_a_shard_that_is_far_away_takes_two_requests_and_then_one(tmp_path: Path) -> None:
    data = np.random.default_rng(0).integers(0, 2**15, (400, 400)).astype("int32")
    omnizarr.save_array(tmp_path / "x.zip", data, chunks=50, shards=200)
    inner = RecordingStore(SlowStore(LocalStore(tmp_path), latency=0))
    z = omnizarr.open_array(ZipStore.inside(inner, "x.zip"), mode="r")
    z.store.get("c/0/0", (0, 1))  # where a shard begins is not in the directory, and is asked for once
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
        for act in (lambda z=z: z[...], lambda z=z: z[7:9, 3], lambda z=z: z.store.get("c/0/0", (1, 2))):
            with pytest.raises(StoreError, match="replaced or removed"):
                act()


def test_shards_are_read_in_parts(tmp_path: Path) -> None:
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
        again = omnizarr.open_array(path, mode="r")
        assert np.array_equal(again[5_050:5_150], data[5_050:5_150])
        assert np.array_equal(again[::999], data[::999])


# -- broken and hostile archives


def _patched(path: Path, find: bytes, offset: int, new: bytes, last: bool = False) -> None:
    data = bytearray(path.read_bytes())
    at = data.rfind(find) if last else data.find(find)
    assert at >= 0
    data[at + offset : at + offset + len(new)] = new
    path.write_bytes(data)


CENTRAL, LOCAL, END = b"PK\1\2", b"PK\3\4", b"PK\5\6"


@pytest.mark.parametrize("name", ["../a", "/a", "a/../b", "a//b", "./a", "..", "a\\../../b", "a/./b", "//x", "../"])
def test_names_that_no_key_may_have(tmp_path: Path, name: str) -> None:
    path = _written(tmp_path / "x.zip", {"zarr.json": b"{}", name: b"" if name == "../" else b"x"})
    with pytest.raises(StoreError, match="which no key may be called"):
        ZipStore(path).get("zarr.json")


@pytest.mark.parametrize(
    ("what", "find", "offset", "new", "message"),
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
def test_lies_in_the_directory(tmp_path: Path, what: str, find: bytes, offset: int, new: bytes, message: str) -> None:
    path = _written(tmp_path / "x.zip", {"a": b"1" * 100, "b": b"2"})
    _patched(path, find, offset, new)
    with pytest.raises(StoreError, match=message) as caught:
        ZipStore(path).get("a")
    assert str(path) in str(caught.value)
    assert what


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = _written(tmp_path / "x.zip", {"ä": b"1"})
    path.write_bytes(path.read_bytes().replace("ä".encode(), b"\xff\xff"))
    with pytest.raises(StoreError, match="UTF-8"):
        ZipStore(path).get("a")


def test_overlapping_entries(tmp_path: Path) -> None:
    path = _written(tmp_path / "x.zip", {"a": b"1" * 100, "b": b"2" * 50})
    second = path.read_bytes().rfind(LOCAL)
    _patched(path, CENTRAL, 20, struct.pack("<II", 120, 120))
    with pytest.raises(StoreError, match="overlap"):
        ZipStore(path).get("a")
    _written(path, {"a": b"1" * 100, "b": b"2" * 50})
    _patched(path, CENTRAL, 42, struct.pack("<I", 0), last=True)  # two names for one entry
    with pytest.raises(StoreError, match="overlap"):
        ZipStore(path).get("a")
    _written(path, {"a": b"1" * 100, "b": b"2" * 50})
    _patched(path, LOCAL, 28, struct.pack("<H", 90))  # the header before the bytes says something else
    with pytest.raises(StoreError, match="overlap the next one"):
        ZipStore(path).get("a")
    assert second > 0
    _written(path, {"a": b"1" * 100, "b": b"2" * 50})
    _patched(path, LOCAL, 0, b"XX")
    store = ZipStore(path)
    with pytest.raises(StoreError, match=r"cannot read `a` in ZipStore\(.*no entry where its directory says"):
        store.get("a", (1, 2))
    assert store.get("b") == b"2" * 50  # one that is damaged does not keep others from being read


def test_the_same_name_twice_in_the_wrong_order(tmp_path: Path) -> None:
    path = _written(tmp_path / "x.zip", {"a": b"1", "b": b"2"})
    data = path.read_bytes()
    begin = data.find(CENTRAL)
    middle = data.find(CENTRAL, begin + 1)
    end = data.find(END)
    swapped = data[:begin] + data[middle:end] + data[begin:middle] + data[end:]
    path.write_bytes(swapped.replace(b"b", b"a"))
    with pytest.raises(StoreError, match="twice, in an order that does not say which one counts"):
        ZipStore(path).get("a")


def test_damaged_values_are_noticed(tmp_path: Path) -> None:
    value = bytes(range(256)) * 40
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path = _written(tmp_path / "x.zip", {"a": value}, compression=compression)
        data = bytearray(path.read_bytes())
        data[60] ^= 1
        path.write_bytes(data)
        store = ZipStore(path)
        target = memoryview(bytearray(len(value)))
        for act in (
            partial(store.get, "a"),
            partial(store.get, "a", (0, 10**9)),
            partial(store.get_into, "a", 0, target),
            partial(store.get_partial_values, [("a", None)]),
        ):
            with pytest.raises(StoreError, match=r"cannot read `a`.*(checksum|decompressed|promises)"):
                act()


def test_bombs_go_off_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    large = 2**26
    stored = zlib.compress(bytes(large), 6, -15)

    def made(size: int) -> None:
        head = local_record(b"c/0", 8, 0, len(stored), size)
        record = central_record(b"c/0", 8, 0, len(stored), size, 0)
        path.write_bytes(head + stored + record + end_records(len(head) + len(stored), len(record), 1))

    made(100)  # it says that it is small
    with pytest.raises(StoreError, match="does not have the 100 bytes"):
        ZipStore(path).get("c/0")
    made(large)
    assert ZipStore(path).get("c/0", (5, 10)) == bytes(10)  # no more is unfolded than is asked for
    with omnizarr.config(max_chunk_bytes=2**20), pytest.raises(StoreError, match="max_chunk_bytes"):
        ZipStore(path).get("c/0")
    made(large * 2)
    with pytest.raises(StoreError, match="cannot have 134217728 bytes"):
        ZipStore(path).get("c/0")


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    path = _written(tmp_path / "x.zip", {"a": b"1" * 50, "zarr.json": b"{}"})
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
def test_any_bytes_give_a_value_or_our_error(data: st.DataObject) -> None:
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
def test_any_short_bytes_are_refused(data: bytes) -> None:
    if data and not data.startswith(END):
        with pytest.raises(StoreError):
            ZipStore(io.BytesIO(data)).get("a")


class ArchiveMachine(RuleBasedStateMachine):
    """An archive beside a dict: written, finished, opened again by others, and closed in any order."""

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
        self.store, before = ZipStore(self.path), self.store
        assert sorted(self.store.list()) == sorted(before.list())
        del before  # which finishes the archive, if it wrote to it
        if self.path.exists():
            self.finished = dict(self.model)

    @invariant()
    def reads_as_written(self) -> None:
        assert {key: bytes(self.store.get(key) or b"") for key in self.store.list()} == self.model
        for key, value in self.model.items():
            assert bytes(self.store.get(key, (1, 3)) or b"") == value[1:4]

    @invariant()
    def the_file_is_what_was_finished(self) -> None:
        if self.finished is None:
            return
        with zipfile.ZipFile(self.path) as archive:
            names = archive.namelist()
            assert len(names) == len(set(names))
            now = {name: archive.read(name) for name in names}
        assert now in (self.finished, self.model)

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestArchiveMachine = ArchiveMachine.TestCase
TestArchiveMachine.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
