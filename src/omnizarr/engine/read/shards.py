"""Route F: reads shards in Python. Only the inner chunks that a selection touches are fetched and decoded. Inner chunks
that are taken entirely are decoded in rows, and each row is placed with one copy. Shards within shards are handled by
recursion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain, Sharding
from omnizarr.codecs.sharding import ShardIndex
from omnizarr.engine.buffers import WorkerBuffer
from omnizarr.engine.coalesce import coalesce, get_extents
from omnizarr.engine.layout import Layout, inner_axes, sharding_of
from omnizarr.engine.numpy_index import assign
from omnizarr.engine.place import fill_target, place, raise_for_chunk
from omnizarr.engine.read.partial import ChunkPart
from omnizarr.engine.schedule import decode_row, max_wait, row_length, takes_whole_shard
from omnizarr.errors import CodecError, MissingDependencyError
from omnizarr.indexing import Cell, Projection, Row, only_chunk
from omnizarr.store import Buffer, Snapshot, Snapshots
from omnizarr.store.snapshot import SnapshotPart
from omnizarr.store.values import Extent

if TYPE_CHECKING:
    from omnizarr.engine.read.native.received import ReceivedChunks

__all__ = ["FetchedChunk", "ShardReader", "check_inner_chunks", "check_tries", "coalesced_extents", "get_inner_chunks"]

_MAX_TRIES = 100
_REMOTE_GAP = 2**16  # bytes between inner chunks, up to which fetching the gap is faster than another request
_GAP = 2**13  # bytes between inner chunks, up to which reading the gap is faster than another call
_MAX_EXTENT = 2**23  # bytes per call
_SMALL_SHARD = 2**16  # bytes of a nested shard, up to which reading it whole is faster than looking at its index
_MAX_ROOM = 2**28  # bytes of a shard for which memory is reused; the system provides only the pages that are used

InnerChunk: TypeAlias = "Buffer | Mapping[int, InnerChunk] | None"
"""The stored bytes of an inner chunk, None if it is empty. For a nested shard, possibly only the selected inner chunks
of that shard."""
InnerChunks: TypeAlias = Sequence[Buffer | None] | Mapping[int, InnerChunk]
"""Inner chunks by their number."""


class FetchedChunk(NamedTuple):
    """The stored bytes that route G or J fetched for a cell, of a chunk or a shard."""

    cell: Cell
    data: Buffer | None = None
    """The stored chunk, or the bytes of `part`; None if the chunk is absent."""
    part: ChunkPart | None = None
    selected: Projection | None = None
    """For a shard: the projection of the cell's picks on its inner chunks."""
    inner_chunks: InnerChunks | None = None
    """For a shard: the inner chunks, if they were fetched instead of the whole shard."""


