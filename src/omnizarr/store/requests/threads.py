"""Threads that wait for answers, as many as there are requests under way; kept for the next ones."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

__all__ = ["run_in_thread"]

_IDLE_SECONDS = 5.0


class _Crew:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._free = 0  # threads that wait for work and have not been promised any

    def run_in_thread(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                self._work.put(work)
                return
        # They are daemons: a request whose answer nobody wants any more must not keep the program from ending.
        threading.Thread(target=self._serve, args=(work,), name="omnizarr-request", daemon=True).start()

    def _serve(self, work: Callable[[], None]) -> None:
        while True:
            work()
            del work  # what it holds must not wait for the next
            with self._lock:
                self._free += 1
            try:
                work = self._work.get(timeout=_IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._free:
                        self._free -= 1
                        return
                work = self._work.get()  # it was promised just now


_crew = _Crew()


def _new_crew_in_child() -> None:
    global _crew
    _crew = _Crew()  # a child has none of its parent's threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_crew_in_child)


def run_in_thread(work: Callable[[], None]) -> None:
    """Has a thread do a piece of work that must not raise."""
    _crew.run_in_thread(work)
