"""Signal handlers of the program, postponed until an import ends.

Python runs signal handlers in the main thread between any two instructions, also in the middle of an import. A handler
that uses omnizarr would find half a module there. It cannot wait, because its own thread imports the module.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` returns enums, which takes thirty times as long
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.machinery import ModuleSpec, SourceFileLoader, SourcelessFileLoader
from types import ModuleType
from typing import Any, TypeVar

__all__ = ["find_module", "note_signals", "run_uninterrupted"]

_R = TypeVar("_R")
_Handlers = dict[int, Any]

_postponed: list[_Handlers] = []  # at most one entry, unless an import installs handlers


def find_module(hook: object, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """What the finders other than `hook` find; the module's code will run uninterrupted."""
    for finder in sys.meta_path:
        spec = None if finder is hook else finder.find_spec(name, path, target)
        if spec is not None:
            loader = spec.loader
            if isinstance(loader, (SourceFileLoader, SourcelessFileLoader)):  # such a loader is of one module
                loader.exec_module = partial(_execute, loader)  # type: ignore[method-assign]
            return spec
    return None


def _execute(loader: SourceFileLoader | SourcelessFileLoader, module: ModuleType) -> None:
    del loader.exec_module  # that of the class remains
    run_uninterrupted(loader.exec_module, module)


def run_uninterrupted(function: Callable[..., _R], *arguments: Any) -> _R:
    """Call a function in the main thread. Handlers of signals that arrive meanwhile run afterwards."""
    arrived: list[int] = []
    try:
        return note_signals(arrived, function, *arguments)
    finally:
        for number in dict.fromkeys(arrived):
            _signal.raise_signal(number)


def note_signals(arrived: list[int], function: Callable[..., _R], *arguments: Any) -> _R:
    """Call a function in the main thread. Signals that arrive meanwhile are added to `arrived`."""

    def note(number: int, _: object) -> None:
        arrived.append(number)

    handlers: _Handlers = {}
    try:
        _postponed.append(handlers)
        for number in sorted(range(1, _signal.NSIG), key=lambda number: number != _signal.SIGINT):  # SIGINT first
            handler = _signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler, note
                try:
                    _signal.signal(number, note)
                except ValueError:  # the main thread of a subinterpreter: Python runs no handlers there
                    handlers.clear()
                    break
        return function(*arguments)
    finally:
        _restore(handlers)


def _restore(handlers: _Handlers) -> None:
    """Install the handlers again, SIGINT last. A handler that is installed already may run and raise."""
    failure = None
    while handlers:
        try:
            number = next(reversed(handlers))
            handler, note = handlers[number]
            if _signal.getsignal(number) is note:  # otherwise the imported module has installed its own
                _signal.signal(number, handler)
            handlers.pop(number, None)
        except BaseException as error:
            failure = error
    if handlers in _postponed:
        _postponed.remove(handlers)
    if failure is not None:
        raise failure


def _restore_in_child() -> None:
    """Another thread of the parent was importing. This process does not go on with that."""
    while _postponed:
        _restore(_postponed[-1])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restore_in_child)
