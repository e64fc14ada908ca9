"""Flow control for a remote store: how many bytes may be in flight at once.

The window is four times the product of the measured bandwidth and latency: the product keeps the connection busy, and
the rest shows whether the store can deliver more, also if it needs time for each byte of large answers. Still more
requests would only wait in a queue, take memory, and run into timeouts.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from time import perf_counter
from typing import Any, TypeAlias

from omnizarr.config import config
from omnizarr.store.requests.hedging import Budget, Hedging
from omnizarr.store.values import ByteRange

__all__ = ["Admission", "Window"]

_LEAST_COST = 2**16  # bytes: a request costs time even if its answer is empty
_START = 2**26
_LEAST = 2**22
_MOST = 2**26  # bytes of memory for requests in flight and answers that the caller has not read
_FORGET_RATE = 0.99  # factor on the best rate, per answer: a store may become slower
_FORGET_LATENCY = 1.0005  # factor on the shortest latency; slower, because queued requests look like latency
_SPARE = 4  # times the product of bandwidth and latency
_ALWAYS = 2  # requests and answers that are admitted, whatever their size


Admission: TypeAlias = tuple[float, int, int]
"""When a request was sent, how many bytes had been delivered by then, and how much room it takes."""


class _ProcessTotal:
    """The bytes that the requests and unread answers of all windows take, in this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.held = 0


_total = _ProcessTotal()


def _renew_in_child() -> None:
    global _total
    _total = _ProcessTotal()  # a forked child has none of its parent's requests


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_child)


class Window:
    """The room for requests to one store, in bytes."""

    def __init__(self, most_requests: int = 256, *, direct: bool = False) -> None:
        """`direct`: any thread may send a request itself and wait for it. Elsewhere an event loop sends all requests,
        and only many at once keep it busy."""
        self.most_requests = most_requests
        self._lock = threading.RLock()
        self._room = _START
        self.abandoned: deque[Any] = deque()
        """What readers left that were deleted before their last answer; `release` releases its room."""
        self._under_way = 0
        self._unread = 0
        self._requests = 0
        self._inside = 0  # requests, and answers that the caller has not read
        self._delivered = 0
        self._latency = float("inf")
        self._rate = 0.0
        self._mean = 0.0
        self.hedging: Hedging | None = None
        """Sends second requests for late answers; None if the client does that itself, or never."""
        self.retries = Budget(0.2, 100)
        self.readers = 0
        """How many callers read through the window at once. Each gets an equal part of the room."""
        self._total = _total
        self.slow_until = 0.0 if direct else float("inf")
        """The time of `perf_counter` until which a reader should not assume that answers arrive at once."""

    @property
    def room(self) -> int:
        """How many bytes may be in flight."""
        return self._room

    @property
    def latency(self) -> float:
        """The shortest time that a request took, of those in the recent past; infinite before the first one."""
        return self._latency

    def observe(self, seconds: float) -> None:
        """Learn from a request that did not pass through the window."""
        self._latency = min(seconds, self._latency * _FORGET_LATENCY)
        self.retries.earn()
        if self.hedging is not None:
            self.hedging.observe(seconds)

    def expected(self, limit: int | None) -> int:
        """The expected size of an answer whose size is at most `limit`: encoded chunks are usually smaller."""
        guess = int(1.5 * self._mean) if self._mean else 2**20
        return max(_LEAST_COST, guess if limit is None else min(limit, guess))

    def expected_of(self, range: ByteRange | None) -> int:
        """The expected size of the answer to a request. The length of a range inside a value is known; that of other
        ranges is only limited."""
        if range is None:
            return self.expected(None)
        start, length = range
        if length is None:
            return max(_LEAST_COST, -start) if start < 0 else self.expected(None)
        return max(_LEAST_COST, length) if start > 0 else self.expected(length)

    def add_reader(self, count: int = 1) -> None:
        """Count a caller that reads through the window, or with -1 one that has ended."""
        with self._lock:
            self.readers += count

    def enter(self, cost: int, reader_bytes: int = 0) -> Admission | None:
        """Take room for a request of a caller whose other requests and unread answers take `reader_bytes`; None if
        there is none. Pass the result to `answered` or `failed`."""
        cost = max(cost, _LEAST_COST)
        while self.abandoned:
            with suppress(IndexError):  # another thread was faster
                self.abandoned.popleft().release()
        with self._lock:
            if self._requests >= self.most_requests:
                return None
            # An answer that has arrived only takes memory, until the caller reads it.
            under_way = self._under_way + cost
            if self._inside >= _ALWAYS:
                if under_way > self._room or under_way + self._unread > _MOST:
                    return None
                if reader_bytes and self.readers > 1 and reader_bytes + cost > self._room // self.readers:
                    return None
            with self._total.lock:
                if self._inside >= _ALWAYS and self._total.held + cost > config.current.max_request_bytes:
                    return None
                self._total.held += cost
            self._requests += 1
            self._inside += 1
            self._under_way += cost
            return perf_counter(), self._delivered, cost

    def answered(self, entered: Admission, received: int) -> int:
        """Learn from an answer of `received` bytes. It takes memory until the caller passes the result to `leave`."""
        start, before, expected = entered
        cost = max(received, _LEAST_COST)
        with self._lock:
            seconds = max(perf_counter() - start, 1e-6)
            # With few bytes in flight the rate shows the demand and not the bandwidth: it may raise the estimate, and
            # never lowers it.
            busy = self._under_way > self._room // 2
            self._requests -= 1
            self._under_way -= expected
            self._unread += cost
            self._add_total(cost - expected)
            self._delivered += cost
            self._mean = float(received) if not self._mean else self._mean + (received - self._mean) / 16
            self._latency = min(seconds, self._latency * _FORGET_LATENCY)
            if self.hedging is not None:
                self.hedging.observe(seconds)
            self.retries.earn()
            rate = (self._delivered - before) / seconds
            self._rate = max(rate, self._rate * _FORGET_RATE if busy else self._rate)
            fits = int(min(_MOST, max(_LEAST, _SPARE * self._rate * self._latency)))
            if fits > self._room:
                self._room = fits
            elif busy:  # in steps: the first answers say little about the rate of all
                self._room = max(fits, self._room - cost // 4)
        return cost

    def leave(self, cost: int) -> None:
        """Release the room of an answer."""
        if cost:
            with self._lock:
                self._inside -= 1
                self._unread -= cost
                self._add_total(-cost)

    def _add_total(self, nbytes: int) -> None:
        with self._total.lock:
            self._total.held += nbytes

    def failed(self, entered: Admission) -> None:
        """Release the room of a request that failed."""
        with self._lock:
            self._requests -= 1
            self._inside -= 1
            self._under_way -= entered[2]
            self._add_total(-entered[2])
