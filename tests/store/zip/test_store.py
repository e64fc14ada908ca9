"""ZipStore: the store suite, file objects, arguments, copies, threads and forks, and a state machine."""

from __future__ import annotations

import copy
import io
import os
import pickle
import signal
import tempfile
import threading
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.store.zip.archives import VALUES, entry_names, write_archive

import omnizarr
from omnizarr.errors import ArgumentError, LocationError, ReadOnlyError, StoreError
from omnizarr.store import LocalStore, MemoryStore, Store, ZipStore, as_read_only
from omnizarr.testing import SlowStore, StoreSuite

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
    clean, dirty = ZipStore(write_archive(tmp_path / "y.zip", {"a": b"1"})), ZipStore(path)
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
    assert entry_names(path) == ["a", "large"]
    assert entry_names(tmp_path / "y.zip") == ["a", "child"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_cannot_read_a_file_object(tmp_path: Path) -> None:
    """Both processes would share the file position, and each could read bytes at the position of the other."""
    path = write_archive(tmp_path / "x.zip", VALUES)
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
    assert entry_names(path) == sorted(values)


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
    path = write_archive(tmp_path / "x.zip", VALUES)
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
    path = write_archive(tmp_path / "x.zip", VALUES)
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
    assert entry_names(path) == sorted(set(VALUES) - {"c/1"})
    memory = io.BytesIO()
    with ZipStore(memory) as store:
        omnizarr.create_array(store, data=np.arange(5))
    assert omnizarr.load(ZipStore(io.BytesIO(memory.getvalue()))).tolist() == list(range(5))


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
