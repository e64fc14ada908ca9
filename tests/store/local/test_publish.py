"""`write_files`: the kernel writes a file and renames it under a directory lock; if it cannot, Python does."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import omnizarr
from omnizarr.native import ABSENT, DONE, UNUSUAL, kernel
from omnizarr.store import LocalStore
from omnizarr.store.local import flock

pytestmark = pytest.mark.skipif(kernel() is None, reason="the kernel is not compiled")


def write(
    folder: Path, names: str, state: tuple[int, ...] | None = None, *, guarded: bool = True, follow: bool = False
) -> list[int]:
    """The status of each file, whose name and content is one letter of `names`."""
    temporaries = [f"{name}.tmp" for name in names]
    values = [name.encode() for name in names]
    return list(kernel().write_files((str(folder), guarded, state, follow), temporaries, list(names), values))


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def state(path: Path, *, follow: bool = True) -> tuple[int, ...]:
    status = path.stat(follow_symlinks=follow)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


@pytest.mark.parametrize("guarded", [False, True])
def test_all_files_are_written(tmp_path: Path, guarded: bool) -> None:
    (tmp_path / "b").write_text("old")
    assert write(tmp_path, "ab", guarded=guarded) == [DONE, DONE]
    assert contents(tmp_path) == {"a": "a", "b": "b"}
    assert open_files(tmp_path) == []


def open_files(folder: Path) -> list[str]:
    """The file descriptors of this process that refer to the folder, or to a file in it."""
    descriptors = []
    for number in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []:
        try:
            if os.path.realpath(f"/proc/self/fd/{number}").startswith(str(folder)):
                descriptors.append(number)
        except OSError:
            continue
    return descriptors


def test_files_that_cannot_be_written_leave_nothing(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "c.tmp").write_text("in the way")
    assert write(tmp_path, "abcd") == [DONE, UNUSUAL, UNUSUAL, DONE]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c.tmp", "d"]
    assert write(tmp_path / "no", "a") == [UNUSUAL]
    assert write(tmp_path / "a", "a") == [UNUSUAL], "a file is not a directory"
    assert open_files(tmp_path) == []


def test_the_old_file_must_have_the_expected_state(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    assert write(tmp_path, "a", ()) == [ABSENT], "there is a file"
    assert write(tmp_path, "a", (1, 2, 3, 4)) == [ABSENT]
    assert contents(tmp_path) == {"a": "old"}
    before = state(tmp_path / "a")
    with open(tmp_path / "a"):  # as a version does, so that its inode is not used again
        assert write(tmp_path, "a", before) == [DONE]
        assert write(tmp_path, "a", before) == [ABSENT], "it was replaced"
    before = state(tmp_path / "a")
    os.utime(tmp_path / "a", ns=(1, 2))
    assert write(tmp_path, "a", before) == [ABSENT], "it was changed"
    assert write(tmp_path, "b", ()) == [DONE]
    assert contents(tmp_path) == {"a": "a", "b": "b"}


@pytest.mark.parametrize("follow", [False, True])
def test_states_of_links(tmp_path: Path, follow: bool) -> None:
    (tmp_path / "b").write_text("old")
    (tmp_path / "a").symlink_to("b")
    assert write(tmp_path, "a", state(tmp_path / "a"), follow=follow) == [DONE if follow else ABSENT]


@pytest.mark.parametrize("operation", [fcntl.LOCK_SH, fcntl.LOCK_EX])
def test_the_kernel_does_not_wait_long_for_a_lock(tmp_path: Path, operation: int) -> None:
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, operation)
    shared = operation == fcntl.LOCK_SH
    assert write(tmp_path, "a", ()) == [UNUSUAL]
    assert write(tmp_path, "a") == [DONE if shared else UNUSUAL]
    assert sorted(contents(tmp_path)) == (["a"] if shared else [])
    fcntl.flock(other, fcntl.LOCK_UN)
    assert write(tmp_path, "b", ()) == [DONE]
    os.close(other)


def test_a_store_waits_for_the_lock(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("k", b"old")
    written = threading.Event()

    def write() -> None:
        store.set("k", b"new")
        written.set()

    with flock.DirectoryLock(str(tmp_path), shared=False):
        writer = threading.Thread(target=write)
        writer.start()
        assert not written.wait(0.2)
        assert store.get("k") == b"old"
    assert written.wait(60)
    writer.join()
    assert store.get("k") == b"new"


def test_the_holder_of_a_lock_can_write(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("k", b"old")
    with store.lock(["k"]):
        store.set("k", b"new")
        assert store.updates.write("k", b"newer", store.updates.read("k")[1])
    assert store.get("k") == b"newer"


@pytest.mark.parametrize("native", [0, 1])
def test_stores_behave_the_same_with_and_without_the_kernel(tmp_path: Path, native: int) -> None:
    store = LocalStore(tmp_path)
    with omnizarr.config(native=native):
        assert store.updates.write("a/k", b"1", None)
        assert not store.updates.write("a/k", b"2", None)
        version = store.updates.read("a/k")[1]
        assert store.updates.write("a/k", b"3", version)
        assert not store.updates.write("a/k", b"4", version)
        store.set_each([(f"b/{number}", bytes([number])) for number in range(100)])
    assert store.get("a/k") == b"3"
    assert [store.get(f"b/{number}") for number in range(100)] == [bytes([number]) for number in range(100)]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["k"]


@pytest.mark.parametrize(
    "arguments",
    [
        (("x", True, None, False), ["a"], ["b"], []),
        (("x", True, None, False), ["a"], [], [b""]),
        (("x", True, (), False), ["a", "b"], ["c", "d"], [b"", b""]),
        (("x\0", True, None, False), ["a"], ["b"], [b""]),
        (("x", True, None, False), ["a\0"], ["b"], [b""]),
        (("x", True, None, False), ["a"], ["\ud800"], [b""]),
        (("x", True, None, False), ["a"], ["b"], ["text"]),
        (("x", True, [1], False), ["a"], ["b"], [b""]),
        (("x", True, ("1",), False), ["a"], ["b"], [b""]),
        ((b"x", True, None, False), ["a"], ["b"], [b""]),
        (("x", True), ["a"], ["b"], [b""]),
        (("x", True, None, False), "a", "b", [b""]),
    ],
)
def test_invalid_arguments_are_rejected(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, TypeError)):
        kernel().write_files(*arguments)


KILLED_PROGRAM = """
import os, signal, sys, threading, time
from omnizarr.store import LocalStore
store = LocalStore(sys.argv[1])

def write():
    while True:
        store.set("k", b"x")

for _ in range(3):
    threading.Thread(target=write, daemon=True).start()
for _ in range(20):
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def is_free(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_child_holds_no_lock_of_its_parent(tmp_path: Path) -> None:
    """A process forks while its threads write, and is killed; its children live on and hold no lock."""
    for _ in range(3):
        running = subprocess.Popen([sys.executable, "-c", KILLED_PROGRAM, tmp_path], start_new_session=True)
        try:
            assert running.wait(60) == -signal.SIGKILL
            folder = os.open(tmp_path, os.O_RDONLY)
            deadline = time.monotonic() + 30  # the child forked last may not have run its fork handlers yet
            while not is_free(folder) and time.monotonic() < deadline:
                time.sleep(0.01)
            os.close(folder)
            assert time.monotonic() < deadline
        finally:
            os.killpg(running.pid, signal.SIGKILL)
