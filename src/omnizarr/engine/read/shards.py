"""Reading shards: only the inner chunks that a selection touches are fetched and decoded. Those that are taken entirely
are decoded in rows, each placed by one copy. Shards inside shards are the same question asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain, Sharding
from omnizarr.codecs.sharding import ShardIndex
from omnizarr.engine.buffers import Stage, row_length
from omnizarr.engine.coalesce import fetched
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.numpy_index import put, taken
from omnizarr.engine.schedule import decode_row
from omnizarr.errors import CodecError
from omnizarr.grids.regular import RegularAxis
from omnizarr.indexing import Cell, Pick, Projection, only_chunk, pick_length
from omnizarr.store import Buffer, Snapshot
from omnizarr.store.snapshot import SnapshotPart

__all__ = ["Parts", "ShardReader", "block_shape", "inner_axes", "matched", "parts_at"]

_MOST_TRIES = 100  # of reading parts of a shard that others keep replacing
_GAP = 2**13  # bytes between inner chunks that are read sooner than another request is made
_MOST_TOGETHER = 2**23  # bytes that are read at once
_SMALL = 2**16  # bytes of a shard within a shard that are sooner read than its index is looked at
_LARGEST_ROOM = 2**28  # bytes of a stored shard for which room is kept; only what is used of it takes memory

Part: TypeAlias = "Buffer | Mapping[int, Part] | None"
"""An encoded inner chunk, None for an empty one; of a shard within a shard, it may be the inner chunks that are wanted
of that."""
Parts: TypeAlias = Sequence[Buffer | None] | Mapping[int, Part]
"""Inner chunks by their number."""


class ShardReader:
    """One thread's reading of the shards of one array."""

    def __init__(self, layout: Layout, points: tuple[int, ...], plain: bool, block: npt.NDArray[Any], stage: Stage):
        """`points` and `plain` are those of the projection whose cells are read."""
        self._layout = layout
        self._points = points
        self._plain = plain
        self._block = block
        self._stage = stage
        self._room: memoryview | None = None

    def read(self, sharding: BoundSharding, key: str, cell: Cell) -> float:
        """Places what `cell` picks from the shard under `key`; how many seconds the store took."""
        layout, block, points = self._layout, self._block, self._points
        axes = inner_axes(sharding, layout.clipped(cell.chunk))
        before = perf_counter()
        nested = sharding_of(sharding.inner) is not None
        single = only_chunk(cell.inner, axes) if self._plain and sharding.count > 1 and not nested else None
        if single is not None:
            number = sharding.number(single[0])
            found = self._some(sharding, key, [number])
            waited = perf_counter() - before
            if found is None:
                put(block, cell.outer, layout.fill)
            else:
                self._fill_from_one(sharding.inner, found[number], single[1], block[cell.outer])
            return waited
        wanted = Projection(cell.inner, points, axes)
        parts: Parts | None
        if nested and layout.store.holds:
            parts = self._nested(sharding, key, wanted)
        elif 2 * len(wanted) > sharding.count:
            data = self._whole(sharding, key)
            parts = None if data is None else sharding.split(data)
        else:
            parts = self._some(sharding, key, [sharding.number(inner.chunk) for inner in wanted])
        waited = perf_counter() - before
        self.place(sharding, cell, wanted, parts)
        return waited

    def place(self, sharding: BoundSharding, cell: Cell, wanted: Projection, parts: Parts | None) -> None:
        """Puts what `cell` picks where it belongs, from the inner chunks that were fetched; None if there is no shard.
        `wanted` is what it picks of them."""
        block, points = self._block, self._points
        if parts is None:
            put(block, cell.outer, self._layout.fill)
        elif self._plain:
            self._fill(sharding, wanted, parts, block[cell.outer])
        else:
            some = np.empty(block_shape(cell.inner, points), sharding.spec.dtype)
            self._fill(sharding, wanted, parts, some)
            put(block, cell.outer, some)

    @staticmethod
    def _fill_from_one(inner: Chain, part: Buffer | None, picks: tuple[Pick, ...], target: npt.NDArray[Any]) -> None:
        """What `_fill` does, for a single inner chunk."""
        target[...] = inner.spec.fill if part is None else inner.decode(part)[picks]

    # -- fetching

    def _whole(self, sharding: BoundSharding, key: str) -> Buffer | None:
        """A shard's bytes, which are good until the next shard is asked for."""
        layout, limit = self._layout, sharding.encoded.limit
        if layout.store.in_memory or limit >= _LARGEST_ROOM:
            return layout.get(key, limit)
        if self._room is None or len(self._room) <= limit:
            self._room = np.empty(limit + 1, np.uint8).data
        found = layout.store.get_into(key, 0, self._room)
        if found is None or found <= limit:
            return None if found is None else self._room[:found]
        return layout.get(key, limit)  # which refuses it

    def _some(self, sharding: BoundSharding, key: str, numbers: list[int]) -> Mapping[int, Buffer | None] | None:
        """Some inner chunks of a shard, all from one state of it; None if there is no shard."""
        store = self._layout.store
        if not store.holds:
            return self._checked(sharding, key, numbers)
        held = store.hold(key)
        if held is None:
            return None
        try:
            places = self._layout.index_of(sharding, key, held).spans(numbers)
            return dict(zip(numbers, parts_at(held, places), strict=True))
        finally:
            held.close()

    def _nested(self, sharding: BoundSharding, key: str, wanted: Projection) -> Parts | None:
        """The same of shards within a shard: of each, only the inner chunks that are wanted of it."""
        held = self._layout.store.hold(key)
        if held is None:
            return None
        try:
            return self._gathered(sharding, self._layout.index_of(sharding, key, held), held, wanted)
        finally:
            held.close()

    def _gathered(
        self, sharding: BoundSharding, index: ShardIndex, held: Snapshot, wanted: Projection
    ) -> dict[int, Part]:
        nested = sharding_of(sharding.inner)
        cells = list(wanted)
        numbers = [sharding.number(cell.chunk) for cell in cells]
        parts: dict[int, Part] = {}
        whole: list[tuple[int, tuple[int, int] | None]] = []
        for cell, number, place in zip(cells, numbers, index.spans(numbers), strict=True):
            within = None
            if nested is not None and place is not None and place[1] > _SMALL:
                within = Projection(cell.inner, wanted.points, inner_axes(nested, nested.spec.shape))
            if nested is None or place is None or within is None or 2 * len(within) > nested.count:
                whole.append((number, place))
                continue
            shard = SnapshotPart(held, *place)
            inside = nested.decode_index(shard.get(nested.index_range), shard.size)
            parts[number] = self._gathered(nested, inside, shard, within)
        found = parts_at(held, [place for _, place in whole])
        return parts | dict(zip((number for number, _ in whole), found, strict=True))

    def _checked(self, sharding: BoundSharding, key: str, numbers: list[int]) -> Mapping[int, Buffer | None] | None:
        """The same from a store that may answer each request from another state of the shard. If it is replaced twice
        meanwhile, in the end by one with the same index, nobody notices: who can tell states apart holds values."""
        store = self._layout.store
        found = store.get(key, sharding.index_range)
        for _ in range(_MOST_TRIES):
            if found is None:
                return None
            index = sharding.decode_index(found)
            places = index.spans(numbers)
            # The index is asked for once more, behind the chunks: if a writer has replaced the shard meanwhile, its old
            # index would lead to anything in the new one.
            *answers, again = store.get_partial_values(
                [*((key, place) for place in places if place is not None), (key, sharding.index_range)]
            )
            if store.remote and again is not None:  # it may have sent them side by side, and so the index first
                again = store.get(key, sharding.index_range)
            if again is not None and bytes(again) == bytes(found):
                return dict(zip(numbers, matched(places, answers), strict=True))
            found = again
        raise CodecError(Sharding.name, "the shard is replaced by others all the time")

    # -- placing

    def _fill(self, sharding: BoundSharding, wanted: Projection, parts: Parts, target: npt.NDArray[Any]) -> None:
        """Puts what `wanted` takes from the inner chunks into `target`, a block of its shape."""
        inner = sharding.inner
        nested = sharding_of(inner)
        by_row = inner.direct and nested is None and target.dtype == inner.spec.dtype
        for row in wanted.rows(row_length(inner)):
            if by_row and row.outer is not None:
                start, count = sharding.number(row.first.chunk), len(row)
                self._decoded(inner, [_bare(parts[number]) for number in range(start, start + count)])
                self._stage.place(target[row.outer], count)
                continue
            if nested is not None:
                for cell in row.cells:
                    self._fill_nested(nested, wanted, parts[sharding.number(cell.chunk)], cell, target)
                continue
            values = [_bare(parts[sharding.number(cell.chunk)]) for cell in row.cells]
            chunks = self._decoded(inner, values) if inner.direct else map(inner.decode_or_fill, values)
            for cell, chunk in zip(row.cells, chunks, strict=False):
                if wanted.order is not None:
                    chunk = chunk.transpose(wanted.order)
                put(target, cell.outer, taken(chunk, wanted.expression(cell.inner)))

    def _decoded(self, inner: Chain, values: list[Buffer | None]) -> list[npt.NDArray[Any]]:
        """Inner chunks, decoded in the stage, where there may be more."""
        staging = self._stage.room_for(inner, len(values))
        decode_row(inner, values, staging.chunks, staging.memories, staging.memory)
        return staging.chunks

    def _fill_nested(
        self, nested: BoundSharding, wanted: Projection, part: Part, cell: Cell, target: npt.NDArray[Any]
    ) -> None:
        if part is None:
            put(target, cell.outer, nested.spec.fill)
            return
        parts: Parts = part if isinstance(part, Mapping) else nested.split(part)
        within = Projection(cell.inner, wanted.points, inner_axes(nested, nested.spec.shape))
        if wanted.plain:
            self._fill(nested, within, parts, target[cell.outer])
        else:
            some = np.empty(block_shape(cell.inner, wanted.points), nested.spec.dtype)
            self._fill(nested, within, parts, some)
            put(target, cell.outer, some)