class ShardReader:
    """Reads shards in one thread."""

    def __init__(
        self,
        layout: Layout,
        points: tuple[int, ...],
        plain: bool,
        block: npt.NDArray[Any],
        buffer: WorkerBuffer,
        received: ReceivedChunks | None = None,
    ) -> None:
        """`points` and `plain` are those of the projection of the cells. `received` decodes the inner chunks that other
        code fetches, if the kernel can."""
        self._received = received
        self._layout = layout
        self._points = points
        self._plain = plain
        self._block = block
        self._buffer = buffer
        self._room: memoryview | None = None
        self._chain: Chain | None = None
        self._sharding: BoundSharding

    def __call__(self, row: Row) -> bool:
        """Read a row of shards; whether the store was so slow that other threads should help."""
        waited = allowed = 0.0
        for cell in row.cells:
            waited += self.read(cell)
            allowed += max_wait(self._sharding.spec.nbytes)
        return waited > allowed

    def _bind(self, cell: Cell) -> BoundSharding:
        chain = self._layout.chain(cell.chunk)
        if chain is not self._chain:
            self._layout.check_size(chain)
            sharding = sharding_of(chain)
            assert sharding is not None
            self._chain, self._sharding = chain, sharding
        return self._sharding

    def read(self, cell: Cell) -> float:
        """Place what `cell` takes from its shard, and return how many seconds the store took."""
        layout = self._layout
        key = layout.key(cell.names)
        try:
            return self._read(self._bind(cell), key, cell)
        except (CodecError, MissingDependencyError) as error:
            raise_for_chunk("read", layout, cell.chunk, key, error)

    def place_fetched(self, fetched: FetchedChunk) -> None:
        """Place what a cell takes from a shard that was fetched."""
        cell = fetched.cell
        try:
            sharding = self._bind(cell)
            selected, data, inner_chunks = fetched.selected, fetched.data, fetched.inner_chunks
            assert selected is not None
            if self._received is not None and self._received.place_shard(cell, selected, data, inner_chunks):
                return
            if data is not None:
                inner_chunks = sharding.split(data)
            self._place(sharding, cell, selected, inner_chunks)
        except (CodecError, MissingDependencyError) as error:
            raise_for_chunk("read", self._layout, cell.chunk, self._layout.key(cell.names), error)

    def _read(self, sharding: BoundSharding, key: str, cell: Cell) -> float:
        layout, block = self._layout, self._block
        axes = inner_axes(sharding, layout.clipped(cell.chunk))
        before = perf_counter()
        nested = sharding_of(sharding.inner) is not None
        single = only_chunk(cell.inner, axes) if self._plain and sharding.count > 1 and not nested else None
        inner_chunks: InnerChunks | None
        if single is not None:
            number = sharding.number(single[0])
            inner_chunks = self._fetch_some(sharding, key, [number])
            waited = perf_counter() - before
            if inner_chunks is None:
                assign(block, cell.outer, layout.fill)
            else:
                data, inner = _as_bytes(inner_chunks[number]), sharding.inner
                block[cell.outer] = inner.spec.fill if data is None else inner.decode(data)[single[1]]
            return waited
        selected = Projection(cell.inner, self._points, axes)
        if nested and layout.snapshots is not None:
            inner_chunks = self._fetch_nested(layout.snapshots, sharding, key, selected)
        elif takes_whole_shard(sharding, len(selected)):
            shard = self._fetch_whole(sharding, key)
            inner_chunks = None if shard is None else sharding.split(shard)
        else:
            inner_chunks = self._fetch_some(sharding, key, [sharding.number(inner.chunk) for inner in selected])
        waited = perf_counter() - before
        self._place(sharding, cell, selected, inner_chunks)
        return waited

    # -- fetching

    def _fetch_whole(self, sharding: BoundSharding, key: str) -> Buffer | None:
        """The bytes of a shard, valid until the next call; None if it is absent."""
        layout, limit = self._layout, sharding.encoded.limit
        if layout.store.in_memory or limit >= _MAX_ROOM:
            return layout.get(key, limit)
        if self._room is None or len(self._room) <= limit:
            self._room = np.empty(limit + 1, np.uint8).data
        count = layout.store.get_into(key, 0, self._room)
        if count is None or count <= limit:
            return None if count is None else self._room[:count]
        return layout.get(key, limit)  # raises

    def _fetch_some(self, sharding: BoundSharding, key: str, numbers: list[int]) -> Mapping[int, Buffer | None] | None:
        """Some inner chunks of a shard, all from one state of it; None if the shard is absent."""
        snapshots = self._layout.snapshots
        if snapshots is None:
            return self._fetch_and_check(sharding, key, numbers)
        snapshot = snapshots.open(key)
        if snapshot is None:
            return None
        try:
            extents = self._layout.index_of(sharding, key, snapshot).extents(numbers)
            return dict(zip(numbers, get_inner_chunks(snapshot, extents), strict=True))
        finally:
            snapshot.close()

    def _fetch_nested(
        self, snapshots: Snapshots, sharding: BoundSharding, key: str, selected: Projection
    ) -> InnerChunks | None:
        """The selected inner chunks of the nested shards in a shard."""
        snapshot = snapshots.open(key)
        if snapshot is None:
            return None
        try:
            return self._fetch_level(sharding, self._layout.index_of(sharding, key, snapshot), snapshot, selected)
        finally:
            snapshot.close()

    def _fetch_level(
        self, sharding: BoundSharding, index: ShardIndex, snapshot: Snapshot, selected: Projection
    ) -> dict[int, InnerChunk]:
        nested = sharding_of(sharding.inner)
        cells = list(selected)
        numbers = [sharding.number(cell.chunk) for cell in cells]
        inner_chunks: dict[int, InnerChunk] = {}
        whole: list[tuple[int, Extent | None]] = []
        for cell, number, extent in zip(cells, numbers, index.extents(numbers), strict=True):
            within = None
            if nested is not None and extent is not None and extent[1] > _SMALL_SHARD:
                within = Projection(cell.inner, selected.points, inner_axes(nested, nested.spec.shape))
            if nested is None or extent is None or within is None or takes_whole_shard(nested, len(within)):
                whole.append((number, extent))
                continue
            shard = SnapshotPart(snapshot, *extent)
            inner_index = nested.decode_index(shard.get(nested.index_range), shard.size)
            inner_chunks[number] = self._fetch_level(nested, inner_index, shard, within)
        values = get_inner_chunks(snapshot, [extent for _, extent in whole])
        return inner_chunks | dict(zip((number for number, _ in whole), values, strict=True))

    def _fetch_and_check(
        self, sharding: BoundSharding, key: str, numbers: list[int]
    ) -> Mapping[int, Buffer | None] | None:
        """`_fetch_some` for a store without snapshots, which may answer each request from another state of the shard.
        It cannot detect two replacements in between whose last one has the same index again."""
        store = self._layout.store
        stored_index = store.get(key, sharding.index_range)
        tries = 0
        while stored_index is not None:
            check_tries(tries)
            tries += 1
            extents = sharding.decode_index(stored_index).extents(numbers)
            # Request the index again after the inner chunks. If a writer replaced the shard in between, the old index
            # refers to arbitrary bytes of the new shard.
            *values, index_after = store.get_partial_values(
                [*((key, extent) for extent in extents if extent is not None), (key, sharding.index_range)]
            )
            if store.remote and index_after is not None:  # it may have answered the index first
                index_after = store.get(key, sharding.index_range)
            if index_after is not None and bytes(index_after) == bytes(stored_index):
                return dict(zip(numbers, check_inner_chunks(extents, values), strict=True))
            stored_index = index_after
        return None

    # -- placing

    def _place(
        self, sharding: BoundSharding, cell: Cell, selected: Projection, inner_chunks: InnerChunks | None
    ) -> None:
        """Place what `cell` takes from the inner chunks that were fetched; None if the shard is absent. `selected` is
        the projection of the cell's picks on the inner chunks."""
        block = self._block
        if inner_chunks is None:
            assign(block, cell.outer, self._layout.fill)
            return

        def fill(target: npt.NDArray[Any]) -> None:
            self._fill(sharding, selected, inner_chunks, target)

        fill_target(block, cell, self._points, self._plain, sharding.spec.dtype, fill)

    def _fill(
        self, sharding: BoundSharding, selected: Projection, inner_chunks: InnerChunks, target: npt.NDArray[Any]
    ) -> None:
        """Fill `target`, the block of `selected`, from the inner chunks."""
        inner = sharding.inner
        nested = sharding_of(inner)
        by_row = inner.direct and nested is None and target.dtype == inner.spec.dtype
        for row in selected.rows(row_length(inner)):
            if by_row and row.outer is not None:
                start, count = sharding.number(row.first.chunk), len(row)
                self._decode(inner, [_as_bytes(inner_chunks[number]) for number in range(start, start + count)])
                self._buffer.place(target[row.outer], count)
                continue
            if nested is not None:
                for cell in row.cells:
                    self._fill_nested(nested, selected, inner_chunks[sharding.number(cell.chunk)], cell, target)
                continue
            values = [_as_bytes(inner_chunks[sharding.number(cell.chunk)]) for cell in row.cells]
            chunks = self._decode(inner, values) if inner.direct else map(inner.decode_or_fill, values)
            for cell, chunk in zip(row.cells, chunks, strict=False):
                place(target, cell, selected, chunk)

    def _decode(self, inner: Chain, values: list[Buffer | None]) -> list[npt.NDArray[Any]]:
        """Decode inner chunks in the row buffer, which may hold more chunks than there are values."""
        row = self._buffer.row(inner, len(values))
        decode_row(inner, values, row.chunks, row.memories, row.memory)
        return row.chunks

    def _fill_nested(
        self,
        nested: BoundSharding,
        selected: Projection,
        inner_chunk: InnerChunk,
        cell: Cell,
        target: npt.NDArray[Any],
    ) -> None:
        if inner_chunk is None:
            assign(target, cell.outer, nested.spec.fill)
            return
        inner_chunks: InnerChunks = inner_chunk if isinstance(inner_chunk, Mapping) else nested.split(inner_chunk)
        within = Projection(cell.inner, selected.points, inner_axes(nested, nested.spec.shape))

        def fill(part: npt.NDArray[Any]) -> None:
            self._fill(nested, within, inner_chunks, part)

        fill_target(target, cell, selected.points, selected.plain, nested.spec.dtype, fill)


