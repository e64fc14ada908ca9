"""Agreement among the threads of one process: locks on keys, and turns at longer tasks."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

__all__ = ["Stripes", "TaskLock", "process_lock", "process_task_lock"]


class Stripes:
    """Locks that are shared out by hash, so that their number stays fixed however many names there are. Taken in the
    order of their index, they cannot wait for each other in a circle; who holds some must not ask for more."""

    def __init__(self, count: int = 256) -> None:
        self._locks = [threading.Lock() for _ in range(count)]
        _EVERY.append(self)

    def of(self, *names: str) -> AbstractContextManager[Any]:
        """Keeps other threads from the same names."""
        locks = self._locks
        if len(names) == 1:  # nearly always: the lock itself, with nothing around it
            return locks[hash(names[0]) % len(locks)]
        return _all_of([locks[number] for number in sorted({hash(name) % len(locks) for name in names})])

    def renew(self) -> None:
        """Frees them all: in a child, which does not have the threads that held them."""
        self._locks[:] = [threading.Lock() for _ in self._locks]


@contextmanager
def _all_of(locks: list[threading.Lock]) -> Iterator[None]:
    with ExitStack() as taken:
        for lock in locks:
            taken.enter_context(lock)
        yield


_EVERY: list[Stripes] = []
_KEYS = Stripes()


def process_lock(location: str, keys: Iterable[str]) -> AbstractContextManager[Any]:
    """Keeps the other threads of this process from the same keys of the same place."""
    return _KEYS.of(*[f"{location}\0{key}" for key in keys])


class TaskLock:
    """One's turn at a task that takes many writes."""

    broken = False
    """Whether somebody began the task, and never finished it."""

    def begin(self) -> None:
        """To be called before the first write: from now on the task is broken if the block is not left in peace."""


class _ProcessTaskLock(TaskLock):
    def __init__(self, name: str) -> None:
        self._name = name
        self.broken = name in _BROKEN

    def begin(self) -> None:
        _BROKEN.add(self._name)

    def end(self) -> None:
        _BROKEN.discard(self._name)


# A turn may take long, so that each has a lock of its own; it is kept while somebody holds it or waits for it.
_TURNS: dict[str, tuple[threading.Lock, list[None]]] = {}
_BROKEN: set[str] = set()
_COUNTING = threading.Lock()


@contextmanager
def process_task_lock(name: str) -> Iterator[TaskLock]:
    """Keeps the other threads of this process from a task of the same name."""
    with _COUNTING:
        lock, users = _TURNS.setdefault(name, (threading.Lock(), []))
        users.append(None)
    try:
        with lock:
            task_lock = _ProcessTaskLock(name)
            yield task_lock
            task_lock.end()
    finally:
        with _COUNTING:
            users.pop()
            if not users:
                _TURNS.pop(name, None)


def _free_in_child() -> None:
    global _COUNTING
    _COUNTING = threading.Lock()
    _TURNS.clear()
    for stripes in _EVERY:
        stripes.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_in_child)
