"""What is done before a process forks, so that the child finds nothing half done by threads that it does not have.

Much is imported when it is first needed, by whichever thread needs it. A child that is forked meanwhile has a lock of
the interpreter that says that the thread is importing the module, which Python never frees; so a fork waits for what
other threads import for omnizarr. And some locks are not to be held by anybody else.
"""

from __future__ import annotations

# Both take locks for a fork, for which nearly every library asks while it is imported, or in its first call. What was
# registered last is done first, so that they have to be there before what is registered below.
import concurrent.futures.thread  # noqa: F401
import logging  # noqa: F401
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from threading import Lock, get_ident
from types import FrameType
from typing import Any

__all__ = ["CACHE_LOCK", "DATABASE_LOCK", "MEMORY_LOCK", "import_library", "run_before_fork"]

# Locks that the forking thread holds while it forks, and nobody else. They are here, and not where they are used, to be
# registered before anybody can be about to fork: else they would be freed after a fork for which they were not taken.
# And they are taken and freed by themselves, without a function of Python's around it, in which Ctrl-C might be raised.
MEMORY_LOCK, CACHE_LOCK, DATABASE_LOCK = Lock(), Lock(), Lock()

_PATIENCE = 2.0  # seconds; an import takes less, unless it waits for what the forking thread holds
_PAUSE = 0.0005  # seconds
_IMPORTING = "<frozen importlib._bootstrap"
_forks: dict[int, float] = {}  # the threads that are about to fork, and until when they are waited for
_tasks: list[Callable[[], object]] = []


def run_before_fork(task: Callable[[], object]) -> None:
    """Has something done before each fork, while the locks above are held."""
    _tasks.append(task)


def import_library(name: str) -> Any:
    """The module of a library, imported if it was not yet; not while somebody forks."""
    if name not in sys.modules and not _imports(sys._getframe()):  # who imports already is waited for
        while time.monotonic() < max(list(_forks.values()), default=0):
            time.sleep(_PAUSE)
    return import_module(name)


def _wait() -> None:
    """Lets imports that are under way end. Nobody is kept from beginning one by a lock, but libraries for a while:
    other handlers take locks before a fork, and somebody may hold one of those who imports."""
    end = _forks[get_ident()] = time.monotonic() + _PATIENCE
    # Whoever has slept has the interpreter for some milliseconds then, in which nobody else begins another import.
    time.sleep(_PAUSE / 10)
    while _others_import() and time.monotonic() < end:
        time.sleep(_PAUSE)


def _prepare() -> None:
    for task in _tasks.copy():
        task()


def _go_on() -> None:
    _forks.pop(get_ident(), None)


def _go_on_in_child() -> None:
    _forks.clear()
    _import_again()


def _import_again() -> None:
    """In a child: what somebody else was importing all the same, whom it does not have, is imported anew when it is
    wanted, which fails for some libraries, where it would hang for all. Python has no call for this; where it keeps its
    locks otherwise, nothing is done."""
    module_locks = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    for name, reference in list(module_locks.items()):
        owner = getattr(reference(), "owner", None)
        if owner is None or owner == get_ident():
            continue
        module_locks.pop(name, None)
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            del sys.modules[name]


def _others_import() -> bool:
    """Whether another thread imports something because code of omnizarr wants it."""
    frames = sys._current_frames()
    frames.pop(get_ident(), None)  # which would hold the dict that holds it, and with it what all others work with
    return any(map(_imports, frames.values()))


def _imports(frame: FrameType | None) -> bool:
    importing = False
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTING):
            importing = True
        elif importing and str(frame.f_globals.get("__name__")).partition(".")[0] == "omnizarr":
            return True
        frame = frame.f_back
    return False


if hasattr(os, "register_at_fork"):  # what is registered last is done first
    os.register_at_fork(before=_prepare)
    for _lock in (MEMORY_LOCK, CACHE_LOCK, DATABASE_LOCK):
        os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_go_on_in_child)
