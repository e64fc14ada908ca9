"""Directory locks: exclusion, paths of one directory, crashes of the holder, and file systems without locks."""

from __future__ import annotations

import errno
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
from omnizarr.errors import OmnizarrWarning, StoreError
from omnizarr.store import LocalStore
from omnizarr.store.local import file_writer, flock

pytestmark = pytest.mark.skipif(not flock.AVAILABLE, reason="this platform has no flock")


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    store = LocalStore(tmp_path)
    store.set("a/k", b"x")
    return store


def is_free(path: Path, *, shared: bool = False) -> bool:
    """Whether another thread can lock the directory. The locks of the calling thread never block it."""
    answers = []

    def try_lock() -> None:
        try:
            with flock.DirectoryLock(str(path), shared=shared, wait=False):
                answers.append(True)
        except BlockingIOError:
            answers.append(False)

    thread = threading.Thread(target=try_lock)
    thread.start()
    thread.join()
    return answers[0]


def all_paths(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_exclusive_and_shared_locks(store: LocalStore) -> None:
    folder = store.path("a")
    assert store.locking
    assert store.updates is not None
    assert store.updates.erases
    with store.lock(["a/k"]):
        assert (is_free(folder), is_free(folder, shared=True)) == (False, False)
    with store.lock(["a/k"], shared=True):
        assert (is_free(folder), is_free(folder, shared=True)) == (False, True)
    assert is_free(folder)


def test_all_paths_of_a_directory_share_one_lock(tmp_path: Path) -> None:
    (tmp_path / "real" / "a").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    for one in (LocalStore(tmp_path), LocalStore(tmp_path / "link"), LocalStore(tmp_path / "real" / "a")):
        key = {"link": "a/k", "a": "k"}.get(Path(one.location).name, "real/a/k")
        with one.lock([key]):
            assert not is_free(tmp_path / "link" / "a")


def test_the_holder_of_a_lock_can_write_and_erase(store: LocalStore) -> None:
    with store.lock(["a/k", "b/k", "k"]):
        store.set("a/k", b"y")
        version = store.updates.read("a/k")[1]
        assert store.updates.write("a/k", b"z", version)
        assert not store.updates.erase("a/k", version)
        store.erase("a/k")
        store.set("b/k", b"1")
    assert all_paths(Path(store.location)) == ["b", "b/k"]


def test_the_holder_of_a_shared_lock_can_set_but_not_update(store: LocalStore) -> None:
    with store.lock(["a/k"], shared=True):
        store.set("a/k", b"y")
        with pytest.raises(StoreError, match="shared side"):
            store.updates.write("a/k", b"z", store.updates.read("a/k")[1])
        store.erase("a/k")
        assert store.path("a").is_dir(), "other holders may be about to write to it"
    assert store.get("a/k") is None


def test_directories_created_for_a_lock_are_removed_with_it(store: LocalStore) -> None:
    with store.lock(["new/deep/k", "a/k"]):
        assert not is_free(store.path("new/deep"))
    assert all_paths(Path(store.location)) == ["a", "a/k"]


def test_a_locked_directory_is_not_removed(store: LocalStore) -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with store.lock(["a/other"], shared=True):
            held.set()
            done.wait()
            store.set("a/other", b"y")

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    store.erase("a/k")
    assert store.path("a").is_dir()
    done.set()
    thread.join()
    assert store.get("a/other") == b"y"


def test_a_thread_that_waits_for_a_removed_directory_locks_the_new_one(store: LocalStore) -> None:
    started = threading.Event()

    def wait() -> None:
        started.set()
        with store.lock(["a/k"]):
            assert not is_free(store.path("a"))

    thread = threading.Thread(target=wait)
    with store.lock(["a/k"]):
        thread.start()
        started.wait()
        store.erase("a/k")
    thread.join()
    assert all_paths(Path(store.location)) == []


def test_a_recreated_directory_has_another_identity(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    before = flock.identity(os.stat(tmp_path / "a"))
    (tmp_path / "a").rename(tmp_path / "b")  # renamed, because removing it would free its inode number
    (tmp_path / "a").mkdir()
    with flock.DirectoryLock(
        str(tmp_path / "a"), shared=False, expected=flock.identity(os.stat(tmp_path / "a"))
    ) as held:
        assert held.still_there()
        # Locking a re-created directory breaks the lock order and can deadlock; a changed identity is an error.
        with pytest.raises(FileNotFoundError):
            flock.DirectoryLock(str(tmp_path / "a"), shared=False, expected=before)


def test_locks_of_many_directories_do_not_deadlock(store: LocalStore) -> None:
    # All directories but `a` are created for a lock and removed with it, so their inode numbers keep changing.
    keys = [f"{name}/k" for name in "abcdef"]
    interval = sys.getswitchinterval()

    def work(order: int) -> None:
        for _ in range(100):
            with store.lock(keys[::order]):
                pass

    threads = [threading.Thread(target=work, args=(order,), daemon=True) for order in (1, -1, 2, -2)]
    try:
        sys.setswitchinterval(1e-5)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
            assert not thread.is_alive(), "deadlock"
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("method", ["erase", "erase_prefix", "prune"])
def test_a_directory_replaced_before_it_is_locked_is_locked_again(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    folder, real = store.path("a"), flock.fcntl.flock

    def replace_first(file: int, operation: int) -> None:
        if operation != flock.fcntl.LOCK_UN:
            monkeypatch.setattr(flock.fcntl, "flock", real)  # only the first call
            folder.rename(store.path("old"))
            folder.mkdir()
            if method != "prune":
                store.path("a/k").write_bytes(b"new")
        real(file, operation)

    was_free = []

    def check(path: str) -> bool:
        was_free.append(is_free(folder))
        return True

    monkeypatch.setattr(flock.fcntl, "flock", replace_first)
    if method == "prune":
        monkeypatch.setattr(os, "rmdir", check)
        store._locks.remove_empty(f"{folder}{os.sep}")
    else:
        monkeypatch.setattr("omnizarr.store.local.files.remove", check)
        getattr(store, method)("a/k" if method == "erase" else "a/")
    assert was_free == [False], "the new directory must be locked while it is removed"


HOLDER = """
import sys, time
from omnizarr.store import LocalStore
store = LocalStore(sys.argv[1])
with store.lock(["a/k"]), store.task_lock("a/k") as task:
    task.begin()
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this platform has no SIGKILL")
def test_a_killed_holder_releases_its_locks_and_leaves_no_files(store: LocalStore) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, store.location], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert not is_free(store.path("a"))
        holder.kill()
    with store.lock(["a/k"]):
        store.set("a/k", b"y")
    assert list(store.list()) == ["a/k"]
    with store.task_lock("a/k") as task_lock:
        assert task_lock.broken, "its holder crashed midway"
    assert all_paths(store.path("a")) == ["k"]


FORKING = """
import os, sys, threading, time, warnings
from omnizarr.store import LocalStore, MemoryStore
warnings.simplefilter("ignore")
store, memory = LocalStore(sys.argv[1]), MemoryStore()
held, done = threading.Event(), threading.Event()
def hold():
    with store.lock(["k"]), memory.lock(["k"]):
        held.set(); done.wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    with memory.lock(["k"]): memory.set("k", b"x")  # the child's copy, which no thread holds
    os.write(1, b"%d\\n" % os.getppid())
    assert store.updates.write("k", b"x", None)  # waits for the parent
    os.write(1, b"done\\n")
    os._exit(0)
time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_child_waits_for_the_lock_of_its_parent_until_that_is_killed(store: LocalStore) -> None:
    with subprocess.Popen([sys.executable, "-c", FORKING, store.location], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) == parent.pid
        assert store.get("k") is None
        parent.kill()
        assert parent.stdout.readline() == b"done\n"
    assert store.get("k") == b"x"


def test_without_file_locks_threads_of_one_process_lose_no_update(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, locking=False)
    assert (store.locking, store.updates) == (False, None)
    z = omnizarr.create_array(store, shape=64, dtype="i4", chunks=64)

    def work(number: int) -> None:
        for index in range(number, 64, 4):
            z[index] = index + 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert z[...].tolist() == list(range(1, 65))
    z.append([65])
    assert z.shape == (65,)


def test_the_locking_options(tmp_path: Path) -> None:
    with omnizarr.config(locking=0):
        assert not LocalStore(tmp_path).locking
        assert LocalStore(tmp_path, locking=True).locking
    store = omnizarr.create_group(tmp_path.as_uri(), storage_options={"locking": False}).store
    assert not store.locking
    assert store.parent() is not None
    assert not store.parent()[0].locking


def no_locks(*_: object) -> Any:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_a_file_system_without_locks_causes_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flock.fcntl, "flock", no_locks)
    monkeypatch.setattr(file_writer, "kernel", lambda: None)  # the kernel gets no lock either
    store = LocalStore(tmp_path)
    with pytest.warns(OmnizarrWarning, match="file system without locks"):
        store.set("k", b"x")
    store.set("k", b"y")
    assert store.get("k") == b"y"
    assert not store.locking
    checked = LocalStore(tmp_path)
    checked._locks._check_file_system()  # the check alone must not require locks
    with pytest.warns(OmnizarrWarning, match="file system without locks"):
        checked.set("k", b"y")
    with pytest.raises(StoreError, match="cannot be locked") as caught:
        LocalStore(tmp_path, locking=True).set("k", b"z")
    assert "locking=False" in str(caught.value)


def test_a_network_file_system_causes_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flock, "file_system", lambda path: "nfs4")
    store = LocalStore(tmp_path)
    store.set("k", b"x")  # `set` needs no lock between machines
    with pytest.warns(OmnizarrWarning, match="nfs4"):
        store.updates.write("k", b"y", store.updates.read("k")[1])
    store.updates.write("k", b"z", store.updates.read("k")[1])
    required = LocalStore(tmp_path, locking=True)
    assert required.updates.write("k", b"!", required.updates.read("k")[1])


def test_file_systems() -> None:
    assert [flock.is_network(kind) for kind in ("nfs4", "fuse.sshfs", "lustre", "ext4", "tmpfs", "")] == (
        [True] * 3 + [False] * 3
    )
    assert flock.file_system("/does/not/exist") == ""
    if sys.platform == "linux":
        assert flock.file_system("/proc") == "proc"


@pytest.mark.filterwarnings("ignore:.*file system without locks")
def test_updates_on_a_file_system_that_turns_out_to_have_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The threads of the process still agree: a comparison and its rename are not interrupted."""
    monkeypatch.setattr(flock.fcntl, "flock", no_locks)
    monkeypatch.setattr(file_writer, "kernel", lambda: None)
    store = LocalStore(tmp_path)
    updates = store.updates  # before the first lock shows that there are none
    assert updates is not None
    compared = file_writer.FileWriter._has_version
    started = threading.Barrier(2)

    def slow(writer: Any, path: str, version: Any) -> bool:
        same = compared(writer, path, version)
        time.sleep(0.02)
        return same

    monkeypatch.setattr(file_writer.FileWriter, "_has_version", slow)
    done: list[bool] = []

    def work(value: bytes) -> None:
        started.wait()
        done.append(updates.write("k", value, None))

    threads = [threading.Thread(target=work, args=(value,)) for value in (b"1", b"2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [False, True]
    assert store.updates is None
    _, version = updates.read("k") or (None, None)
    assert not updates.erase("k", None)
    assert updates.erase("k", version)


@pytest.mark.filterwarnings("ignore:.*file system without locks")
def test_a_lock_on_a_file_system_that_turns_out_to_have_none_holds_for_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flock.fcntl, "flock", no_locks)
    store = LocalStore(tmp_path)
    entered = threading.Event()

    def work() -> None:
        with LocalStore(tmp_path / "a", locking=False).lock(["k"]):
            entered.set()

    with store.lock(["a/k"]):
        thread = threading.Thread(target=work)
        thread.start()
        assert not entered.wait(0.05)
    thread.join()
    assert entered.is_set()


FORKING_AFTER_OPEN = """
import os, sys, threading, time, warnings
from omnizarr.store import LocalStore
warnings.simplefilter("ignore")
system_open = os.open
def open_and_fork(*arguments):
    file = system_open(*arguments)
    os.open = system_open  # only the first call
    def fork():
        if os.fork() == 0:
            os.write(1, b"%d\\n" % os.getpid())
            time.sleep(60)
            os._exit(0)
    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    return file
store = LocalStore(sys.argv[1])
os.open = open_and_fork
with store.lock(["k"]):
    os.write(1, b"0\\n")
    time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_child_forked_just_after_the_lock_file_was_opened_keeps_no_lock(store: LocalStore) -> None:
    """The child has a descriptor that it does not know of, and so cannot close."""
    store.set("k", b"x")
    with subprocess.Popen([sys.executable, "-c", FORKING_AFTER_OPEN, store.location], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = max(int(parent.stdout.readline()), int(parent.stdout.readline()))
        try:
            assert not is_free(Path(store.location))
            parent.kill()
            parent.wait()
            assert is_free(Path(store.location)), "the child, which lives, keeps the lock"
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_lock_file_stays_registered_until_it_is_unlocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that is forked in between closes only registered files. Otherwise it would keep the lock of a parent that
    is killed."""
    registered = []
    system_flock = flock.fcntl.flock

    def watched(file: int, operation: int) -> None:
        if operation == flock.fcntl.LOCK_UN:
            registered.append([file] in flock._open_files.values())
        system_flock(file, operation)

    monkeypatch.setattr(flock.fcntl, "flock", watched)
    with flock.DirectoryLock(str(tmp_path), shared=False):
        pass
    assert registered == [True]
    assert not flock._open_files
