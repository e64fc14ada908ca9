"""Locks of directories: who is kept out, by which paths, and what is left when their holder dies."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import omnizarr
from omnizarr.errors import OmnizarrWarning, StoreError
from omnizarr.store import LocalStore
from omnizarr.store.local import flock, staged

pytestmark = pytest.mark.skipif(not flock.AVAILABLE, reason="this system has no such locks")


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    store = LocalStore(tmp_path)
    store.set("a/k", b"x")
    return store


def is_free(path: Path, *, shared: bool = False) -> bool:
    """Asked in another thread, for one's own locks are never in the way."""
    found = []

    def ask() -> None:
        try:
            with flock.DirectoryLock(str(path), shared=shared, wait=False):
                found.append(True)
        except BlockingIOError:
            found.append(False)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return found[0]


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_a_lock_keeps_everybody_out_and_a_shared_one_those_who_want_it_alone(store: LocalStore) -> None:
    here = store.path("a")
    assert store.locking
    assert store.updates is not None
    assert store.updates.erases
    with store.lock(["a/k"]):
        assert (is_free(here), is_free(here, shared=True)) == (False, False)
    with store.lock(["a/k"], shared=True):
        assert (is_free(here), is_free(here, shared=True)) == (False, True)
    assert is_free(here)


def test_every_path_to_a_directory_leads_to_the_same_lock(tmp_path: Path) -> None:
    (tmp_path / "real" / "a").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    for one in (LocalStore(tmp_path), LocalStore(tmp_path / "link"), LocalStore(tmp_path / "real" / "a")):
        key = {"link": "a/k", "a": "k"}.get(Path(one.location).name, "real/a/k")
        with one.lock([key]):
            assert not is_free(tmp_path / "link" / "a")


def test_its_holder_writes_and_erases_in_peace(store: LocalStore) -> None:
    with store.lock(["a/k", "b/k", "k"]):
        store.set("a/k", b"y")
        version = store.updates.read("a/k")[1]
        assert store.updates.write("a/k", b"z", version)
        assert not store.updates.erase("a/k", version)
        store.erase("a/k")
        store.set("b/k", b"1")
    assert files(Path(store.location)) == ["b", "b/k"]


def test_who_holds_the_shared_side_writes_whole_values_and_compares_none(store: LocalStore) -> None:
    with store.lock(["a/k"], shared=True):
        store.set("a/k", b"y")
        with pytest.raises(StoreError, match="shared side"):
            store.updates.write("a/k", b"z", store.updates.read("a/k")[1])
        store.erase("a/k")
        assert store.path("a").is_dir(), "others may be about to write there"
    assert store.get("a/k") is None


def test_directories_that_are_made_for_a_lock_go_with_it(store: LocalStore) -> None:
    with store.lock(["new/deep/k", "a/k"]):
        assert not is_free(store.path("new/deep"))
    assert files(Path(store.location)) == ["a", "a/k"]


def test_a_directory_that_somebody_has_locked_is_not_removed(store: LocalStore) -> None:
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


def test_who_waits_for_a_directory_that_is_removed_gets_the_new_one(store: LocalStore) -> None:
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
    assert files(Path(store.location)) == []


