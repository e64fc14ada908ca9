"""Route J, for a remote store that answers at once: each of a few threads fetches, decodes and places one chunk after
the other. Handing answers from one thread to another would take longer than the answers.

If the store turns out to be slow, the rest of the chunks is left to route G (`engine/read/remote`), which keeps many
requests in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from omnizarr.config import config
from omnizarr.engine.layout import Layout
from omnizarr.engine.pool import run
from omnizarr.engine.read.python import ChunkReader
from omnizarr.engine.read.remote import RequestPlan
from omnizarr.engine.read.shards import FetchedChunk, ShardReader
from omnizarr.engine.schedule import max_workers
from omnizarr.indexing import Cell, Projection
from omnizarr.store.contract import State
from omnizarr.store.requests.reads import PendingRequest
from omnizarr.store.requests.window import Window

if TYPE_CHECKING:
    from omnizarr.engine.read.remote import Tag

__all__ = ["read_directly"]

_AT_ONCE = 0.002  # seconds for a request, up to which a few threads keep the cores busy
_THREADS_PER_CORE = 2  # while one waits, another decodes
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
    threads = min(_THREADS_PER_CORE * config.workers, max_workers(layout.largest, nbytes), -(-len(projection) // 2))
    shared = _Cells(cells)

    def begin() -> Callable[[Cell], None]:
        return _DirectReader(RequestPlan(layout, projection, window), start(), shared, window).read

    run(shared, begin, threads)
    if shared.slow:
        window.slow_until = perf_counter() + _SLOW_SECONDS
        return cells
    return None


class _Cells:
    """The cells, until a thread sees that the store is slow."""

    def __init__(self, cells: Iterator[Cell]) -> None:
        self._cells = cells
        self.slow = False

    def __iter__(self) -> Iterator[Cell]:
        return self

    def __next__(self) -> Cell:
        if self.slow:
            raise StopIteration
        return next(self._cells)


class _DirectReader:
    """Reads chunks in one thread."""

    def __init__(self, plan: RequestPlan, reader: ChunkReader | ShardReader, cells: _Cells, window: Window) -> None:
        self._plan = plan
        self._reader = reader
        self._cells = cells
        self._window = window
        self._pending: list[PendingRequest[Tag, State | None]] = []
        self._room = memoryview(b"")
        self._requests = 0
        self._shortest = _AT_ONCE
        plan.add = self._pending.append
        if plan.layout.store.fills_memory:
            plan.get_whole = self._get_whole  # type: ignore[method-assign]

    def read(self, cell: Cell) -> None:
        self._reader.place_fetched(self._fetch(cell))

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

    def _fetch(self, cell: Cell) -> FetchedChunk:
        pending = self._pending
        pending.clear()  # requests of an earlier state of a shard
        pending += self._plan.requests(cell)
        while True:
            request = pending.pop()
            before = perf_counter()
            state = request.act()
            self._observe(perf_counter() - before, state)
            fetched = self._plan.answer(request.tag, state)
            if fetched is not None:
                return fetched

    def _get_whole(self, key: str, limit: int) -> State | None:
        """A stored value in the memory of this thread, until the next one."""
        if limit >= _MAX_ROOM:
            return self._plan.get(key, (0, limit + 1))
        if len(self._room) <= limit:
            self._room = np.empty(limit + 1, np.uint8).data
        count = self._plan.layout.store.get_into(key, 0, self._room[: limit + 1])
        return None if count is None else State(self._room[:count], None, None)
