"""Route J, for a remote store that answers at once: each of a few threads fetches, decodes and places one chunk after
the other. Handing answers from one thread to another would take longer than the answers.

A thread sends the requests for the next chunks before it decodes a chunk, so that it rarely waits for their answers. If
the store cannot do that, twice as many threads keep the cores busy. If the store turns out to be slow, the rest of the
chunks is left to route G (`engine/read/remote`), which keeps many requests in flight.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, cast

import numpy as np

from omnizarr.config import config
from omnizarr.engine.cancel import current_token
from omnizarr.engine.layout import Layout
from omnizarr.engine.pool import run
from omnizarr.engine.read.python import ChunkReader
from omnizarr.engine.read.remote import RequestPlan, ShardRequest, ValueRequest
from omnizarr.engine.read.shards import FetchedChunk, ShardReader
from omnizarr.engine.schedule import max_workers
from omnizarr.indexing import Cell, Projection
from omnizarr.store.capabilities import StartedRead
from omnizarr.store.contract import State
from omnizarr.store.deadline import current_deadline
from omnizarr.store.requests.reads import PendingRequest
from omnizarr.store.requests.window import Window

if TYPE_CHECKING:
    from omnizarr.engine.read.remote import Tag

__all__ = ["read_directly"]

_AT_ONCE = 0.002  # seconds for a request, up to which a few threads keep the cores busy
_THREADS_PER_CORE = 2  # without requests ahead: while one waits, another decodes
_AHEAD = 4  # chunks per thread whose requests are in flight
_BYTE = 2e-9  # seconds in addition per byte
_LOOK = 16  # requests of a thread: if even the shortest of them took longer, the store is slow
_SLOW_SECONDS = 10.0  # for which reads then start with many requests
_MAX_ROOM = 2**25  # bytes of a stored value, for which a thread reuses memory


def read_directly(
    layout: Layout, projection: Projection, start: Callable[[], ChunkReader | ShardReader], nbytes: int
) -> Iterator[Cell] | None:
    """Read cells as long as the store answers at once. Returns the cells that are left; None if there are none."""
    window = layout.store.window
    cells = iter(projection)
    if window is None or window.latency > _AT_ONCE or perf_counter() < window.slow_until:
        return cells
    if window.hedging is not None:  # a client that cannot send late requests again itself; route G does it
        return cells
    reads = layout.versioned_reads
    ahead = _AHEAD if reads is not None and reads.begins else 1
    threads = config.workers * (1 if ahead > 1 else _THREADS_PER_CORE)
    threads = min(threads, max_workers(layout.largest, nbytes), -(-len(projection) // 2))
    shared = _Cells(cells)

    def begin() -> Callable[[int], None]:
        return _DirectReader(RequestPlan(layout, projection, window), start(), shared, window, ahead).read

    run(range(threads), begin, threads)
    if shared.slow:
        window.slow_until = perf_counter() + _SLOW_SECONDS
        return cells
    return None


class _Cells:
    """The cells, which the threads share, until one of them sees that the store is slow or fails."""

    def __init__(self, cells: Iterator[Cell]) -> None:
        self._cells = cells
        self._lock = threading.RLock()
        self._token, self._deadline = current_token.get(), current_deadline.get()
        self.slow = self.failed = False

    def take(self) -> Cell | None:
        """The next cell; None at the end."""
        with self._lock:
            if self.slow or self.failed:
                return None
            if self._token is not None:
                self._token.check()
            if self._deadline is not None:
                self._deadline.check()
            return next(self._cells, None)


class _Request:
    """A request of this thread: in flight, if the store can send it ahead."""

    __slots__ = ("fetch", "started", "tag")

    def __init__(self, tag: Tag, fetch: ValueRequest, started: StartedRead | None) -> None:
        self.tag = tag
        self.fetch = fetch
        self.started = started


class _DirectReader:
    """Reads chunks in one thread."""

    def __init__(
        self, plan: RequestPlan, reader: ChunkReader | ShardReader, cells: _Cells, window: Window, ahead: int
    ) -> None:
        self._plan = plan
        self._reader = reader
        self._cells = cells
        self._window = window
        self._ahead = ahead
        reads = plan.layout.versioned_reads
        self._begin = None if reads is None or ahead < 2 else reads.begin
        self._room = memoryview(b"")
        self._requests = 0
        self._shortest = _AT_ONCE
        self._following: list[PendingRequest[Tag, State | None]] = []
        plan.add = self._following.append

    def read(self, _: int) -> None:
        """Read cells until none are left."""
        flights: deque[list[_Request]] = deque()  # for each cell, the requests that were sent
        try:
            while True:
                while len(flights) < self._ahead and (cell := self._cells.take()) is not None:
                    flights.append([self._send(pending) for pending in self._plan.requests(cell)])
                if not flights:
                    return
                self._reader.place_fetched(self._fetch(flights[0]))
                _abandon(flights.popleft())  # requests for an earlier state of a shard
        except BaseException:
            self._cells.failed = True
            raise
        finally:
            for requests in flights:
                _abandon(requests)

    def _send(self, pending: PendingRequest[Tag, State | None]) -> _Request:
        fetch = cast("ValueRequest", pending.act)
        start, length = fetch.range
        started = None
        if self._begin is not None and start >= 0 and length is not None:
            started = self._begin(fetch.key, (start, length), fetch.version)
        return _Request(pending.tag, fetch, started)

    def _fetch(self, requests: list[_Request]) -> FetchedChunk:
        """Receive the answers to the requests for a cell, and to those that follow from them."""
        while True:
            request = requests.pop(0)
            fetched = self._plan.answer(request.tag, self._receive(request))
            requests += [self._send(pending) for pending in self._following]
            self._following.clear()
            if fetched is not None:
                return fetched

    def _receive(self, request: _Request) -> State | None:
        started, request.started = request.started, None
        before = perf_counter()
        if started is None:
            state = request.fetch()
            self._observe(perf_counter() - before, state)
            return state
        state = started.finish(self._memory(request))
        self._observe(perf_counter() - before, state)
        return state

    def _memory(self, request: _Request) -> memoryview | None:
        """Memory of this thread for the next answer, if its data are not needed any more after that."""
        length = request.fetch.range[1]
        if isinstance(request.tag, ShardRequest) or length is None or length > _MAX_ROOM:
            return None
        if len(self._room) < length:
            self._room = np.empty(length, np.uint8).data
        return self._room

    def _observe(self, seconds: float, state: State | None) -> None:
        """Learn from a request. The shortest of several counts: other programs, too, delay some of them."""
        if state is not None and state.data is not None:
            seconds = max(1e-6, seconds - _BYTE * len(state.data))
        self._window.observe(seconds)
        self._shortest = min(self._shortest, seconds)
        self._requests += 1
        if self._requests == _LOOK:
            if self._shortest >= _AT_ONCE:
                self._cells.slow = True
            self._requests, self._shortest = 0, _AT_ONCE


def _abandon(requests: list[_Request]) -> None:
    for request in requests:
        if request.started is not None:
            request.started.abandon()
