"""Promise 5: forking in the middle of reads, loaders with forked workers, objects that threads share, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.store import leftovers
from tests.safety.processes import forked, program, run_all, wait_for

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (16, 16)},
    "shards": {"chunks": (8, 8), "shards": (32, 32)},
}


@pytest.fixture(params=LAYOUTS)
def z(request: Any, tmp_path: Path) -> omnizarr.Array:
    data = np.random.default_rng(0).integers(0, 100, (128, 128))
    return omnizarr.create_array(tmp_path / "x.zarr", data=data, **LAYOUTS[request.param])


def test_forking_in_the_middle_of_reads(z: omnizarr.Array) -> None:
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
        z[0, 0] = expected[0, 0]  # and it may write

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
from omnizarr._forking import load
thread = threading.Thread(target=load, args=["slow_library"])
thread.start()
begun.wait()
child = os.fork()
assert load("slow_library").ready  # which waits for ever for a thread that a child does not have
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


def load(z: omnizarr.Array, worker: int) -> None:
    """What a worker of a data loader does: its own share of windows, in random order."""
    random = np.random.default_rng(worker)
    expected = np.random.default_rng(0).integers(0, 100, (128, 128))
    for _ in range(20):
        row, column = random.integers(0, 96, 2)
        window = np.s_[row : row + 32, column : column + 32]
        assert (z[window] == expected[window]).all()


def test_loaders_with_eight_forked_workers_read_right(z: omnizarr.Array) -> None:
    with omnizarr.config(threads=2):
        z[...]  # so that the parent has threads, and caches what it read
        run_all(load, [(z, worker) for worker in range(8)])
        cached = omnizarr.open_array(z.store, cache="1 MiB")
        cached[...]
        run_all(load, [(cached, worker) for worker in range(8)])


def test_handles_groups_attributes_and_stores_may_be_shared_by_threads(tmp_path: Path) -> None:
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
def test_control_c_stops_it_and_leaves_no_half_state(tmp_path: Path, what: str) -> None:
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
        assert (found == found[:, :1, :, :1]).all(), "a chunk is written wholly or not at all"
        assert not [path for path in place.rglob("*") if leftovers.is_temporary(path.name)]
