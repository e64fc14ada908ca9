"""Time limits of calls: `with timeout(5.0): z[...]` raises TimedOutError after five seconds.

Requests that only read are broken off at the limit. Those that write are completed, because a store cannot tell how
much of an aborted write it has stored; no more of them are sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from omnizarr.errors import ArgumentError, TimedOutError

__all__ = ["Deadline", "current_deadline", "timeout"]


class Deadline:
    """The end of the time that a call may take."""

    __slots__ = ("_end", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = monotonic() + seconds

    def remaining(self) -> float:
        """The seconds that are left, above 0. Raises TimedOutError if none are."""
        left = self._end - monotonic()
        if left <= 0:
            raise TimedOutError(f"the time limit of {self.seconds:g} s is over", seconds=self.seconds)
        return left

    check = remaining


current_deadline: ContextVar[Deadline | None] = ContextVar("omnizarr.deadline", default=None)
"""The time limit of the running call, if it has one. Threads that help with it share it."""


@contextmanager
def timeout(seconds: float | None) -> Iterator[None]:
    """Limits the time of all calls in a `with` block, together. The nearest end of nested blocks counts; None is no
    limit. Calls to local files are not interrupted.

    Example:
        >>> with omnizarr.timeout(30):
        ...     z = omnizarr.open_array("https://example.org/a.zarr")
        ...     z[...]
    """
    if seconds is None:
        yield
        return
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
        raise ArgumentError(f"`timeout`: expected a number of seconds above 0, found {seconds!r}", argument="timeout")
    deadline, outer = Deadline(seconds), current_deadline.get()
    token = current_deadline.set(deadline if outer is None or deadline._end < outer._end else outer)
    try:
        yield
    finally:
        current_deadline.reset(token)
