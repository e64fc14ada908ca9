"""A fork waits for what other threads import for omnizarr, for else the child would wait for it for ever.

Much is imported when it is first needed, by whichever thread needs it. A child that is forked meanwhile does not have
that thread, but a lock of the interpreter that says that the thread is importing the module, which Python never frees.
"""

from __future__ import annotations

import os
import sys
import time
from functools import cache
from importlib import import_module
from threading import Event, get_ident
from types import FrameType
from typing import Any

__all__ = ["load"]

_PATIENCE = 2.0  # seconds; an import takes less, unless it waits for what the forking thread holds
_PAUSE = 0.0005  # seconds
_IMPORTING = "<frozen importlib._bootstrap"
_open = Event()  # unless somebody is forking
_open.set()


def load(name: str) -> Any:
    """The module of a library, imported if it was not yet."""
    if name not in sys.modules:
        _come_before_logging()
        _open.wait(_PATIENCE)
    return import_module(name)


@cache
def _come_before_logging() -> None:
    """What is registered last is done first: before `logging` takes its lock for the fork, which nearly every library
    asks for while it is imported."""
    import logging  # noqa: F401  what libraries import anyway

    _register()


def _wait() -> None:
    """Lets imports that are under way end. Nobody is kept from beginning one by a lock, but libraries by a gate that
    opens by itself: other handlers take locks before a fork, and somebody may hold one of those who imports."""
    _open.clear()
    end = time.monotonic() + _PATIENCE
    while _others_import() and time.monotonic() < end:
        time.sleep(_PAUSE)


def _go_on() -> None:
    _open.set()


def _go_on_in_child() -> None:
    global _open
    _open = Event()  # a thread that the child does not have may have been about to look at the other one
    _open.set()


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


def _register() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_go_on_in_child)


_register()
