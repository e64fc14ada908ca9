"""SQLiteStore: the store suite, many threads and processes, and damaged or malicious databases."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import LocationError, OmnizarrError, ReadOnlyError, StoreError
from omnizarr.store import MemoryStore, SQLiteStore, as_read_only
from omnizarr.testing import StoreSuite


class TestSQLite(StoreSuite):
    def make_store(self, tmp_path: Path) -> SQLiteStore:
        return SQLiteStore(tmp_path / "x.sqlite")


def test_durable(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "deeper" / "x.sqlite", durable=True) as store:
        store.set("a", b"1")
        assert store.updates.write("a", b"2", b"1")
        with store._connections.use() as connection:
            assert connection is not None
            assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert pickle.loads(pickle.dumps(store))._durable


@pytest.mark.smoke
def test_arrays_by_address(tmp_path: Path) -> None:
    data = np.arange(100).reshape(10, 10)
    for name in ("x.sqlite", "x.sqlite3", "x.sqldb"):
        omnizarr.save_array(tmp_path / name, data)
        assert np.array_equal(omnizarr.load(tmp_path / name), data)
        assert (tmp_path / name).read_bytes()[:15] == b"SQLite format 3"
    group = omnizarr.open_group(f"sqlite::{tmp_path}/any", mode="w")
    group.create_array("a/b", data=data, shards=10, chunks=5)
    group.attrs["title"] = "x"
    for inner in (f"sqlite://a/b::{tmp_path}/any", f"{tmp_path}/any|sqlite:a/b"):
        assert omnizarr.open_array(inner, mode="r")[3, 4] == 34
    assert omnizarr.open_array(f"{tmp_path}/x.sqlite/", mode="r")[3, 4] == 34
    with pytest.raises(LocationError, match="must be a local file"):
        omnizarr.open("sqlite::memory://x/y")
    with pytest.raises(LocationError, match="colour"):
        omnizarr.open(f"{tmp_path}/x.sqlite", storage_options={"colour": 1})


def test_a_closed_store_is_one_file(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "x.sqlite") as store:
        omnizarr.create_array(store, data=range(1000), chunks=10)
    assert os.listdir(tmp_path) == ["x.sqlite"]
    for operation in (lambda: store.get("zarr.json"), lambda: store.set("a", b""), lambda: list(store.list())):
        with pytest.raises(StoreError, match="is closed"):
            operation()


def test_reading_and_erasing_create_no_database(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "x.sqlite")
    assert store.get("a") is None
    assert store.get_partial_values([("a", None), ("b", (0, 1))]) == [None, None]
    assert list(store.list()) == []
    assert store.list_dir("") == ([], [])
    store.erase("a")
    store.erase_prefix("")
    assert os.listdir(tmp_path) == []


def test_exchange_with_zarr_python_2(tmp_path: Path, zarr2_peer: Any) -> None:
    path = tmp_path / "x.sqldb"
    data = np.arange(20).reshape(4, 5)
    code = """
        import sys, numpy, zarr
        store = zarr.SQLiteStore(sys.argv[1])
        if len(sys.argv) > 2:
            zarr.group(store).create_dataset("theirs", data=numpy.arange(20).reshape(4, 5), chunks=2)
        else:
            print(zarr.open(store)["ours"][:].tolist())
        store.close()
    """
    python = str(zarr2_peer.environment.python)
    subprocess.run([python, "-c", textwrap.dedent(code), path, "write"], check=True)
    group = omnizarr.open_group(path, mode="r+")
    assert np.array_equal(group["theirs"][...], data)  # type: ignore[index]
    group.create_array("ours", data=data)
    group.store.close()
    command = [python, "-c", textwrap.dedent(code), path]
    assert eval(subprocess.run(command, check=True, capture_output=True, text=True).stdout) == data.tolist()


def _count(path: str, times: int) -> None:
    store = SQLiteStore(path)
    while times:
        value, version = store.updates.read("count")
        times -= store.updates.write("count", b"%d" % (int(bytes(value or b"0")) + 1), version)


@pytest.mark.parametrize("start", ["spawn", *(["fork"] if hasattr(os, "fork") else [])])
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_processes_lose_no_update(tmp_path: Path, start: str) -> None:
    path = str(tmp_path / "x.sqlite")
    store = SQLiteStore(path)
    store.set("count", b"0")
    context = multiprocessing.get_context(start)
    workers = [context.Process(target=_count, args=(path, 25)) for _ in range(3)]
    for worker in workers:
        worker.start()
    _count(path, 25)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert store.get("count") == b"100"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork_while_threads_read_and_write(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "x.sqlite")
    values = {f"k{number}": os.urandom(5000) for number in range(50)}
    store.set_each(values.items())
    done = False

    def read_and_write(number: int) -> None:
        while not done:
            assert bytes(store.get(f"k{number}") or b"") == values[f"k{number}"]
            store.set(f"mine{number}", b"x" * 1000)

    def child() -> None:
        code = 1
        try:
            for key, value in values.items():
                assert store.get(key) == value
            store.set(f"child{os.getpid()}", b"")
            code = 0
        finally:
            os._exit(code)

    with ThreadPoolExecutor(3) as pool:
        tasks = [pool.submit(read_and_write, number) for number in range(3)]
        try:
            for _ in range(6):
                number = os.fork()
                if not number:
                    child()
                assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0
        finally:
            done = True
        for task in tasks:
            task.result()
    assert len([key for key in store.list() if key.startswith("child")]) == 6
    with sqlite3.connect(tmp_path / "x.sqlite") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_a_killed_writer_leaves_old_or_new_values(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    code = """
        import sys, omnizarr
        store = omnizarr.SQLiteStore(sys.argv[1])
        print("ready", flush=True)
        while True:
            for letter in (b"a", b"b"):
                store.set_each((f"k{number}", letter * 20_000) for number in range(20))
    """
    for _ in range(3):
        command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            store = SQLiteStore(path)
            while store.get("k19") is None:
                pass
            process.send_signal(signal.SIGKILL)
        values = {bytes(value) for value in store.get_partial_values([(f"k{n}", None) for n in range(20)]) if value}
        assert len(values) == 1  # all values are of one transaction
        assert values <= {b"a" * 20_000, b"b" * 20_000}
        store.close()


def test_parts_in_one_batch_have_one_version(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "x.sqlite")
    store.set("k", b"a" * 100_000)
    done = False

    def change() -> None:
        while not done:
            for letter in (b"a", b"b"):
                store.set("k", letter * 100_000)

    with ThreadPoolExecutor(1) as pool:
        task = pool.submit(change)
        try:
            for _ in range(50):
                parts = store.get_partial_values([("k", (0, 10)), ("k", (50_000, 10)), ("k", (-10, None))])
                assert len({bytes(part or b"")[:1] for part in parts}) == 1
        finally:
            done = True
        task.result()


def test_a_listing_blocks_no_writer(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "x.sqlite")
    store.set_each((f"c/{number:05}/k", b"") for number in range(2500))
    listing = store.list()
    first = next(listing)
    store.set("z", b"")
    assert len([first, *listing]) == 2501
    assert len(store.list_dir("c/")[1]) == 2500


def test_read_only(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "x.sqlite")
    store.set("a", b"1")
    for protected in (SQLiteStore(tmp_path / "x.sqlite", read_only=True), as_read_only(store)):
        assert type(protected) is SQLiteStore
        assert protected.get("a") == b"1"
        with pytest.raises(ReadOnlyError):
            protected.set("a", b"2")
        assert pickle.loads(pickle.dumps(protected)).read_only
    absent = SQLiteStore(tmp_path / "absent", read_only=True)
    assert absent.get("a") is None
    assert not (tmp_path / "absent").exists()


def test_a_write_waits_for_the_lock_of_another_connection(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    store = SQLiteStore(path, timeout=0.05)
    store.set("a", b"1")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert store.get("a") == b"1"  # readers do not wait
    with pytest.raises(StoreError, match="locked.*") as caught:
        store.set("a", b"2")
    assert "0.05 s" in str(caught.value)
    other.execute("COMMIT")
    other.close()
    store.set("a", b"2")


# -- damaged and malicious databases


@pytest.mark.parametrize("data", [b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_files_that_are_not_databases_are_rejected(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(data)
    store = SQLiteStore(path)
    with pytest.raises(StoreError, match=r"cannot read `a` in SQLiteStore\(.*hint: the file is damaged|database"):
        store.get("a")
    with pytest.raises(StoreError):
        store.set("a", b"")
    with pytest.raises(OmnizarrError):
        omnizarr.open(path)
    assert path.read_bytes() == data


def test_malicious_tables(tmp_path: Path) -> None:
    def create(name: str, *statements: str) -> SQLiteStore:
        database = sqlite3.connect(tmp_path / name)
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()
        return SQLiteStore(tmp_path / name)

    view = create("view", "CREATE VIEW zarr AS SELECT 'a' AS k, randomblob(10) AS v")
    with pytest.raises(StoreError, match="is a view and not a table"):
        view.get("a")
    with pytest.raises(StoreError, match="is a view and not a table"):
        view.set("a", b"")
    table = "CREATE TABLE zarr (k TEXT PRIMARY KEY, v BLOB)"
    rows = "INSERT INTO zarr VALUES ('number', 5), ('text', 'ä'), ('none', NULL), ('x', zeroblob(3))"
    kinds = create("kinds", table, rows)
    assert [kinds.get(key) for key in ("number", "text", "none", "x")] == [b"5", "ä".encode(), b"", bytes(3)]
    assert [kinds.get(key, (1, 1)) for key in ("number", "text", "none", "x")] == [b"", b"\xa4", b"", b"\0"]
    names = create("names", table, "INSERT INTO zarr VALUES ('../a', x'00')")
    with pytest.raises(StoreError, match="which is not a valid key"):
        list(names.list())
    with pytest.raises(StoreError, match="which is not a valid key"):
        names.list_dir("")
    columns = create("columns", "CREATE TABLE zarr (a, b)")
    with pytest.raises(StoreError, match="no such column"):
        columns.get("a")


@pytest.mark.parametrize("path", [b"x", "", "a\0b", "s3://x/y"])
def test_invalid_paths_are_rejected(path: Any) -> None:
    with pytest.raises(LocationError):
        SQLiteStore(path)


def test_equality(tmp_path: Path) -> None:
    one, two = SQLiteStore(tmp_path / "x"), SQLiteStore(tmp_path / "." / "x")
    assert one == two
    assert hash(one) == hash(two)
    assert one != SQLiteStore(tmp_path / "y")
    assert one != MemoryStore()
    assert str(tmp_path / "x") in repr(one)


def test_a_file_with_wrong_sizes_exhausts_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite then reports that it is out of memory, and Python raises MemoryError."""
    store = SQLiteStore(tmp_path / "x.sqlite")

    def fail(*arguments: Any, **options: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(store._connections, "use", fail)
    with pytest.raises(StoreError, match="SQLite is out of memory"):
        store.get("k")
