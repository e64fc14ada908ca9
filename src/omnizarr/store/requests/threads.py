"""Threads that wait for requests, one for each request in flight. Idle threads are reused."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

__all__ = ["run_in_thread"]

_IDLE_SECONDS = 5.0


class _RequestThreads:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._free = 0  # idle threads that no work is assigned to

    def run_in_thread(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                self._work.put(work)
                return
        try:
            # Daemons: a request whose answer is not needed any more must not keep the program from ending.
            threading.Thread(target=self._serve, args=([work],), name="omnizarr-request", daemon=True).start()
        except (RuntimeError, MemoryError):  # the system has no more threads
            work()

    def _serve(self, first: list[Callable[[], None]]) -> None:
        work = first.pop()  # the thread itself keeps its arguments until it ends
        while True:
            work()
            del work  # release its memory before waiting
            with self._lock:
                self._free += 1
            try:
                work = self._work.get(timeout=_IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._free:
                        self._free -= 1
                        return
                work = self._work.get()  # work was assigned just now


_threads = _RequestThreads()


def _renew_in_child() -> None:
    global _threads
    _threads = _RequestThreads()  # a forked child has none of its parent's threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_child)


def run_in_thread(work: Callable[[], None]) -> None:
    """Call `work`, which must not raise, in a thread; in the calling one if the system has no more threads."""
    _threads.run_in_thread(work)