def _bare(part: Part) -> Buffer | None:
    assert not isinstance(part, Mapping)  # only shards have inner chunks
    return part


def parts_at(held: Snapshot, places: list[tuple[int, int] | None]) -> list[Buffer | None]:
    """The bytes at each place of a shard that is held, None for an empty one; neighbours are read at once."""
    answers = fetched([place for place in places if place is not None], held.get, _GAP, _MOST_TOGETHER)
    return matched(places, answers)


def matched(places: list[tuple[int, int] | None], answers: Sequence[Buffer | None]) -> list[Buffer | None]:
    """The bytes at each place, None for an empty one."""
    parts: list[Buffer | None] = []
    given = iter(answers)
    for place in places:
        part = None if place is None else next(given)
        if place is not None and (part is None or len(part) != place[1]):
            raise CodecError(
                Sharding.name, f"the shard ends before its inner chunk of {place[1]} bytes at {place[0]} does"
            )
        parts.append(part)
    return parts


def inner_axes(sharding: BoundSharding, clipped: tuple[int, ...]) -> tuple[RegularAxis, ...]:
    """The grid of inner chunks in the part of a shard that lies in the array."""
    return tuple(RegularAxis(length, size) for length, size in zip(clipped, sharding.inner.spec.shape, strict=True))


def block_shape(picks: tuple[Pick, ...], points: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the block that picks fill."""
    alone = tuple(pick_length(pick) for dimension, pick in enumerate(picks) if dimension not in points)
    return (pick_length(picks[points[0]]), *alone) if points else alone
