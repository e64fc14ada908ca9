"""A limit for the memory of responses that are made at the same time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Condition

from omnizarr.serve.messages import Body, HttpError, HttpResponse
from omnizarr.store import Buffer

__all__ = ["MemoryLimit"]

_MOST_BYTES = 2**29
"""512 MiB: room for eight of the largest windows. A response that needs more is made alone."""
_WAIT_SECONDS = 30.0


class MemoryLimit:
    """Lets threads make responses while the memory that these need fits. The others wait, in the order of requests."""

    def __init__(self, size: int = _MOST_BYTES, wait_seconds: float = _WAIT_SECONDS) -> None:
        self._size = size
        self._wait_seconds = wait_seconds
        self._changed = Condition()
        self._waiting: deque[object] = deque()
        self.used = 0
        """The bytes of the responses that are being made or sent."""

    def make(self, size: int, answer: Callable[[], HttpResponse]) -> HttpResponse:
        """The response that `answer` makes with about `size` bytes of memory. Its content counts until it is closed."""
        reserved = self._reserve(size)
        try:
            response = answer()
        except BaseException:
            self._add(-reserved)
            raise
        length = min(reserved, response.body.length)
        self._add(length - reserved)
        return replace(response, body=_CountedBody(response.body, lambda: self._add(-length)))

    def _reserve(self, size: int) -> int:
        size = min(size, self._size)
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                fits = self._changed.wait_for(
                    lambda: self._waiting[0] is ticket and self.used + size <= self._size, self._wait_seconds
                )
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()
            if not fits:
                raise HttpError(503, "the server is busy with other requests; try again", {"Retry-After": "5"})
            self.used += size
        return size

    def _add(self, size: int) -> None:
        with self._changed:
            self.used += size
            self._changed.notify_all()


class _CountedBody:
    """A content that calls a function when it is closed."""

    def __init__(self, inner: Body, closed: Callable[[], None]) -> None:
        self._inner = inner
        self._closed: Callable[[], None] | None = closed
        self.length = inner.length

    def pieces(self) -> Iterator[Buffer]:
        return self._inner.pieces()

    def close(self) -> None:
        self._inner.close()
        closed, self._closed = self._closed, None
        if closed is not None:
            closed()
