"""Locks between the threads of one process: on keys, and on longer tasks."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from omnizarr.errors import StoreError

__all__ = ["Stripes", "TaskLock", "full_key", "thread_lock", "thread_task_lock"]


class Stripes:
    """A fixed number of locks; a name has the lock of its hash. Several are taken in the order of their index, so that
    they cannot deadlock. A thread that holds some must not take others. It may take those that it holds once more: a
    signal handler, which runs in the middle of anything, must not wait for its own thread."""

    def __init__(self, count: int = 256) -> None:
        self._locks = [threading.RLock() for _ in range(count)]
        _EVERY.append(self)

    def of(self, *names: str) -> AbstractContextManager[Any]:
        """The lock of these names."""
        locks = self._locks
        if len(names) == 1:  # nearly always: the lock itself, without a wrapper
            return locks[hash(names[0]) % len(locks)]
        return _all_of([locks[number] for number in sorted({hash(name) % len(locks) for name in names})])

    def renew(self) -> None:
        """Release all of them: in a forked child, which does not have the threads that held them."""
        self._locks[:] = [threading.RLock() for _ in self._locks]


@contextmanager
def _all_of(locks: Sequence[AbstractContextManager[Any]]) -> Iterator[None]:
    with ExitStack() as stack:
        for lock in locks:
            stack.enter_context(lock)
        yield


_EVERY: list[Stripes] = []
_KEYS = Stripes()


def full_key(location: str, key: str) -> str:
    """The same name for a value in all stores that show it: the key `x/c/0` at `ftp://host` is `c/0` at `ftp://host/x`."""
    return f"{location.removesuffix('/')}/{key}"


def thread_lock(location: str, keys: Iterable[str]) -> AbstractContextManager[Any]:
    """Keep the other threads of this process from the same values, whatever the root of the store that shows them."""
    return _KEYS.of(*[full_key(location, key) for key in keys])


class TaskLock:
    """A lock for a task that takes many writes."""

    broken = False
    """Whether an earlier holder began the task and did not finish it."""

    def begin(self) -> None:
        """Call before the first write: from now on, an error or a crash inside the block marks the task as broken."""

    def check(self) -> None:
        """Call before a write that other tasks rely on: raises StoreError if the lock was lost, because another program
        removed its file."""


class _ThreadTaskLock(TaskLock):
    def __init__(self, name: str) -> None:
        self._name = name
        self.broken = name in _BROKEN

    def begin(self) -> None:
        _BROKEN.add(self._name)

    def end(self) -> None:
        _BROKEN.discard(self._name)


class _Task:
    """The lock of one task, kept while a thread holds it or waits for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.owner = 0
        """The thread that holds it."""


_TASKS: dict[str, _Task] = {}
_BROKEN: set[str] = set()
_COUNTING = threading.RLock()  # a signal handler may run while its own thread holds it


@contextmanager
def thread_task_lock(location: str, key: str) -> Iterator[TaskLock]:
    """The task lock of this process for a key at a location. A crash of the process forgets its mark."""
    name = full_key(location, key)
    with _COUNTING:
        task = _TASKS.setdefault(name, _Task())
        task.users += 1
    try:
        if task.owner == threading.get_ident():
            raise StoreError(
                "a signal handler cannot change the shape of an array while the same thread does",
                hint="let it set a flag, and change the shape later",
            )
        with task.lock:
            task.owner = threading.get_ident()
            try:
                task_lock = _ThreadTaskLock(name)
                yield task_lock
                task_lock.end()
            finally:
                task.owner = 0
    finally:
        with _COUNTING:
            task.users -= 1
            if not task.users:
                _TASKS.pop(name, None)


def _free_in_child() -> None:
    global _COUNTING
    _COUNTING = threading.RLock()
    _TASKS.clear()
    for stripes in _EVERY:
        stripes.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_in_child)
