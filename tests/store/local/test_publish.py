"""`publish`: the kernel renames temporary files under a directory lock; if it cannot, Python does."""

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
from omnizarr.native import kernel
from omnizarr.store import LocalStore
from omnizarr.store.local import flock
from omnizarr.store.local.staged import publish

pytestmark = pytest.mark.skipif(kernel() is None, reason="the kernel is not compiled")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    return tmp_path


def paths(folder: Path, **names: str) -> tuple[list[str], list[str]]:
    return [str(folder / old) for old in names], [str(folder / new) for new in names.values()]


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def test_publish_renames_all_files(folder: Path) -> None:
    (folder / "b").write_text("old")
    assert publish(str(folder), paths(folder, one="a", two="b"), None, follow=False) == 2
    assert contents(folder) == {"a": "one", "b": "two"}
    assert open_files(folder) == []


def open_files(folder: Path) -> list[str]:
    """The file descriptors of this process that refer to the folder."""
    descriptors = []
    for number in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []:
        try:
            if os.path.realpath(f"/proc/self/fd/{number}") == str(folder):
                descriptors.append(number)
        except OSError:
            continue
    return descriptors


def test_publish_stops_at_the_first_missing_file(folder: Path) -> None:
    assert publish(str(folder), paths(folder, one="a", missing="b", two="c"), None, follow=False) == 1
    assert contents(folder) == {"a": "one", "two": "two"}
    assert publish(str(folder / "no"), paths(folder, two="c"), None, follow=False) == 0
    assert publish(str(folder / "a"), paths(folder, two="c"), None, follow=False) == 0, "a file is not a directory"


def test_publish_requires_the_expected_version(folder: Path) -> None:
    store = LocalStore(folder)
    version = store.updates.read("two")[1]
    assert publish(str(folder), paths(folder, one="two"), (None,), follow=False) == 0
    assert publish(str(folder), paths(folder, one="two"), ("not a version",), follow=False) == 0  # type: ignore[arg-type]
    assert contents(folder) == {"one": "one", "two": "two"}
    assert publish(str(folder), paths(folder, one="two"), (version,), follow=False) == 1
    (folder / "one").write_text("again")
    assert publish(str(folder), paths(folder, one="two"), (version,), follow=False) == 0, "it was replaced"
    version = store.updates.read("two")[1]
    os.utime(folder / "two", ns=(1, 2))
    assert publish(str(folder), paths(folder, one="two"), (version,), follow=False) == 0, "it was changed"
    assert publish(str(folder), paths(folder, one="three"), (None,), follow=False) == 1
    assert contents(folder) == {"three": "again", "two": "one"}


@pytest.mark.parametrize("follow", [False, True])
def test_versions_of_links(folder: Path, follow: bool) -> None:
    (folder / "link").symlink_to("two")
    version = LocalStore(folder, follow_symlinks=True).updates.read("link")[1]
    assert publish(str(folder), paths(folder, one="link"), (version,), follow=follow) == int(follow)


@pytest.mark.parametrize("operation", [fcntl.LOCK_SH, fcntl.LOCK_EX])
def test_publish_never_waits_for_a_lock(folder: Path, operation: int) -> None:
    other = os.open(folder, os.O_RDONLY)
    fcntl.flock(other, operation)
    shared = operation == fcntl.LOCK_SH
    assert publish(str(folder), paths(folder, one="a"), (None,), follow=False) == 0
    assert publish(str(folder), paths(folder, one="a"), None, follow=False) == int(shared)
    fcntl.flock(other, fcntl.LOCK_UN)
    assert publish(str(folder), paths(folder, two="b"), (None,), follow=False) == 1
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
        ("x", [], [], None, False),
        ("x", ["a"], [], None, False),
        ("x", ["a", "b"], ["c", "d"], (), False),
        ("x\0", ["a"], ["b"], None, False),
        ("x", ["a\0"], ["b"], None, False),
        ("x", ["a"], ["\ud800"], None, False),
        ("x", ["a"], ["b"], [1], False),
        ("x", ["a"], ["b"], ("1",), False),
        (b"x", ["a"], ["b"], None, False),
        ("x", "a", "b", None, False),
    ],
)
def test_invalid_arguments_are_rejected(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, TypeError)):
        kernel().publish(*arguments)


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
