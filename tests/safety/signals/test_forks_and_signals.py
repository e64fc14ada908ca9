"""Promise 5: forks during reads, data loaders with forked workers, objects that threads share, and Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.safety.processes import forked, program, run_all, wait_for

import omnizarr
from omnizarr import _fork
from omnizarr._cached_property import cached_property
from omnizarr.store.local import temp_names

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

PYTHON = (sys.executable, "-W", "ignore:This process")  # is multi-threaded: Python 3.12 warns about its forks

LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (16, 16)},
    "shards": {"chunks": (8, 8), "shards": (32, 32)},
}


@pytest.fixture(params=LAYOUTS)
def z(request: Any, tmp_path: Path) -> omnizarr.Array:
    data = np.random.default_rng(0).integers(0, 100, (128, 128))
    return omnizarr.create_array(tmp_path / "x.zarr", data=data, **LAYOUTS[request.param])


def test_forking_during_reads(z: omnizarr.Array) -> None:
    expected = z[...]
    stop = threading.Event()
    wrong: list[int] = []

    def keep_reading() -> None:
        while not stop.is_set():
            if not (z[...] == expected).all():
                wrong.append(1)

    readers = [threading.Thread(target=keep_reading) for _ in range(3)]
    for reader in readers:
        reader.start()

    def check() -> None:
        assert (z[...] == expected).all()
        assert (omnizarr.open_array(z.store)[3:40, 5:90] == expected[3:40, 5:90]).all()
        z[0, 0] = expected[0, 0]  # the child can write, too

    with omnizarr.config(threads=4):
        children = [forked(check) for _ in range(12)]
        assert [wait_for(child) for child in children] == [0] * 12
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert (z[...] == expected).all()


IMPORTING = """
import logging, os, sys, threading, time, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
begun = sys.begun = threading.Event()
from omnizarr._fork import import_library
thread = threading.Thread(target=import_library, args=["slow_library"])
thread.start()
begun.wait()
child = os.fork()
assert import_library("slow_library").ready  # which waits for ever for a thread that a child does not have
if child == 0:
    os._exit(0)
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

LIBRARY = """
import logging, sys, time
sys.begun.set()
time.sleep(0.2)
logging.getLogger("slow")  # a lock that Python takes before it forks
ready = True
"""


def test_a_fork_waits_for_libraries_that_other_threads_import(tmp_path: Path) -> None:
    (tmp_path / "slow_library.py").write_text(LIBRARY)
    with program(IMPORTING, tmp_path) as running:
        try:
            assert running.wait(timeout=60) == 0
        finally:
            running.kill()


