"""Names under a lock, by the compiled code: the same as by Python, or nothing at all."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import omnizarr
from omnizarr.native import kernel
from omnizarr.store import LocalStore
from omnizarr.store.local import flock
from omnizarr.store.local.staged import publish

pytestmark = pytest.mark.skipif(kernel() is None, reason="there is no compiled code here")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    return tmp_path


def paths(folder: Path, **names: str) -> tuple[list[str], list[str]]:
    return [str(folder / old) for old in names], [str(folder / new) for new in names.values()]


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def test_files_get_their_names(folder: Path) -> None:
    (folder / "b").write_text("old")
    assert publish(str(folder), paths(folder, one="a", two="b"), None, follow=False) == 2
    assert contents(folder) == {"a": "one", "b": "two"}
    assert open_files(folder) == []


def open_files(folder: Path) -> list[str]:
    """Those of this process that are that directory."""
    found = []
    for number in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []:
        try:
            if os.path.realpath(f"/proc/self/fd/{number}") == str(folder):
                found.append(number)
        except OSError:
            continue
    return found


def test_as_many_as_there_are(folder: Path) -> None:
    assert publish(str(folder), paths(folder, one="a", missing="b", two="c"), None, follow=False) == 1
    assert contents(folder) == {"a": "one", "two": "two"}
    assert publish(str(folder / "no"), paths(folder, two="c"), None, follow=False) == 0
    assert publish(str(folder / "a"), paths(folder, two="c"), None, follow=False) == 0, "that is no directory"


def test_only_if_it_is_as_expected(folder: Path) -> None:
    store = LocalStore(folder)
    version = store.updates.read("two")[1]
    assert publish(str(folder), paths(folder, one="two"), (None,), follow=False) == 0
    assert publish(str(folder), paths(folder, one="two"), ("another kind",), follow=False) == 0  # type: ignore[arg-type]
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
def test_links_are_looked_at_or_followed(folder: Path, follow: bool) -> None:
    (folder / "link").symlink_to("two")
    version = LocalStore(folder, follow_symlinks=True).updates.read("link")[1]
    assert publish(str(folder), paths(folder, one="link"), (version,), follow=follow) == int(follow)


@pytest.mark.parametrize("how", [fcntl.LOCK_SH, fcntl.LOCK_EX])
def test_it_waits_for_nobody(folder: Path, how: int) -> None:
    other = os.open(folder, os.O_RDONLY)
    fcntl.flock(other, how)
    shared = how == fcntl.LOCK_SH
    assert publish(str(folder), paths(folder, one="a"), (None,), follow=False) == 0
    assert publish(str(folder), paths(folder, one="a"), None, follow=False) == int(shared)
    fcntl.flock(other, fcntl.LOCK_UN)
    assert publish(str(folder), paths(folder, two="b"), (None,), follow=False) == 1
    os.close(other)


def test_a_store_waits_then(tmp_path: Path) -> None:
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


def test_who_has_the_lock_goes_on(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("k", b"old")
    with store.lock(["k"]):
        store.set("k", b"new")
        assert store.updates.write("k", b"newer", store.updates.read("k")[1])
    assert store.get("k") == b"newer"


@pytest.mark.parametrize("native", [0, 1])
def test_stores_do_the_same_with_it_and_without(tmp_path: Path, native: int) -> None:
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
def test_nonsense_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, TypeError)):
        kernel().publish(*arguments)


KILLED = """
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_child_keeps_no_lock(tmp_path: Path) -> None:
    """Whoever was forked while others wrote lives on when its parent is killed, and nothing is locked."""
    for _ in range(3):
        running = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], start_new_session=True)
        try:
            assert running.wait(60) == -signal.SIGKILL
            folder = os.open(tmp_path, os.O_RDONLY)
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(folder)
        finally:
            os.killpg(running.pid, signal.SIGKILL)
