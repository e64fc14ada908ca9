"""Temporary files of live and crashed writers of a LocalStore."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.store.local.temp_files import all_paths, leave_temp_file

from omnizarr.errors import InvalidKeyError, ReadOnlyError
from omnizarr.store import LocalStore
from omnizarr.store.local import temp_names


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_uses_its_own_temporary_names():
    temp_names.new_name()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, temp_names.new_name().encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert f"-{child}-" in os.read(read, 1000).decode()
    assert f"-{os.getpid()}-" in temp_names.new_name()
    os.close(read)
    os.close(write)


def test_erase_prefix_keeps_temporary_files_of_live_writers(store: LocalStore):
    store.set("a/k", b"x")
    temp_file = leave_temp_file(store.path("a"), process=os.getpid())
    store.erase_prefix("a/")
    assert temp_file.exists()
    assert list(store.list()) == []


# -- temporary files of crashed writers


def test_keys_that_look_like_temporary_files_are_rejected(store: LocalStore):
    name = temp_names.new_name()
    for key in (name, f"a/{name}", f"{name}/k"):
        for operation in (store.get, store.exists, store.erase, lambda key: store.set(key, b"x")):
            with pytest.raises(InvalidKeyError, match="being written"):
                operation(key)
    store.set(".omnizarr", b"an ordinary key")
    assert list(store.list()) == [".omnizarr"]


@pytest.mark.skipif(os.name == "nt", reason="on Windows only the age of a file decides")
def test_temporary_files_of_crashed_writers_are_hidden_and_swept(store: LocalStore):
    store.set("a/k", b"x")
    for operation in (
        lambda: list(store.list()),
        lambda: store.list_dir("a/"),
        lambda: store.erase_prefix("a/"),
        store.sweep,
    ):
        store.set("a/k", b"x")
        temp_file = leave_temp_file(store.path("a"))
        reader = LocalStore(store.location, read_only=True)
        assert list(reader.list()) == ["a/k"]
        assert reader.list_dir("a/") == (["a/k"], [])
        assert temp_file.exists(), "a read-only store removes nothing"
        operation()
        assert not temp_file.exists()
    with pytest.raises(ReadOnlyError):
        reader.sweep()


@pytest.mark.skipif(os.name == "nt", reason="on Windows only the age of a file decides")
def test_sweep_removes_directories_that_become_empty(store: LocalStore):
    leave_temp_file(Path(store.location) / "a" / "b")
    store.sweep()
    assert all_paths(Path(store.location)) == []


def test_sweep_keeps_files_of_live_writers_and_other_hosts(store: LocalStore):
    root = Path(store.location)
    ours = leave_temp_file(root, process=os.getpid())
    another_host = leave_temp_file(root, host="0123456789ab")
    store.sweep()
    assert ours.exists()
    assert another_host.exists()
    assert list(store.list()) == []


def test_sweep_removes_every_temporary_file_older_than_a_day(store: LocalStore):
    root = Path(store.location)
    temp_files = [
        leave_temp_file(root, host="0123456789ab", age=90_000),
        leave_temp_file(root, process=2**70, age=90_000),
    ]
    store.sweep()
    assert not any(path.exists() for path in temp_files)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this platform has no SIGKILL")
def test_a_killed_writer_leaves_no_visible_change(store: LocalStore):
    store.set("a/k", b"old")
    program = (
        "import os, sys, time\n"
        "import omnizarr\n"
        "from omnizarr.store import LocalStore\n"
        "def stopped(*paths):\n"
        "    print('written', flush=True)\n"
        "    time.sleep(60)\n"
        "os.replace = stopped\n"
        "omnizarr.config.set(native=0)\n"
        "LocalStore(sys.argv[1]).set('a/k', b'new' * 1000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, store.location], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"written\n"
        assert len(all_paths(store.path("a"))) == 2
        assert list(store.list()) == ["a/k"], "hidden, and not swept while its writer lives"
        assert len(all_paths(store.path("a"))) == 2
        writer.kill()
    assert store.get("a/k") == b"old"
    assert list(store.list()) == ["a/k"]
    assert all_paths(store.path("a")) == ["k"]