FIRST_USE = """
import faulthandler, os, sys, threading, time, warnings
import numpy as np
import omnizarr
warnings.simplefilter("ignore")
folder, kind, delay = sys.argv[1], sys.argv[2], float(sys.argv[3])
data = np.arange(64 * 64, dtype="u2").reshape(64, 64)

def act(place):
    if kind in ("zip", "sqlite"):
        stored = omnizarr.open_array(f"{folder}/x.{'zarr.zip' if kind == 'zip' else kind}")
        assert (stored[...] == data).all()
    elif kind == "memory":
        z = omnizarr.create_array(None, data=data, chunks=(8, 8), compressors=["gzip"])
        assert (z[...] == data).all()
    else:
        group = omnizarr.create_group(f"{folder}/{place}", zarr_format=2 if kind == "v2" else 3)
        z = group.create_array("x", data=data, chunks=(8, 8), shards=(32, 32) if kind == "shards" else None)
        z[3:9] = 3
        z.attrs["x"] = 1
        z.append(data)
        assert (z[64:] == data).all()
        assert len(group) == 1

thread = threading.Thread(target=act, args=["parent"])
thread.start()
time.sleep(delay)
child = os.fork()
if child == 0:
    faulthandler.dump_traceback_later(60, exit=True)
    act("child")
    os._exit(0)
faulthandler.dump_traceback_later(90, exit=True)
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("kind", ["chunks", "shards", "v2", "memory", "zip", "sqlite"])
def test_forking_during_the_first_use_of_omnizarr(tmp_path: Path, kind: str) -> None:
    """Another thread imports one module after the other. Whenever the fork happens, the child can import what it
    needs."""
    data = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    for name in ("x.zarr.zip", "x.sqlite"):
        omnizarr.create_array(tmp_path / name, data=data, chunks=(8, 8))
    for turn in range(6):
        folder = tmp_path / str(turn)
        folder.mkdir()
        for name in ("x.zarr.zip", "x.sqlite"):
            (folder / name).hardlink_to(tmp_path / name)
        command = [*PYTHON, "-c", FIRST_USE, folder, kind, str(turn * 0.012)]
        finished = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert (finished.returncode, finished.stderr) == (0, ""), f"forked after {turn * 12} ms:\n{finished.stderr}"


def test_cached_properties_have_no_lock() -> None:
    """A child would wait forever for the lock of a property that another thread of its parent was computing."""
    package = Path(omnizarr.__file__).parent
    users = [
        path.name
        for path in package.rglob("*.py")
        if re.search(r"functools import .*cached_property", path.read_text())
    ]
    assert users == ["_cached_property.py"]
    computing, forked = threading.Event(), threading.Event()

    class Slow:
        wait = True

        @cached_property
        def value(self) -> int:
            if self.wait:
                computing.set()
                forked.wait(60)
            return 7

    first, second = Slow(), Slow()
    second.wait = False
    thread = threading.Thread(target=lambda: first.value)
    thread.start()
    assert computing.wait(60)
    assert second.value == 7  # the lock of functools would keep this thread waiting, too
    forked.set()
    thread.join()
    assert first.__dict__["value"] == 7
    assert Slow.value.__doc__ is None


def held() -> list[bool]:
    return [lock._is_owned() for lock in (_fork.MEMORY_LOCK, _fork.CACHE_LOCK, _fork.DATABASE_LOCK)]


@pytest.mark.parametrize("failing", [False, True])
def test_locks_are_held_during_a_fork_and_free_after_it(monkeypatch: pytest.MonkeyPatch, failing: bool) -> None:
    """Also if Ctrl-C arrives during the fork; Python does not raise it out of a fork handler."""
    seen: list[list[bool]] = []

    def task() -> None:
        seen.append(held())
        if failing:
            raise KeyboardInterrupt

    monkeypatch.setattr(_fork, "_tasks", [task])
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    assert wait_for(forked(lambda: check_equal(held(), [False] * 3))) == 0
    assert seen == [[True] * 3]
    assert held() == [False] * 3
    assert _fork._forks == {}


def check_equal(found: object, expected: object) -> None:
    assert found == expected


INTERRUPTED = """
import os, random, signal, sys, threading, time
import numpy as np
import omnizarr
from omnizarr import _fork
sys.unraisablehook = lambda _: None
memory = omnizarr.create_array(None, shape=64, dtype="u1", chunks=8)
database = omnizarr.create_array(sys.argv[1] + "/x.sqlite", shape=64, dtype="u1", chunks=8)
memory[...] = database[...] = 1
stop = time.monotonic() + 3

def interrupt():
    while time.monotonic() < stop:
        time.sleep(random.random() * 0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

def write():
    while time.monotonic() < stop:
        memory[3] = database[3] = 1

for work in (write, interrupt):
    try:
        threading.Thread(target=work).start()
    except KeyboardInterrupt:  # the first signal may arrive while `start` waits for the thread
        pass
forks = 0
while time.monotonic() < stop or forks < 2:  # a busy machine forks rarely
    try:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        forks += 1
    except KeyboardInterrupt:
        pass
while True:
    try:
        time.sleep(0.2)
        break
    except KeyboardInterrupt:
        pass
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.alarm(60)
memory[...] = database[...] = 2
assert (memory[...] == 2).all() and (database[...] == 2).all()
assert not any(lock._is_owned() for lock in (_fork.MEMORY_LOCK, _fork.CACHE_LOCK, _fork.DATABASE_LOCK))
os._exit(0)
"""


def test_interrupts_during_a_fork_leave_no_lock_held(tmp_path: Path) -> None:
    finished = subprocess.run([*PYTHON, "-c", INTERRUPTED, tmp_path], capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stderr


FORKING_HANDLER = """
import os, signal, sys
import numpy as np
import omnizarr
data = np.random.default_rng(0).integers(0, 99, (512, 2**13), "u2")
z = omnizarr.create_array(sys.argv[1] + "/x", data=data, chunks=(8, 2**10), compressors=["zstd"])
children = []

def fork(*_):
    child = os.fork()
    if child == 0:
        children.clear()
        signal.alarm(60)
    else:
        children.append(child)

signal.signal(signal.SIGVTALRM, fork)
with omnizarr.config(threads=4):
    for _ in range(5):
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.004)
        parent = os.getpid()
        right = (z[...] == data).all()
        if os.getpid() != parent or not right:
            os._exit(0 if right else 1)
signal.setitimer(signal.ITIMER_VIRTUAL, 0)
assert children
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


def test_a_signal_handler_can_fork_during_a_read(tmp_path: Path) -> None:
    finished = subprocess.run([*PYTHON, "-c", FORKING_HANDLER, tmp_path], capture_output=True, text=True, timeout=120)
    assert (finished.returncode, finished.stderr) == (0, "")


