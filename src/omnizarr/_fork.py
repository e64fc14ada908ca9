"""Fork handlers: a forked child must not inherit a lock or an import of a thread that it does not have. Import hook: a
signal handler must not see half a module.

omnizarr imports many libraries on first use, in any thread. If another thread forks during an import, the child
inherits the interpreter's module lock as held, and Python never releases it. Therefore a fork waits for imports that
omnizarr started in other threads. It also acquires the locks below, so that no other thread holds them.
"""

from __future__ import annotations

# Both modules register fork handlers that take locks, and nearly every library uses those locks during its import or
# first call. The handler registered last runs first, so these two must be imported before the handlers below register.
import _signal  # type: ignore[import-not-found]
import concurrent.futures.thread  # noqa: F401
import gc
import logging  # noqa: F401
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from threading import RLock, get_ident, main_thread
from types import FrameType, ModuleType
from typing import Any

__all__ = ["CACHE_LOCK", "DATABASE_LOCK", "MEMORY_LOCK", "forks_seen", "import_library", "run_before_fork"]

# The forking thread holds these locks during a fork. They are defined here, and not where they are used, so that their
# handlers are registered before any fork starts: otherwise a fork in progress would release a lock it never acquired.
# The handlers are the methods of the locks themselves, because Ctrl-C could interrupt a Python function around them.
# A signal handler, which may fork, must not wait for its own thread: hence `RLock`.
MEMORY_LOCK, CACHE_LOCK, DATABASE_LOCK = RLock(), RLock(), RLock()

_TIMEOUT = 2.0  # seconds; an import takes less, unless it waits for a lock of the forking thread
_PAUSE = 0.0005  # seconds
_IMPORT_MACHINERY = "<frozen importlib._bootstrap"
_LONGEST_TURN = 0.05  # seconds that a fork lets waiting imports start first
_forks: dict[int, float] = {}  # threads about to fork -> until when imports wait for them
_waiting: set[int] = set()  # threads that wait for a fork, to import something then
_tasks: list[Callable[[], object]] = []
_fork_count = 0  # raised before and after each fork: odd while one is in progress


def run_before_fork(task: Callable[[], object]) -> None:
    """Register `task` to run before each fork, while the locks above are held."""
    _tasks.append(task)


def forks_seen() -> int:
    """A number that changes with each fork of this process, and is odd while one is in progress."""
    return _fork_count


def _count_fork() -> None:
    global _fork_count
    _fork_count += 1


def import_library(name: str) -> Any:
    """The module `name`. The first import waits for forks that have started in other threads."""
    # A thread inside an import must not wait, because the fork waits for that import.
    if name in sys.modules:
        return import_module(name)
    if not _is_importing(sys._getframe()):
        _wait_for_forks()
    if not _runs_handlers(ctrl_c=True):
        return import_module(name)
    from omnizarr._signals import run_uninterrupted  # lazy import: only for the first import of a library

    return run_uninterrupted(import_module, name)


class _ImportHook:
    """Lets imports of omnizarr's modules postpone the program's signal handlers, if there are any."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("omnizarr.") or name == "omnizarr._signals" or not _runs_handlers():
            return None
        from omnizarr._signals import find_module  # lazy import: only for programs with signal handlers

        return find_module(cls, name, path, target)


def _runs_handlers(*, ctrl_c: bool = False) -> bool:
    """Whether Python runs signal handlers of the program in this thread. Takes 2 µs. With `ctrl_c` its own handler of
    Ctrl-C counts, too: Python drops what that raises while it deletes the lock of a module, after each import."""
    return get_ident() == main_thread().ident and any(
        callable(handler) and (ctrl_c or handler is not _signal.default_int_handler)
        for handler in map(_signal.getsignal, range(1, _signal.NSIG))
    )


def _wait_for_forks() -> None:
    if time.monotonic() < max(list(_forks.values()), default=0):
        thread = get_ident()
        _waiting.add(thread)
        try:
            while time.monotonic() < max(list(_forks.values()), default=0):
                time.sleep(_PAUSE)
        finally:
            _waiting.discard(thread)


def _wait_for_imports() -> None:
    """Wait until imports in other threads end, at most `_TIMEOUT` seconds.

    `import_library` delays new imports only for that time. A lock would deadlock: other fork handlers take locks, and
    an importing thread may hold one of them."""
    # A program that forks again and again would keep the other threads from importing anything.
    turn = time.monotonic() + _LONGEST_TURN
    while _waiting.difference((get_ident(),)) and time.monotonic() < turn:
        time.sleep(_PAUSE)
    end = _forks[get_ident()] = time.monotonic() + _TIMEOUT
    # After a sleep this thread owns the interpreter for some milliseconds, in which no other thread starts an import.
    time.sleep(_PAUSE / 10)
    while _other_thread_imports() and time.monotonic() < end:
        time.sleep(_PAUSE)


def _run_tasks() -> None:
    for task in _tasks.copy():
        task()


def _end_fork_in_parent() -> None:
    _forks.pop(get_ident(), None)


def _end_fork_in_child() -> None:
    _forks.clear()
    _waiting.clear()
    _drop_unfinished_imports()


def _drop_unfinished_imports() -> None:
    """In a child: forget modules that another thread of the parent was still importing, and their locks.

    The child imports them again on use. This fails for some libraries; without it, every such import would hang.
    Python has no public call for this. If an interpreter keeps its module locks elsewhere, nothing happens."""
    module_locks = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    for name, reference in list(module_locks.items()):
        owner = getattr(reference(), "owner", None)
        if owner is None or owner == get_ident():
            continue
        module_locks.pop(name, None)
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            del sys.modules[name]


def _current_frames() -> dict[int, FrameType]:
    """The frame of each thread.

    Before 3.11.8 and 3.12.2 Python holds a lock meanwhile that a garbage collection may need, and hangs if one starts.
    """
    collects = gc.isenabled()
    try:
        gc.disable()
        return sys._current_frames()
    finally:
        if collects:
            gc.enable()


def _other_thread_imports() -> bool:
    """Whether another thread runs an import that code of omnizarr started."""
    frames = _current_frames()
    frames.pop(get_ident(), None)  # avoids a reference cycle that would keep the locals of all threads alive
    return any(map(_is_importing, frames.values()))


def _is_importing(frame: FrameType | None) -> bool:
    importing = False
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORT_MACHINERY):
            importing = True
        elif importing and str(frame.f_globals.get("__name__")).partition(".")[0] == "omnizarr":
            return True
        frame = frame.f_back
    return False


sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__module__", None) != __name__]
sys.meta_path.insert(0, _ImportHook)

if hasattr(os, "register_at_fork"):  # the `before` handler registered last runs first
    # Counts next to the fork itself: the handlers that run earlier may wait for other threads.
    os.register_at_fork(before=_count_fork, after_in_parent=_count_fork, after_in_child=_count_fork)
    os.register_at_fork(before=_run_tasks)
    for _lock in (MEMORY_LOCK, CACHE_LOCK, DATABASE_LOCK):
        os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
    os.register_at_fork(
        before=_wait_for_imports, after_in_parent=_end_fork_in_parent, after_in_child=_end_fork_in_child
    )
