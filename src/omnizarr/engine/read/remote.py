"""Route G: fetches chunks from a remote store. Many requests are in flight at once, and each chunk that is complete is
decoded while others arrive.

A shard takes several requests in sequence: its index, unless that is cached, then its inner chunks. All answers must
come from one state of the shard. If the store has versions, each request names the version of the index. If it has
none, the index is requested again after the inner chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.codecs.contract import check_size
from omnizarr.codecs.sharding import ShardIndex
from omnizarr.engine.cancel import current_token
from omnizarr.engine.coalesce import coalesce
from omnizarr.engine.layout import Layout, inner_axes, sharding_of, too_long
from omnizarr.engine.place import raise_for_chunk
from omnizarr.engine.read.partial import ChunkPart, part_of
from omnizarr.engine.read.shards import FetchedChunk, check_inner_chunks, check_tries
from omnizarr.engine.schedule import takes_whole_shard
from omnizarr.errors import CodecError
from omnizarr.indexing import Cell, Projection
from omnizarr.store import Buffer, ByteRange
from omnizarr.store.contract import State, Version
from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest
from omnizarr.store.requests.window import Window
from omnizarr.store.values import Extent

__all__ = ["RequestPlan", "ShardRequest", "Tag", "ValueRequest", "fetch"]

_BATCH = 1024  # requests per call of a store that schedules them itself
_MANY = 64  # requests, above which there is time to allocate the block's memory while waiting
_DEFAULT_REQUESTS = 32  # in flight, if the store does not name a limit
_GAP = 2**16  # bytes between inner chunks, up to which fetching the gap is faster than another request
_MAX_EXTENT = 2**23  # bytes per request
_MAX_RATIO = 8  # assume at most 8:1 compression when reserving memory


def fetch(
    layout: Layout, projection: Projection, cells: Iterator[Cell], block: npt.NDArray[Any]
) -> Generator[FetchedChunk]:
    """The cells, which are those of the projection or the rest of them, in the order in which they are complete."""
    if layout.store.window is None and layout.sharding is None:
        return _fetch_batches(layout, cells)
    return _fetch_concurrently(layout, projection, cells, block)


def _fetch_batches(layout: Layout, cells: Iterator[Cell]) -> Generator[FetchedChunk]:
    while batch := list(islice(cells, _BATCH)):
        for index, data in layout.store.get_each([(layout.key(cell.names), None) for cell in batch]):
            yield FetchedChunk(batch[index], data)


def _fetch_concurrently(
    layout: Layout, projection: Projection, cells: Iterator[Cell], block: npt.NDArray[Any]
) -> Generator[FetchedChunk]:
    window = layout.store.window or Window(_DEFAULT_REQUESTS)
    plan = RequestPlan(layout, projection, window)
    token = current_token.get()

    def pending() -> Iterator[PendingRequest[Tag, State | None]]:
        for cell in cells:
            if token is not None:
                token.check()
            yield from plan.requests(cell)

    overlap: ConcurrentRequests[Tag, State | None] = ConcurrentRequests(window, pending(), _size, hedge=True)
    plan.add = overlap.add
    try:
        if len(projection) > _MANY:
            overlap.begin()
            _touch_pages(block)
        for tag, state in overlap:
            fetched = plan.answer(tag, state)
            if fetched is not None:
                yield fetched
    finally:
        overlap.close()


def _touch_pages(block: npt.NDArray[Any]) -> None:
    """Write one byte of each page, unchanged, so that the system allocates the memory now. That takes about as long as
    filling the block, and happens while the first requests are in flight."""
    if block.flags.c_contiguous and not block.dtype.hasobject:
        pages = block.reshape(-1).view(np.uint8)[:: 2**12]
        pages[...] = pages.copy()


class _ChunkRequest:
    """A request for a chunk, a part of a chunk, or a whole shard."""

    def __init__(
        self, cell: Cell, limit: int, part: ChunkPart | None = None, selected: Projection | None = None
    ) -> None:
        self.cell = cell
        self.limit = limit
        self.part = part
        self.selected = selected


class _Shard:
    """A shard with its selected inner chunks, and the state of fetching them."""

    def __init__(self, cell: Cell, sharding: BoundSharding, key: str, selected: Projection) -> None:
        self.cell = cell
        self.sharding = sharding
        self.key = key
        self.selected = selected
        self.numbers = [sharding.number(inner.chunk) for inner in selected]
        self.extents: list[Extent | None] = []
        self.values: list[Buffer | None] = []
        self.version: Version = None
        self.stored_index: bytes | None = None
        """The index as stored, if it must be compared again."""
        self.missing = 0
        self.attempt = 0


class ShardRequest(NamedTuple):
    shard: _Shard
    attempt: int
    """Answers of an earlier attempt, from before the shard changed, are ignored."""
    extent: Extent
    members: list[int]
    """Which of the selected inner chunks are in the extent; empty if the request is for the index."""


Tag: TypeAlias = _ChunkRequest | ShardRequest


class ValueRequest:
    """A call that requests a value or a part of it, and returns the answer."""

    __slots__ = ("_plan", "key", "range", "version")

    def __init__(self, plan: RequestPlan, key: str, range: ByteRange, version: Version = None) -> None:
        self._plan = plan
        self.key = key
        self.range = range
        self.version = version

    def __call__(self) -> State | None:
        return self._plan.get(self.key, self.range, self.version)


class RequestPlan:
    """The requests for the cells of a projection, and what their answers mean. `add` gets the requests that follow from
    an answer."""

    def __init__(self, layout: Layout, projection: Projection, window: Window) -> None:
        self.layout = layout
        self._projection = projection
        self._window = window
        self._checked: Chain | None = None
        self.add: Callable[[PendingRequest[Tag, State | None]], None]

    def get(self, key: str, range: ByteRange, version: Version = None) -> State | None:
        reads = self.layout.versioned_reads
        if reads is not None:
            return reads.get(key, range, version)
        value = self.layout.store.get(key, range)
        return None if value is None else State(value, None, None)

    def answer(self, tag: Tag, state: State | None) -> FetchedChunk | None:
        """The cell that the answer completes, if it does."""
        try:
            return self._chunk_answer(tag, state) if isinstance(tag, _ChunkRequest) else self._shard_answer(tag, state)
        except CodecError as error:
            cell = tag.cell if isinstance(tag, _ChunkRequest) else tag.shard.cell
            raise_for_chunk("read", self.layout, cell.chunk, self.layout.key(cell.names), error)

    def requests(self, cell: Cell) -> list[PendingRequest[Tag, State | None]]:
        """The first requests for a cell."""
        layout, projection = self.layout, self._projection
        chain, key = layout.chain(cell.chunk), layout.key(cell.names)
        if chain is not self._checked:
            layout.check_size(chain)
            self._checked = chain
        sharding = None if layout.sharding is None else sharding_of(chain)
        if sharding is None:
            part = part_of(chain, layout, cell.inner) if projection.plain and not chain.compressed else None
            if part is not None:
                act = ValueRequest(self, key, (part.start, part.length))
                return [PendingRequest(_ChunkRequest(cell, 0, part), act, part.length)]
            limit = chain.encoded.limit
            return [self._request_whole(cell, key, limit, None, limit // _MAX_RATIO if chain.compressed else limit)]
        selected = Projection(cell.inner, projection.points, inner_axes(sharding, layout.clipped(cell.chunk)))
        if takes_whole_shard(sharding, len(selected)):
            limit = sharding.encoded.limit
            return [self._request_whole(cell, key, limit, selected, limit // _MAX_RATIO)]
        shard = _Shard(cell, sharding, key, selected)
        known = layout.indexes.latest(key)
        # If all inner chunks are empty, the index is requested to find out whether the shard is still the same.
        return (self._request_inner_chunks(shard, *known) if known else []) or [self._request_index(shard)]

    def _request_whole(
        self, cell: Cell, key: str, limit: int, selected: Projection | None, least: int
    ) -> PendingRequest[Tag, State | None]:
        act = ValueRequest(self, key, (0, limit + 1))  # one byte more than a valid value has
        # The sizes that the window has seen may be those of documents, which say nothing about chunks.
        return PendingRequest(_ChunkRequest(cell, limit, None, selected), act, max(self._window.expected(limit), least))

    # -- shards

    def _request_index(self, shard: _Shard) -> PendingRequest[Tag, State | None]:
        sharding = shard.sharding
        act = ValueRequest(self, shard.key, sharding.index_range)
        return PendingRequest(
            ShardRequest(shard, shard.attempt, (0, sharding.index_size), []), act, sharding.index_size
        )

    def _request_inner_chunks(
        self, shard: _Shard, version: Version, index: ShardIndex
    ) -> list[PendingRequest[Tag, State | None]]:
        """Requests for the inner chunks, from that version of the shard."""
        shard.version = version
        shard.extents = index.extents(shard.numbers)
        shard.values = [None] * len(shard.extents)
        stored = [position for position, extent in enumerate(shard.extents) if extent is not None]
        joined = coalesce([extent for extent in shard.extents if extent is not None], _GAP, _MAX_EXTENT)
        shard.missing = len(joined)
        return [
            PendingRequest(
                ShardRequest(shard, shard.attempt, extent, [stored[member] for member in members]),
                ValueRequest(self, shard.key, extent, version),
                extent[1],
            )
            for extent, members in joined
        ]

    def _shard_answer(self, tag: ShardRequest, state: State | None) -> FetchedChunk | None:
        """Store an answer; return the cell if the shard is complete."""
        shard = tag.shard
        if tag.attempt != shard.attempt:
            return None
        if state is None:
            self.layout.indexes.forget(shard.key)
            shard.attempt += 1
            return FetchedChunk(shard.cell, None, None, shard.selected)
        if state.data is None:  # the shard has another version by now
            self.layout.indexes.forget(shard.key)
            shard.attempt += 1
            check_tries(shard.attempt - 1)
            self.add(self._request_index(shard))
            return None
        if not tag.members:
            return self._index_answer(shard, state)
        begin, data = tag.extent[0], memoryview(state.data)
        for member in tag.members:
            extent = shard.extents[member]
            assert extent is not None
            shard.values[member] = data[extent[0] - begin : extent[0] - begin + extent[1]]
        shard.missing -= 1
        if shard.missing:
            return None
        if shard.version is None:
            self.add(self._request_index(shard))  # to compare it with the first one
            return None
        return self._complete(shard)

    def _index_answer(self, shard: _Shard, state: State) -> FetchedChunk | None:
        data = bytes(state.data or b"")
        if shard.stored_index == data:  # the second answer: the shard did not change in between
            return self._complete(shard)
        index = shard.sharding.decode_index(data, state.size)
        if state.version is None:
            shard.stored_index = data
            check_tries(shard.attempt - 1)
            shard.attempt += 1
        else:
            self.layout.indexes.put(shard.key, state.version, index, shard.sharding.index_size)
        requests = self._request_inner_chunks(shard, state.version, index)
        if not requests:
            return self._complete(shard)
        for request in requests:
            self.add(request)
        return None

    @staticmethod
    def _complete(shard: _Shard) -> FetchedChunk:
        values = [value for value, extent in zip(shard.values, shard.extents, strict=True) if extent is not None]
        inner_chunks = check_inner_chunks(shard.extents, values)
        return FetchedChunk(shard.cell, None, None, shard.selected, dict(zip(shard.numbers, inner_chunks, strict=True)))

    # -- chunks

    def _chunk_answer(self, tag: _ChunkRequest, state: State | None) -> FetchedChunk:
        data = None if state is None else state.data
        if state is None or data is None:
            return FetchedChunk(tag.cell, None, None, tag.selected)
        if tag.part is not None:
            self._check_part(tag.cell, tag.part, state, data)
        elif len(data) > tag.limit:
            raise too_long(tag.limit)
        return FetchedChunk(tag.cell, data, tag.part, tag.selected)

    def _check_part(self, cell: Cell, part: ChunkPart, state: State, data: Buffer) -> None:
        chain = self.layout.chain(cell.chunk)
        if state.size is not None and state.size != chain.spec.nbytes:
            check_size("bytes", chain.encoded, state.size)
        if len(data) != part.length:
            check_size("bytes", chain.encoded, part.start + len(data))


def _size(state: State | None) -> int:
    return 0 if state is None or state.data is None else len(state.data)
