"""Promise 5: Ctrl-C at any moment leaves no file open that was opened for writing, no lock, and no database; and many
handles need few files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from tests.safety.processes import program

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="this system does not list open files")

INTERRUPTED = """
import gc, os, signal, sys
from random import Random
import numpy as np
import omnizarr

place, operation, native = sys.argv[1], sys.argv[2], int(sys.argv[3])
omnizarr.config.set(native=native, threads=1)
random = Random(int(sys.argv[5]))

def act():
    if operation == "part":
        z[3:9] = 1
    elif operation == "whole":
        z[...] = 1
    elif operation == "attributes":
        z.attrs["n"] = 1
    elif operation == "append":
        z.append(np.ones(1, "i8"))
    elif operation == "open":
        with omnizarr.open_array(place, mode="r+").store as store:
            omnizarr.open_array(store)[2] = 1

def files():
    gc.collect()
    names = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            names[number] = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            pass
    return {number: name for number, name in names.items() if os.path.dirname(place) in name}

def interrupt(*_):
    raise KeyboardInterrupt

z = omnizarr.open_array(place, mode="r+")
act()
before = files()
signal.signal(signal.SIGALRM, interrupt)
for _ in range(int(sys.argv[4])):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0001, 0.002))
        while True:
            act()
    except KeyboardInterrupt:
        pass
signal.signal(signal.SIGALRM, signal.SIG_IGN)
act()
after = files()
# A connection may be replaced by another one, and an idle one stays open.
more = {number: name for number, name in after.items() if number not in before}
writing = []
for number, name in more.items():
    with open(f"/proc/self/fdinfo/{number}") as file:
        text = file.read()
    flags = int(next(line.split()[1] for line in text.splitlines() if line.startswith("flags")), 8)
    if flags & os.O_ACCMODE or "lock:" in text:
        writing.append(name)
print(len(after) - len(before), len(writing), sorted(more.values()))
"""

OPERATIONS = ["part", "whole", "attributes", "append", "open"]


@pytest.mark.parametrize("native", [0, 1])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", ["x.zarr", "x.sqlite"])
def test_ctrl_c_leaves_no_files_open(tmp_path: Path, name: str, operation: str, native: int) -> None:
    if name == "x.sqlite" and native:
        pytest.skip("the kernel does not write to databases")
    interrupt(tmp_path, name, operation, native, 1)


def interrupt(folder: Path, name: str, operation: str, native: int, seed: int) -> None:
    """Interrupts operations 100 times by Ctrl-C, and checks which files stay open."""
    with omnizarr.create_array(folder / name, data=np.ones(16, "i8"), chunks=4, attributes={"n": 0}).store:
        pass
    with program(
        INTERRUPTED, folder / name, operation, native, 100, seed, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        output, errors = running.communicate(timeout=300)
    assert running.returncode == 0, errors
    count, writing = map(int, output.split()[:2])
    if name == "x.sqlite":
        assert count <= 24, output  # up to eight idle connections
    else:
        assert writing == 0, output
        assert count <= 10, output  # just after a file was opened for reading, it can stay open


def test_600_handles_of_one_database_work(tmp_path: Path) -> None:
    with omnizarr.create_array(tmp_path / "x.sqlite", data=np.ones(16, "i8"), chunks=4).store:
        pass
    before = len(os.listdir("/proc/self/fd"))
    handles = [omnizarr.open_array(tmp_path / "x.sqlite", mode="r+") for _ in range(600)]
    for number, handle in enumerate(handles):
        handle[number % 16] = number
    assert handles[0][...].tolist() == [*range(592, 600), *range(584, 592)]
    assert [int(handle[5]) for handle in handles[:3]] == [597] * 3
    assert len(os.listdir("/proc/self/fd")) - before <= 3 * 32 + 8
