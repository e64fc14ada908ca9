"""Results on their way from threads to an event loop.

`loop.call_soon_threadsafe` for each result would wake the loop each time, by a system call that also gives the
interpreter's lock away. Here the first result wakes the loop, and the others come with it, a few per turn of the loop,
so that it stays responsive when hundreds of reads end together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Any, TypeAlias

from omnizarr.store.finalizers import close_on_deletion

__all__ = ["Completions", "completions_of"]

_PER_TURN = 16  # results; each resumes a coroutine, which takes about 50 microseconds

_Result: TypeAlias = "tuple[asyncio.Future[Any], Any, BaseException | None]"


class Completions:
    """The results of one event loop."""

    def __init__(self) -> None:
        self._results: deque[_Result] = deque()
        self._scheduled = False

    def add(
        self, loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], value: Any, error: BaseException | None
    ) -> None:
        """Set the result of a future of the loop, from any thread."""
        self._results.append((future, value, error))
        if not self._scheduled:
            self._scheduled = True
            with suppress(RuntimeError):  # the loop has ended, and with it the task that waited
                loop.call_soon_threadsafe(self._deliver, loop)

    def _deliver(self, loop: asyncio.AbstractEventLoop) -> None:
        for _ in range(_PER_TURN):
            if not self._results:
                break
            _set(*self._results.popleft())
        if not self._results:
            self._scheduled = False
        # A thread that added a result just now may have seen the loop as scheduled.
        if self._results:
            self._scheduled = True
            loop.call_soon(self._deliver, loop)


def _set(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if future.done():  # the task was cancelled
        return
    if error is None:
        future.set_result(value)
    elif isinstance(error, StopIteration):  # which a future does not accept
        future.set_exception(RuntimeError("the function raised StopIteration"))
    else:
        future.set_exception(error)


_of_loops: dict[int, Completions] = {}  # by the id of the loop, until the loop is deleted


def completions_of(loop: asyncio.AbstractEventLoop) -> Completions:
    """The results of a loop. Call it in the thread of the loop."""
    completions = _of_loops.get(id(loop))
    if completions is None:
        completions = _of_loops[id(loop)] = Completions()
        close_on_deletion(loop, (_of_loops.pop, [id(loop)], [None]))
    return completions
