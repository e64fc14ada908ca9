"""How much may be under way to a remote place at once: as much as it is seen to deliver, and no fixed number.

Latency and bandwidth are what a place gives; their product is what fits between here and there. Twice as much is kept
under way, so that there is always a little more to be had if the place can give more. Whatever is asked for beyond that
would only wait in some queue, take memory, and run into a timeout.
"""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TypeAlias

from omnizarr.store.contract import ByteRange

__all__ = ["Admission", "Window"]

_LEAST_COST = 2**16  # bytes: a request costs time even if it brings nothing
_START = 2**24
_LEAST = 2**22
_MOST = 2**25  # of memory that requests under way and answers may take, all together
_FORGET_RATE = 0.99  # the best rate that was seen, a little with every answer: places grow slower, too
_FORGET_LATENCY = 1.0005  # and the shortest latency, more slowly, since requests that wait for each other look like it
_ALWAYS = 2  # requests and answers for which there is room however large they are


Admission: TypeAlias = tuple[float, int, int]
"""When a request was sent, how much had been delivered by then, and how much room it took."""


class Window:
    """The room for requests to one place, in bytes."""

    def __init__(self, most_requests: int = 256) -> None:
        self.most_requests = most_requests
        self._lock = threading.Lock()
        self._room = _START
        self._under_way = 0
        self._untaken = 0
        self._requests = 0
        self._inside = 0  # requests, and answers that nobody took yet
        self._delivered = 0
        self._latency = float("inf")
        self._rate = 0.0
        self._mean = 0.0

    @property
    def room(self) -> int:
        """How many bytes may be under way."""
        return self._room

    def expected(self, limit: int | None) -> int:
        """How many bytes an answer may have, of which only a limit is known: encoded chunks are smaller than it."""
        guess = int(2 * self._mean) if self._mean else 2**20
        return max(_LEAST_COST, guess if limit is None else min(limit, guess))

    def expected_of(self, range: ByteRange | None) -> int:
        """The same for a request: of a part that begins within a value it is known how long it is, of others there is a
        limit at most."""
        if range is None:
            return self.expected(None)
        start, length = range
        if length is None:
            return max(_LEAST_COST, -start) if start < 0 else self.expected(None)
        return max(_LEAST_COST, length) if start > 0 else self.expected(length)

    def enter(self, cost: int) -> Admission | None:
        """Takes room for a request; None if there is none. What is given back goes to `answered`."""
        cost = max(cost, _LEAST_COST)
        with self._lock:
            if self._requests >= self.most_requests:
                return None
            # What has arrived is out of the way, and only takes memory until somebody takes it.
            under_way = self._under_way + cost
            if self._inside >= _ALWAYS and (under_way > self._room or under_way + self._untaken > _MOST):
                return None
            self._requests += 1
            self._inside += 1
            self._under_way += cost
            return perf_counter(), self._delivered, cost

    def answered(self, entered: Admission, received: int) -> int:
        """Learns from an answer. It takes memory, as much as it is long, until whoever asked for it has taken it and
        calls `leave` with what this gives back."""
        start, before, expected = entered
        cost = max(received, _LEAST_COST)
        with self._lock:
            seconds = max(perf_counter() - start, 1e-6)
            # With little under way the rate says how much was asked for and not what could be had: it may show that
            # more can be had than was thought, never that less can.
            busy = self._under_way > self._room // 2
            self._requests -= 1
            self._under_way -= expected
            self._untaken += cost
            self._delivered += cost
            self._mean = float(received) if not self._mean else self._mean + (received - self._mean) / 16
            self._latency = min(seconds, self._latency * _FORGET_LATENCY)
            rate = (self._delivered - before) / seconds
            self._rate = max(rate, self._rate * _FORGET_RATE if busy else self._rate)
            fits = int(min(_MOST, max(_LEAST, 2 * self._rate * self._latency)))
            if fits > self._room:
                self._room = fits
            elif busy:  # in steps, since the first answers of many tell little of how fast all of them come
                self._room = max(fits, self._room - cost // 4)
        return cost

    def leave(self, cost: int) -> None:
        """Gives room back."""
        if cost:
            with self._lock:
                self._inside -= 1
                self._untaken -= cost

    def failed(self, entered: Admission) -> None:
        """Gives the room of a request back that brought no answer."""
        with self._lock:
            self._requests -= 1
            self._inside -= 1
            self._under_way -= entered[2]