HALF = """
import os, sys, threading
sys.path.insert(0, sys.argv[1])
begun = sys.begun = threading.Event()
import omnizarr
threading.Thread(target=__import__, args=["never_ready"], daemon=True).start()
begun.wait()
child = os.fork()
if child == 0:
    sys.begun = None
    import never_ready  # by another thread, which the child does not have
    os._exit(0 if never_ready.ready else 1)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

NEVER_READY = """
import sys, time
if sys.begun is not None:
    sys.begun.set()
    time.sleep(600)
ready = True
"""


def test_a_child_imports_again_what_another_thread_was_importing(tmp_path: Path) -> None:
    (tmp_path / "never_ready.py").write_text(NEVER_READY)
    finished = subprocess.run([*PYTHON, "-c", HALF, tmp_path], capture_output=True, text=True, timeout=60)
    assert (finished.returncode, finished.stderr) == (0, "")


def load(z: omnizarr.Array, worker: int) -> None:
    """A worker of a data loader: reads its own share of windows in random order."""
    random = np.random.default_rng(worker)
    expected = np.random.default_rng(0).integers(0, 100, (128, 128))
    for _ in range(20):
        row, column = random.integers(0, 96, 2)
        window = np.s_[row : row + 32, column : column + 32]
        assert (z[window] == expected[window]).all()


def test_data_loaders_with_eight_forked_workers_read_correctly(z: omnizarr.Array) -> None:
    with omnizarr.config(threads=2):
        z[...]  # gives the parent threads and cached chunks
        run_all(load, [(z, worker) for worker in range(8)])
        cached = omnizarr.open_array(z.store, cache="1 MiB")
        cached[...]
        run_all(load, [(cached, worker) for worker in range(8)])


def test_threads_can_share_handles_groups_attributes_and_stores(tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "g")
    z = group.create_array("a", shape=(8, 64), dtype="i4", chunks=(8, 16))

    def work(number: int) -> None:
        for step in range(10):
            z[number] = number * 100 + step
            assert (z[number] == number * 100 + step).all()
            z.attrs[str(number)] = step
            group.attrs[str(number)] = step
            group.create_array(f"{number}-{step}", shape=3, dtype="u1")
            assert f"{number}-{step}" in group
            repr(z), repr(group), list(z.attrs), z.info
            z.refresh()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert z[:, 0].tolist() == [number * 100 + 9 for number in range(8)]
    assert len(group) == 81
    assert dict(z.attrs) == dict(group.attrs) == {str(number): 9 for number in range(8)}


READING = """
import sys, time
import numpy as np, omnizarr
z = omnizarr.open_array(sys.argv[1])
write = sys.argv[2] == "write"
data = np.full(z.shape, 2, z.dtype)
z[...] = z[...]  # imports modules: Python drops a Ctrl-C at the end of an import
try:
    print("begin", flush=True)  # here, because the signal may come at once
    while True:
        if write:
            z[...] = data
            data = 5 - data
        else:
            z[...]
except KeyboardInterrupt:
    print("interrupted", flush=True)
    z[0, 0] = 3  # nothing is locked, and the pool still works
    assert z[0, 0] == 3
    print("alive", flush=True)
"""


@pytest.mark.parametrize("what", ["read", "write"])
def test_control_c_stops_a_write_and_leaves_no_partial_chunk(tmp_path: Path, what: str) -> None:
    place = tmp_path / "x.zarr"
    z = omnizarr.create_array(place, shape=(256, 256), dtype="i4", chunks=(32, 32))
    z[...] = 2
    for pause in (0.02, 0.1):
        with program(READING, place, what, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == b"begin\n"
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(pause)
            running.send_signal(signal.SIGINT)
            output, errors = running.communicate(timeout=60)
        assert output == b"interrupted\nalive\n", errors.decode()
        assert running.returncode == 0
        z[0, 0] = z[0, 1]
        found = z[...].reshape(8, 32, 8, 32)
        assert (found == found[:, :1, :, :1]).all(), "a chunk is written completely or not at all"
        assert not [path for path in place.rglob("*") if temp_names.is_temporary(path.name)]


def test_a_program_that_keeps_forking_does_not_keep_others_from_importing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handlers run as they do before and after a fork, without a pause between two forks."""
    (tmp_path / "imported_between_forks.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    imported = threading.Event()

    def work() -> None:
        _fork.import_library("imported_between_forks")
        imported.set()

    _fork._wait_for_imports()
    importer = threading.Thread(target=work)
    importer.start()
    while not _fork._waiting and importer.is_alive():
        pass
    _fork._end_fork_in_parent()
    _fork._wait_for_imports()
    waited = imported.wait(30)  # the second fork waits for imports up to 2 seconds
    _fork._end_fork_in_parent()
    importer.join()
    assert waited
