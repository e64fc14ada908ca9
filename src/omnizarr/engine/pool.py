"""Work shared out among threads: each takes an item at a time from one feed, and the caller works with them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from contextvars import copy_context
from typing import TYPE_CHECKING, Generic, TypeVar

from omnizarr._fork import import_library
from omnizarr.config import config

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["aside", "helped", "run"]

T = TypeVar("T")

_MOST_THREADS = 256


class _Feed(Generic[T]):
    """An iterator that several threads empty together."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self._lock = threading.Lock()
        self._stopped = False

    def take(self) -> T | None:
        """The next item; None when all are taken or somebody failed."""
        with self._lock:
            return None if self._stopped else next(self._items, None)

    def stop(self) -> None:
        """Lets nobody take any more."""
        self._stopped = True


_executor: ThreadPoolExecutor | None = None
_executor_pid = 0
_executor_lock = threading.Lock()
_inside = threading.local()


def _pool() -> ThreadPoolExecutor:
    """The one pool, started when first needed. A forked child has none of its parent's threads and starts anew."""
    global _executor, _executor_pid
    with _executor_lock:
        if _executor is None or _executor_pid != os.getpid():
            futures = import_library("concurrent.futures")  # not needed to import omnizarr, nor for small reads
            _executor = futures.ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="omnizarr")
            _executor_pid = os.getpid()
        return _executor


_helping = 0  # threads that work for somebody now


def _new_lock_in_child() -> None:
    global _executor_lock, _helping
    _executor_lock = threading.Lock()
    _helping = 0


def _hired(wanted: int, most: int) -> int:
    """How many threads may help, of `most` that help everybody: many callers keep the cores busy themselves."""
    global _helping
    with _executor_lock:
        count = max(0, min(wanted, most - _helping))
        _helping += count
        return count


def _let_go(count: int) -> None:
    global _helping
    with _executor_lock:
        _helping = max(0, _helping - count)


def helped(wanted: int, work: Callable[[int], None]) -> None:
    """Does work that brings threads of its own, which are not Python's: it is told how many, of those it wants."""
    count = 0 if wanted < 1 or getattr(_inside, "pool", False) else _hired(wanted, config.workers - 1)
    try:
        work(count)
    finally:
        if count:
            _let_go(count)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock_in_child)


def aside(work: Callable[[], object]) -> Future[object] | None:
    """Lets another thread do a piece of work; None if there is none to do it, or if this is one of them itself."""
    if getattr(_inside, "pool", False):
        return None
    try:
        return _pool().submit(work)
    except RuntimeError:  # as below
        return None


def run(items: Iterable[T], start: Callable[[], Callable[[T], object]], workers: int, *, alone: bool = False) -> None:
    """Works on all items, in up to `workers` threads, the caller's among them; each makes itself a worker by `start()`.
    The first error stops all of them and is raised. Called from within such work it stays in its thread: the others are
    busy. Of callers in several threads only the first find help.

    With `alone` the caller works by itself until a worker answers that it had to wait. That is for items so short that
    threads would mostly wait for the interpreter's lock, unless they really wait for a disk or a network."""
    items = iter(items)
    single = workers <= 1 or getattr(_inside, "pool", False)
    if single or alone:
        work = start()
        for item in items:
            if work(item) and not single:
                break
        else:
            return
    feed = _Feed(items)

    def loop() -> None:
        _inside.pool = True
        try:
            work = start()
            while (item := feed.take()) is not None:
                work(item)
        except BaseException:
            feed.stop()
            raise
        finally:
            _inside.pool = False

    others: list[Future[None]] = []
    hired = _hired(workers - 1, max(workers, config.workers) - 1)
    try:
        pool = _pool()
        for _ in range(hired):
            try:
                # In the caller's context, in which a `with omnizarr.config(...)` block may hold.
                others.append(pool.submit(copy_context().run, loop))
            except RuntimeError:  # the interpreter ends, or the system gives no more threads: then with those there are
                break
        loop()
    finally:
        feed.stop()  # nothing is left, or somebody failed
        try:
            for other in others:
                other.cancel()
            failures = [other.exception() for other in others if not other.cancelled()]
        finally:
            _let_go(hired)
    for failure in failures:
        if failure is not None:
            raise failure