def test_a_directory_that_was_made_anew_is_not_the_one_that_was_seen(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    seen = flock.identity(os.stat(tmp_path / "a"))
    (tmp_path / "a").rename(tmp_path / "b")  # not removed, or the new one might be given its number
    (tmp_path / "a").mkdir()
    with flock.DirectoryLock(
        str(tmp_path / "a"), shared=False, expected=flock.identity(os.stat(tmp_path / "a"))
    ) as held:
        assert held.still_there()
        # Waiting for a re-created directory could deadlock, so that a changed identity is refused before.
        with pytest.raises(FileNotFoundError):
            flock.DirectoryLock(str(tmp_path / "a"), shared=False, expected=seen)


def test_locks_of_many_directories_do_not_wait_for_each_other_in_a_circle(store: LocalStore) -> None:
    # All but `a` are made for a lock and go with it, so that their numbers change all the time.
    keys = [f"{name}/k" for name in "abcdef"]
    usual = sys.getswitchinterval()

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
            assert not thread.is_alive(), "they wait for each other"
    finally:
        sys.setswitchinterval(usual)


@pytest.mark.parametrize("act", ["erase", "erase_prefix", "prune"])
def test_who_gets_the_lock_of_a_directory_that_was_replaced_takes_that_of_the_new_one(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    folder, real = store.path("a"), flock.fcntl.flock

    def too_late(file: int, how: int) -> None:
        if how != flock.fcntl.LOCK_UN:
            monkeypatch.setattr(flock.fcntl, "flock", real)  # once: somebody was quicker
            folder.rename(store.path("old"))
            folder.mkdir()
            if act != "prune":
                store.path("a/k").write_bytes(b"new")
        real(file, how)

    checked = []

    def check(path: str) -> bool:
        checked.append(is_free(folder))
        return True

    monkeypatch.setattr(flock.fcntl, "flock", too_late)
    if act == "prune":
        monkeypatch.setattr(os, "rmdir", check)
        store._locks.remove_empty(f"{folder}{os.sep}")
    else:
        monkeypatch.setattr("omnizarr.store.local.files.remove", check)
        getattr(store, act)("a/k" if act == "erase" else "a/")
    assert checked == [False], "it would be removed under a lock that nobody else sees"


HOLDER = """
import sys, time
from omnizarr.store import LocalStore
store = LocalStore(sys.argv[1])
with store.lock(["a/k"]), store.task_lock("a/k") as task:
    task.begin()
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_a_lock_ends_with_its_holder_and_leaves_nothing_to_be_seen(store: LocalStore) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, store.location], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert not is_free(store.path("a"))
        holder.kill()
    with store.lock(["a/k"]):
        store.set("a/k", b"y")
    assert list(store.list()) == ["a/k"]
    with store.task_lock("a/k") as task_lock:
        assert task_lock.broken, "it died at its turn"
    assert files(store.path("a")) == ["k"]


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
    with memory.lock(["k"]): memory.set("k", b"x")  # its own, and nobody holds it any more
    os.write(1, b"%d\\n" % os.getppid())
    assert store.updates.write("k", b"x", None)  # waits for the parent
    os.write(1, b"done\\n")
    os._exit(0)
time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_waits_for_its_parent_and_does_not_keep_the_lock_of_one_that_is_killed(store: LocalStore) -> None:
    with subprocess.Popen([sys.executable, "-c", FORKING, store.location], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) == parent.pid
        assert store.get("k") is None
        parent.kill()
        assert parent.stdout.readline() == b"done\n"
    assert store.get("k") == b"x"


def test_without_locks_threads_of_one_process_still_agree(tmp_path: Path) -> None:
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


def test_the_setting_turns_them_off(tmp_path: Path) -> None:
    with omnizarr.config(locking=0):
        assert not LocalStore(tmp_path).locking
        assert LocalStore(tmp_path, locking=True).locking
    found = omnizarr.create_group(tmp_path.as_uri(), storage_options={"locking": False}).store
    assert not found.locking
    assert found.parent() is not None
    assert not found.parent()[0].locking


def refusing(*_: object) -> Any:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_a_file_system_without_locks_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flock.fcntl, "flock", refusing)
    monkeypatch.setattr(staged, "publish", lambda *_, **__: 0)  # which is refused as well
    store = LocalStore(tmp_path)
    with pytest.warns(OmnizarrWarning, match="file system without locks"):
        store.set("k", b"x")
    store.set("k", b"y")
    assert store.get("k") == b"y"
    assert not store.locking
    patient = LocalStore(tmp_path)
    patient._locks._check_file_system()  # a check is not the same as `locking=True`
    with pytest.warns(OmnizarrWarning, match="file system without locks"):
        patient.set("k", b"y")
    with pytest.raises(StoreError, match="cannot be locked") as caught:
        LocalStore(tmp_path, locking=True).set("k", b"z")
    assert "locking=False" in str(caught.value)


def test_a_file_system_of_several_machines_is_told_of_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flock, "file_system", lambda path: "nfs4")
    store = LocalStore(tmp_path)
    store.set("k", b"x")  # whole writes lose nothing
    with pytest.warns(OmnizarrWarning, match="nfs4"):
        store.updates.write("k", b"y", store.updates.read("k")[1])
    store.updates.write("k", b"z", store.updates.read("k")[1])
    insisting = LocalStore(tmp_path, locking=True)
    assert insisting.updates.write("k", b"!", insisting.updates.read("k")[1])


def test_file_systems() -> None:
    assert [flock.is_network(kind) for kind in ("nfs4", "fuse.sshfs", "lustre", "ext4", "tmpfs", "")] == (
        [True] * 3 + [False] * 3
    )
    assert flock.file_system("/does/not/exist") == ""
    if sys.platform == "linux":
        assert flock.file_system("/proc") == "proc"
