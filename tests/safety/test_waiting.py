"""Promise 1: a writer waits for the lock of a directory for a limited time, also behind writers that never stop."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import StoreError
from omnizarr.store import LocalStore
from omnizarr.store.local import flock
from omnizarr.store.local.flock import DirectoryLock
from tests.safety.processes import forked, wait_for

pytestmark = pytest.mark.skipif(not flock.AVAILABLE, reason="this system has no locks that processes share")

WRITERS = 3


@pytest.fixture
def place(tmp_path: Path) -> Path:
    omnizarr.create_array(tmp_path / "x", data=np.ones(64, "i8"), chunks=8, compressors=None)
    return tmp_path / "x"


@pytest.mark.parametrize("native", [0, 1])
@pytest.mark.parametrize("shared", [False, True])
def test_a_write_fails_when_the_lock_is_not_free_in_time(place: Path, shared: bool, native: int) -> None:
    z = omnizarr.open_array(place)
    holder = DirectoryLock(str(place / "c"), shared=shared)
    failures: list[BaseException] = []

    def write() -> None:
        with omnizarr.config(lock_timeout=0, native=native):
            try:
                z[3] = 7  # a part of a chunk: needs the exclusive lock
            except BaseException as error:
                failures.append(error)

    with holder:
        worker = threading.Thread(target=write)  # this thread holds the lock, which it may use again
        worker.start()
        worker.join(20)
        assert not worker.is_alive()
    (failure,) = failures
    assert isinstance(failure, StoreError)
    assert "other writers kept the lock" in str(failure)
    assert "fewer processes" in (failure.hint or "")
    write()
    assert len(failures) == 1
    assert z[3] == 7


def test_whole_writes_wait_for_the_exclusive_lock_only(place: Path) -> None:
    store = LocalStore(place)

    def write(expected: type[BaseException] | None) -> None:
        with omnizarr.config(lock_timeout=0):
            if expected is None:
                store.set("c/0", b"x")
            else:
                with pytest.raises(expected):
                    store.set("c/0", b"x")

    for shared, expected in ((True, None), (False, StoreError)):
        with DirectoryLock(str(place / "c"), shared=shared):
            worker = threading.Thread(target=write, args=(expected,))
            worker.start()
            worker.join(20)
            assert not worker.is_alive()


def test_task_locks_wait_without_limit(place: Path) -> None:
    """An append may take hours; only directories have a time limit."""
    z = omnizarr.open_array(place)
    reading, writing = os.pipe()

    def append() -> None:
        with LocalStore(place).task_lock("zarr.json"):
            os.write(writing, b"x")
            time.sleep(0.3)

    child = forked(append)
    os.read(reading, 1)
    with omnizarr.config(lock_timeout=0):
        z.append(np.ones(3, "i8"))
    assert wait_for(child) == 0
    assert z.shape == (67,)
    os.close(reading)
    os.close(writing)


def test_writers_of_parts_end_behind_writers_of_whole_chunks(place: Path) -> None:
    """The system grants the shared lock while a process waits for the exclusive one. Writers of parts either get it or
    fail in time."""
    stop = place.parent / "stop"

    def write_whole() -> None:
        z = omnizarr.open_array(place)
        while not stop.exists():
            z[8:] = 1

    children = [forked(write_whole) for _ in range(WRITERS)]
    z = omnizarr.open_array(place)
    written = refused = 0
    try:
        with omnizarr.config(lock_timeout=1):
            while written + refused < 5:
                try:
                    z[3] = written + 1
                    written += 1
                except StoreError as error:
                    if "other writers kept the lock" not in str(error):
                        raise
                    refused += 1
    finally:
        stop.touch()
        assert [wait_for(child) for child in children] == [0] * WRITERS
    assert z[3] == written
