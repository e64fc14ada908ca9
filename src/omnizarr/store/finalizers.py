"""Clean-up when an object is deleted, without a method `__del__`.

Python runs signal handlers inside `__del__` and inside callbacks of weak references, and drops what they raise: Ctrl-C
would be lost, and the clean-up cut short. Here C code makes all calls, and Python runs no handler between them.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import sys
import threading
import weakref
from _thread import interrupt_main
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, count
from operator import contains
from types import SimpleNamespace
from typing import Any

__all__ = ["call_on_deletion", "close_on_deletion", "closing"]

_references: dict[int, weakref.ref[Any]] = {}
_tokens = count()


def close_on_deletion(owner: object, *calls: tuple[Any, ...]) -> None:
    """When `owner` is deleted, call functions. Each of `calls` is a function and the sequences of its arguments, as for
    `map`; the arguments are those that the sequences then have. The functions are written in C, such as those of
    `closing`, and do not raise. Nothing in `calls` refers to `owner`."""
    token = next(_tokens)
    steps = chain(*(map(*call) for call in calls), map(_references.pop, (token,)))
    # `contains` runs through all of `steps`: it looks for something that equals the reference.
    _references[token] = weakref.ref(owner, partial(contains, steps))  # type: ignore[arg-type]


def closing(descriptors: Sequence[int]) -> tuple[Any, ...]:
    """A call for `close_on_deletion` that closes files. It ignores errors, as `os.close` does not: an error would skip
    the steps behind it, and Python would only print it."""
    return os.closerange, descriptors, map((1).__add__, descriptors)


def call_on_deletion(owner: object, function: Callable[[Any], object], items: Iterable[Any]) -> None:
    """When `owner` is deleted, call a Python function for each of the items as they are then. Handlers of signals that
    arrive meanwhile run afterwards, in the code that deleted the owner."""
    arrived: list[int] = []
    close_on_deletion(owner, (partial(_call, function, arrived), items), (interrupt_main, arrived))


def _call(function: Callable[[Any], object], arrived: list[int], item: Any) -> None:
    try:
        from omnizarr._signals import note_signals  # lazy import: rare
    except ImportError:  # the interpreter shuts down, and its signal handlers with it
        function(item)
        return
    try:
        if threading.get_ident() == threading.main_thread().ident:
            note_signals(arrived, function, item)
        else:
            function(item)
    except KeyboardInterrupt:  # Ctrl-C arrived after `note_signals` had ended
        arrived.append(_signal.SIGINT)
    except BaseException as error:  # it must not keep the next steps from running
        sys.unraisablehook(
            SimpleNamespace(
                exc_type=type(error), exc_value=error, exc_traceback=error.__traceback__, err_msg=None, object=function
            )
        )
