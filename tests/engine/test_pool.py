"""The thread pool shares work between threads, and its helper threads between callers."""

from __future__ import annotations

import threading
import time
from contextvars import copy_context
from typing import Any

import pytest

import omnizarr
from omnizarr.engine import pool


def test_an_error_stops_all_threads() -> None:
    done: list[int] = []

    def work(item: int) -> None:
        if item == 3:
            raise ValueError("three")
        done.append(item)

    with pytest.raises(ValueError, match="three"):
        pool.run(range(1_000_000), lambda: work, 4)
    assert len(done) < 100_000


def test_caller_first_works_without_helpers_until_it_waits() -> None:
    names: list[str] = []

    def work(item: int) -> bool:
        names.append(threading.current_thread().name)
        return item == 50

    pool.run(range(51), lambda: work, 4, caller_first=True)
    assert len(set(names)) == 1
    names.clear()
    started = threading.Barrier(2, timeout=10)

    def wait(item: int) -> bool:
        names.append(threading.current_thread().name)
        if item > 0:
            started.wait()  # passes only if two threads work
        return True

    pool.run(range(3), lambda: wait, 2, caller_first=True)
    assert len(set(names)) == 2


def test_concurrent_callers_share_the_helper_threads() -> None:
    """With 2 threads configured, 8 calling threads have at most one helper together."""
    most = busy = 0
    lock = threading.Lock()

    def work(_: int) -> None:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        time.sleep(0.002)
        with lock:
            busy -= 1

    with omnizarr.config(threads=2):
        callers = [
            threading.Thread(target=copy_context().run, args=(pool.run, range(20), lambda: work, 2)) for _ in range(8)
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert most <= 9
    assert pool._reserved == 0


def test_callers_count_as_helpers_of_each_other() -> None:
    """With 4 threads configured, a caller has 3 helpers; while it works without them, a second one has 2."""
    granted: list[int] = []

    def work(count: int) -> None:
        granted.append(count)
        if len(granted) < 5:
            thread = threading.Thread(target=copy_context().run, args=(pool.run_native, 1 + len(granted), work))
            thread.start()
            thread.join()

    with omnizarr.config(threads=4):
        pool.run_native(1, work)
    assert granted == [1, 1, 0, 0, 0]  # caller, helper, caller, helper, caller …
    assert (pool._reserved, pool._callers) == (0, 0)


def test_work_is_done_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoThreads:
        def submit(self, *args: Any) -> Any:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pool, "_pool", NoThreads)
    done: list[int] = []
    pool.run(range(10), lambda: done.append, 4)
    assert done == list(range(10))
