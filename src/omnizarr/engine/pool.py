"""Work shared out among threads: each takes a few items at a time from one feed, and the caller works with them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["Feed", "run"]

T = TypeVar("T")

_MOST_THREADS = 256


class Feed(Generic[T]):
    """An iterator that several threads empty together, a batch at a time."""

    def __init__(self, items: Iterable[T], batch: int) -> None:
        self._items = iter(items)
        self._batch = batch
        self._lock = threading.Lock()
        self._stopped = False

    def take(self) -> list[T]:
        """The next few items; none when all are taken or somebody failed."""
        with self._lock:
            return [] if self._stopped else list(islice(self._items, self._batch))

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
            from concurrent.futures import ThreadPoolExecutor  # not needed to import omnizarr, nor for small reads

            _executor = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="omnizarr")
            _executor_pid = os.getpid()
        return _executor


def _new_lock_in_child() -> None:
    global _executor_lock
    _executor_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock_in_child)


def run(feed: Feed[T], work: Callable[[list[T]], None], workers: int) -> None:
    """Lets up to `workers` threads, the caller among them, work on batches until the feed is empty. The first error
    stops all of them and is raised. Called from within such work it stays in its thread: the others are busy."""

    def loop() -> None:
        _inside.pool = True
        try:
            while batch := feed.take():
                work(batch)
        except BaseException:
            feed.stop()
            raise
        finally:
            _inside.pool = False

    if workers <= 1 or getattr(_inside, "pool", False):
        while batch := feed.take():
            work(batch)
        return
    pool = _pool()
    others = [pool.submit(loop) for _ in range(workers - 1)]
    try:
        loop()
    finally:
        for other in others:
            other.cancel()
        failures = [other.exception() for other in others if not other.cancelled()]
    for failure in failures:
        if failure is not None:
            raise failure
