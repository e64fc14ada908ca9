"""Locks of Windows between processes, on the system calls of `windows_system`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_WINDOWS = "from tests.safety import windows_system; windows_system.install()\n"

_WRITER = """
import sys
import omnizarr

number = int(sys.argv[1])
root = omnizarr.open_group("data.zarr")
for turn in range(8):
    root["shared"][8 * number + turn] = number + 1
    root["log"].append([10 * number + turn])
root.attrs[f"writer {number}"] = number
"""

_HOLDER = """
import sys, omnizarr
from omnizarr.store.local import flock

store = omnizarr.LocalStore("data.zarr")
with store.lock(["shared/c/0"]), store.task_lock("log/zarr.json") as task_lock:
    task_lock.begin()
    print("locked", flush=True)
    sys.stdin.read()
"""

_OBSERVER = """
import os, omnizarr
from omnizarr.store.local import flock, windows_locks

assert flock.windows_locks is windows_locks
for folder, free in (("data.zarr/shared/c", False), ("data.zarr/log", True)):
    for shared in (False, True):
        try:
            with flock.DirectoryLock(folder, shared=shared, wait=False):
                print("free" if free else "wrong")
        except BlockingIOError:
            print("wrong" if free else "locked")
with flock.DirectoryLock("data.zarr", shared=True), flock.DirectoryLock("data.zarr", shared=True, wait=False):
    print("shared")
from omnizarr.tools.doctor import examine
print([one.state for one in examine("data.zarr") if one.area == "locks"])
"""


def start(program: str, folder: Path, *arguments: object) -> subprocess.Popen[str]:
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "PROGRAMDATA": str(folder / "programs"), "OMNIZARR_THREADS": "2"}
    command = [sys.executable, "-W", "error", "-c", _WINDOWS + program, *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, text=True, env=environment, **pipes)


def run(program: str, folder: Path) -> str:
    process = start(program, folder)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if not sys.platform.startswith("linux"):
        pytest.skip("the system calls of Windows are made of those of Linux")
    run(
        """
import omnizarr
root = omnizarr.create_group("data.zarr")
root.create_array("shared", data=[0] * 32, chunks=32, dtype="i4")
root.create_array("log", shape=0, chunks=4, dtype="i4")
assert root.store.locking and root.store.updates is not None and root.store.splicing is not None
""",
        tmp_path,
    )
    return tmp_path


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in (folder / "data.zarr").rglob(".omnizarr-*")]


def test_processes_lose_no_update(folder: Path) -> None:
    writers = [start(_WRITER, folder, number) for number in range(4)]
    for writer in writers:
        _, errors = writer.communicate()
        assert writer.returncode == 0, errors
    output = run(
        """
import omnizarr
root = omnizarr.open_group("data.zarr", mode="r")
print(root["shared"][...].tolist(), sorted(root["log"][...].tolist()), len(root.attrs))
""",
        folder,
    )
    values = [number + 1 for number in range(4) for _ in range(8)]
    rows = [10 * number + turn for number in range(4) for turn in range(8)]
    assert output.strip() == f"{values} {rows} 4"
    assert leftovers(folder) == []
    assert (folder / "programs" / "omnizarr" / "locks").read_bytes() == b""


def test_a_lock_ends_with_its_process(folder: Path) -> None:
    holder = start(_HOLDER, folder)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    assert run(_OBSERVER, folder).split("\n")[:6] == ["locked"] * 2 + ["free"] * 2 + ["shared", "['ok']"]
    holder.kill()
    holder.communicate()
    assert leftovers(folder) == [".omnizarr-zarr.json.turn"]
    assert "wrong" in run(_OBSERVER, folder), "the lock is free"
    run('import omnizarr; omnizarr.open_array("data.zarr/log").append([1, 2])', folder)
    assert leftovers(folder) == []


def test_a_listing_removes_the_files_of_ended_processes(folder: Path) -> None:
    ended = start("", folder)
    ended.communicate()
    program = """
import os, omnizarr
from omnizarr.store.local import flock, temp_names

assert flock.file_system("data.zarr") == "" and flock.is_network("smbfs")
for process in ({}, os.getpid()):
    open(f"data.zarr/.omnizarr-{{temp_names._host()}}-{{process}}-7.tmp", "w").close()
list(omnizarr.LocalStore("data.zarr").list_prefix(""))
print(os.getpid())
"""
    assert run(program.format(ended.pid), folder).strip() in leftovers(folder)[0]
    assert len(leftovers(folder)) == 1
