"""A fork waits for what other threads import for omnizarr, for else the child would wait for it for ever.

Much is imported when it is first needed, by whichever thread needs it. A child that is forked meanwhile does not have
that thread, but a lock of the interpreter that says that the thread is importing the module, which Python never frees.

What has to be done before a fork, and undone after it, is registered here and not with Python: there it would be undone
after a fork that had begun before it was registered.
"""

from __future__ import annotations

# Both take locks for a fork, for which nearly every library asks while it is imported, or its first call. What was
# registered last is done first, so that they have to be there before what is registered below.
import concurrent.futures.thread  # noqa: F401
import logging  # noqa: F401
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from threading import Event, get_ident
from types import FrameType
from typing import Any, NamedTuple

__all__ = ["around_forks", "load"]

_PATIENCE = 2.0  # seconds; an import takes less, unless it waits for what the forking thread holds
_PAUSE = 0.0005  # seconds
_IMPORTING = "<frozen importlib._bootstrap"
_open = Event()  # unless somebody is forking
_open.set()


class _Task(NamedTuple):
    before: Callable[[], object]
    after_in_parent: Callable[[], object]
    after_in_child: Callable[[], object]


_tasks: list[_Task] = []
_begun: dict[int, list[_Task]] = {}
"""What was done for the fork that a thread is about."""


def around_forks(
    before: Callable[[], object], after_in_parent: Callable[[], object], after_in_child: Callable[[], object]
) -> None:
    """Has something done before each fork, and undone after it."""
    _tasks.append(_Task(before, after_in_parent, after_in_child))


def load(name: str) -> Any:
    """The module of a library, imported if it was not yet."""
    if name not in sys.modules:
        _open.wait(_PATIENCE)
    return import_module(name)


def _begin() -> None:
    _wait()
    begun = _begun[get_ident()] = []
    for task in reversed(_tasks.copy()):
        task.before()
        begun.append(task)


def _wait() -> None:
    """Lets imports that are under way end. Nobody is kept from beginning one by a lock, but libraries by a gate that
    opens by itself: other handlers take locks before a fork, and somebody may hold one of those who imports."""
    _open.clear()
    end = time.monotonic() + _PATIENCE
    # Whoever has slept has the interpreter for some milliseconds then, in which nobody else begins another import.
    time.sleep(_PAUSE / 10)
    while _others_import() and time.monotonic() < end:
        time.sleep(_PAUSE)


def _go_on() -> None:
    for task in reversed(_begun.pop(get_ident(), [])):
        task.after_in_parent()
    _open.set()


def _go_on_in_child() -> None:
    global _open
    _open = Event()  # a thread that the child does not have may have been about to look at the other one
    _open.set()
    for task in reversed(_begun.pop(get_ident(), [])):
        task.after_in_child()
    _begun.clear()
    _import_again()


def _import_again() -> None:
    """In a child: what somebody else was importing all the same, whom it does not have, is imported anew when it is
    wanted. Python has no call for this; where it keeps its locks otherwise, nothing is done."""
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
    return len(frames) > 1 and any(_imports(frame) for thread, frame in frames.items() if thread != get_ident())


def _imports(frame: FrameType | None) -> bool:
    importing = False
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTING):
            importing = True
        elif importing and str(frame.f_globals.get("__name__")).partition(".")[0] == "omnizarr":
            return True
        frame = frame.f_back
    return False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_begin, after_in_parent=_go_on, after_in_child=_go_on_in_child)