def _as_bytes(inner_chunk: InnerChunk) -> Buffer | None:
    assert not isinstance(inner_chunk, Mapping)  # only nested shards are fetched in parts
    return inner_chunk


def check_tries(tries: int) -> None:
    """Raise if a shard was replaced during each of 100 attempts to read parts of it."""
    if tries >= _MAX_TRIES:
        raise CodecError(Sharding.name, f"gave up after {_MAX_TRIES} attempts: other writers keep replacing this shard")


def coalesced_extents(extents: Sequence[Extent], *, remote: bool) -> list[Extent]:
    """The parts of a shard that are read for inner chunks at these positions, which are sorted."""
    return [extent for extent, _ in coalesce(extents, _REMOTE_GAP if remote else _GAP, _MAX_EXTENT)]


def get_inner_chunks(snapshot: Snapshot, extents: list[Extent | None]) -> list[Buffer | None]:
    """The inner chunks at these positions of a shard, None for an empty one. Neighbours are read together."""
    values = get_extents([extent for extent in extents if extent is not None], snapshot.get, _GAP, _MAX_EXTENT)
    return check_inner_chunks(extents, values)


def check_inner_chunks(extents: list[Extent | None], values: Sequence[Buffer | None]) -> list[Buffer | None]:
    """One value per extent, with None for each empty inner chunk; an error if a value is shorter than its extent."""
    inner_chunks: list[Buffer | None] = []
    remaining = iter(values)
    for extent in extents:
        inner_chunk = None if extent is None else next(remaining)
        if extent is not None and (inner_chunk is None or len(inner_chunk) != extent[1]):
            raise CodecError(
                Sharding.name, f"the shard ends before its inner chunk of {extent[1]} bytes at {extent[0]}"
            )
        inner_chunks.append(inner_chunk)
    return inner_chunks
