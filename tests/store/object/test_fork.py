"""Forks of a process that used obstore: the child reads and writes, and the parent continues to work."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from obstore.store import MemoryStore, S3Store
from tests.servers.running import RunningServer

import omnizarr
from omnizarr.errors import LocationError
from omnizarr.store import ObjectStore

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork"),
    # Python warns about forks of a process with threads, which these tests do on purpose.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def _in_child(work: Callable[[], bool], seconds: float = 60) -> None:
    """Fail unless `work` returns True in a child process within `seconds`."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 2
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


def test_a_child_reads_and_writes(s3: RunningServer) -> None:
    url, data = s3.new(), np.arange(100)
    z = omnizarr.create_array(url, data=data, chunks=5, storage_options=s3.options)
    assert (z[...] == data).all()

    def work() -> bool:
        z[:10] = -1
        return bool((z[10:] == data[10:]).all()) and bool((z[:10] == -1).all())

    for _ in range(2):
        _in_child(work)
        assert (z[10:] == data[10:]).all()  # the parent still works
    assert (z[:10] == -1).all()


def test_grandchildren_and_stores_of_client_objects(s3: RunningServer) -> None:
    client = S3Store("bucket", config=s3.options, client_options={"allow_http": True}, prefix=f"fork-{os.getpid()}")
    store = ObjectStore(client)
    store.set("a", b"1")

    def read() -> bool:
        return bytes(store.get("a") or b"") == b"1"

    def work() -> bool:
        if not read():
            return False
        _in_child(read)
        return read()

    _in_child(work)
    assert read()


def test_a_client_that_cannot_be_created_again_is_an_error() -> None:
    store = ObjectStore(MemoryStore())
    store.set("a", b"1")

    def work() -> bool:
        try:
            store.get("a")
        except LocationError as error:
            return "spawn" in str(error)
        return False

    _in_child(work)
    assert bytes(store.get("a") or b"") == b"1"


def test_fork_while_threads_read(s3: RunningServer) -> None:
    data = np.arange(200)
    z = omnizarr.create_array(s3.new(), data=data, chunks=10, storage_options=s3.options)
    ended = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not ended.is_set():
            if not (z[...] == data).all():
                wrong.append(1)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(4):
            _in_child(lambda: bool((z[...] == data).all()))
    finally:
        ended.set()
        for reader in readers:
            reader.join(60)
    assert not any(reader.is_alive() for reader in readers)
    assert not wrong
