"""The thread pool: worker threads take items from one shared queue, and the calling thread works with them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from contextvars import copy_context
from typing import TYPE_CHECKING, Generic, TypeVar

from omnizarr._fork import import_library
from omnizarr.config import config
from omnizarr.engine.cancel import current_token
from omnizarr.store.deadline import current_deadline

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["run", "run_native", "submit"]

T = TypeVar("T")

_MAX_THREADS = 256


class _SharedItems(Generic[T]):
    """An iterator that several threads share."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self._lock = threading.RLock()
        self._stopped = False

    def take(self) -> T | None:
        """The next item; None at the end or after `stop`."""
        with self._lock:
            return None if self._stopped else next(self._items, None)

    def stop(self) -> None:
        self._stopped = True


_executor: ThreadPoolExecutor | None = None
_executor_pid = 0
_executor_lock = threading.RLock()
_current = threading.local()  # `in_pool` is true while this thread works on items


def _pool() -> ThreadPoolExecutor:
    """The one pool, started when first needed. A forked child has no threads of its parent and starts its own pool."""
    global _executor, _executor_pid
    with _executor_lock:
        if _executor is None or _executor_pid != os.getpid():
            futures = import_library("concurrent.futures")  # lazy import: large reads only
            _executor = futures.ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="omnizarr")
            _executor_pid = os.getpid()
        return _executor


_reserved = 0  # helper threads in use, by all callers together
_callers = 0  # threads of the program that work on items


def _reset_in_child() -> None:
    global _executor_lock, _reserved, _callers
    _executor_lock = threading.RLock()
    _reserved = _callers = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_child)


def _reserve(count: int, limit: int) -> int:
    """Reserve up to `count` helper threads for a call that `_release` ends. At most `limit` helpers and other callers
    work in the whole process: if many threads of the program call at once, as those of dask do, they keep the cores
    busy without helpers."""
    global _reserved, _callers
    with _executor_lock:
        share = max(0, min(count, limit - _reserved - _callers))
        _reserved += share
        _callers += 1
        return share


def _release(count: int) -> None:
    global _reserved, _callers
    with _executor_lock:
        _reserved = max(0, _reserved - count)
        _callers = max(0, _callers - 1)


def run_native(helpers: int, work: Callable[[int], None]) -> None:
    """Call `work(count)`, which uses `count` threads besides the caller, such as those of the kernel: as many of the
    requested `helpers` as are free."""
    if helpers < 1 or getattr(_current, "in_pool", False):
        work(0)
        return
    count = _reserve(helpers, config.workers - 1)
    try:
        work(count)
    finally:
        _release(count)


def submit(work: Callable[[], object]) -> Future[object] | None:
    """Run `work` in a thread of the pool; None if this thread belongs to the pool, or if no thread can be started."""
    if getattr(_current, "in_pool", False):
        return None
    try:
        return _pool().submit(work)
    except RuntimeError:  # as in `run`
        return None


def run(
    items: Iterable[T], start: Callable[[], Callable[[T], object]], workers: int, *, caller_first: bool = False
) -> None:
    """Work on all items in up to `workers` threads, including the calling thread. Each thread calls `start()` once and
    then the result for each item. The first error stops all threads and is raised; so does a cancelled token of the
    caller (`engine/cancel`). A nested call stays in its thread, because the other threads are busy.

    With `caller_first` the calling thread works without helpers until a call returns true, which means that it had to
    wait. This is for items so short that threads would mostly wait for the interpreter's lock, unless a disk or a
    network delays them."""
    items = iter(items)
    token, deadline = current_token.get(), current_deadline.get()
    single = workers <= 1 or getattr(_current, "in_pool", False)
    if single or caller_first:
        work = start()
        for item in items:
            if token is not None:
                token.check()
            if deadline is not None:
                deadline.check()
            if work(item) and not single:
                break
        else:
            return
    shared = _SharedItems(items)

    def loop() -> None:
        _current.in_pool = True
        try:
            work = start()
            while (item := shared.take()) is not None:
                if token is not None:
                    token.check()
                if deadline is not None:
                    deadline.check()
                work(item)
        except BaseException:
            shared.stop()
            raise
        finally:
            _current.in_pool = False

    futures: list[Future[None]] = []
    helpers = _reserve(workers - 1, max(workers, config.workers) - 1)
    try:
        pool = _pool()
        for _ in range(helpers):
            try:
                # In the caller's context, because it may be inside a `with omnizarr.config(...)` block.
                futures.append(pool.submit(copy_context().run, loop))
            except RuntimeError:  # shutdown, or no more threads in the system: continue with those that have started
                break
        loop()
    finally:
        shared.stop()  # no items are left, or a thread failed
        try:
            for future in futures:
                future.cancel()
            failures = [future.exception() for future in futures if not future.cancelled()]
        finally:
            _release(helpers)
    for failure in failures:
        if failure is not None:
            raise failure
