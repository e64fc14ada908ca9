"""Route I: reads an array although some of its chunks are damaged (`on_corrupt=`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding
from omnizarr.engine.layout import Layout, inner_axes, sharding_of
from omnizarr.engine.numpy_index import take
from omnizarr.engine.place import fill_target
from omnizarr.errors import ArgumentError, ChunkError, CodecError
from omnizarr.indexing import Cell, Pick, Projection, Selection

__all__ = ["OnCorrupt", "check_on_corrupt", "salvage"]


_Read: TypeAlias = Callable[[Layout, Selection, npt.NDArray[Any]], None]
"""`route.read`, which chooses one of the other routes."""


def salvage(read: _Read, layout: Layout, selection: Selection, out: npt.NDArray[Any], on_corrupt: OnCorrupt) -> None:
    """Fill `out` like `read`, with a replacement for each damaged chunk, or for each damaged inner chunk of a shard.

    It reads and allocates only what the selection takes: the metadata of damaged chunks may give sizes that do not fit
    in memory.
    """
    try:
        return read(layout, selection, out)
    except ChunkError:
        pass
    whole = out
    if not out.flags.c_contiguous and selection.folded_shape != selection.shape:
        whole = np.empty(selection.shape, out.dtype)  # folding the axes of `out` itself would copy it
    block = selection.block(whole)
    salvager = _Salvager(read, layout, on_corrupt)
    projection = Projection(selection.picks, selection.points, layout.axes)
    for cell in projection:
        salvager.fill_cell(block, cell, projection)
    if whole is not out:
        out[...] = whole


class _Salvager(NamedTuple):
    read: _Read
    layout: Layout
    on_corrupt: OnCorrupt

    def fill_cell(self, block: npt.NDArray[Any], cell: Cell, projection: Projection) -> None:
        """Place what a cell takes from its chunk, or replacements for it."""
        layout = self.layout
        starts = tuple(axis.bounds(index)[0] for axis, index in zip(layout.axes, cell.chunk, strict=True))
        inner = tuple(map(_without_mask, cell.inner))

        def fill(target: npt.NDArray[Any]) -> None:
            error = self._try(starts, inner, projection.points, target)
            if error is None:
                return
            shape = layout.clipped(cell.chunk)
            sharding = sharding_of(layout.chain(cell.chunk))
            if sharding is None:
                self._use_replacement(target, shape, inner, projection, error)
            else:
                readable = self._has_index(sharding, cell)
                self._fill_from_shard(target, sharding, readable, starts, shape, inner, projection.points, error)

        fill_target(block, cell._replace(inner=inner), projection.points, projection.plain, layout.dtype, fill)

    def _fill_from_shard(
        self,
        target: npt.NDArray[Any],
        sharding: BoundSharding,
        readable: bool,
        starts: tuple[int, ...],
        shape: tuple[int, ...],
        picks: tuple[Pick, ...],
        points: tuple[int, ...],
        error: ChunkError,
    ) -> None:
        """Fill `target` with what `picks` take from the inner chunks of a damaged shard. If its index is not
        `readable`, replace all of them: reading each would decode the index again, which may be as long as a chunk."""
        if not readable and not callable(self.on_corrupt):
            target[...] = self.layout.fill
            return
        within = Projection(picks, points, inner_axes(sharding, shape))
        steps = sharding.inner.spec.shape
        for part in within:
            corner = tuple(index * step for index, step in zip(part.chunk, steps, strict=True))
            lengths = tuple(min(step, end - at) for step, end, at in zip(steps, shape, corner, strict=True))

            def fill(room: npt.NDArray[Any], part: Cell = part, corner: Any = corner, lengths: Any = lengths) -> None:
                first = tuple(start + at for start, at in zip(starts, corner, strict=True))
                inner_error = self._try(first, part.inner, points, room) if readable else error
                if inner_error is not None:
                    self._use_replacement(room, lengths, part.inner, within, inner_error)

            fill_target(target, part, points, within.plain, self.layout.dtype, fill)

    def _try(
        self, starts: tuple[int, ...], picks: tuple[Pick, ...], points: tuple[int, ...], target: npt.NDArray[Any]
    ) -> ChunkError | None:
        """Fill `target` with what `picks` take from the chunk that begins at `starts`; the error if it is damaged."""
        moved = tuple(map(_moved, picks, starts))
        try:
            self.read(self.layout, Selection(moved, points, target.shape, target.shape), target)
        except ChunkError as error:
            return error
        return None

    def _has_index(self, sharding: BoundSharding, cell: Cell) -> bool:
        """Whether the index of a shard can be decoded."""
        layout, key = self.layout, self.layout.key(cell.names)
        try:
            layout.check_size(layout.chain(cell.chunk))
            if layout.snapshots is None:
                data = layout.store.get(key, sharding.index_range)
                if data is not None:
                    sharding.decode_index(data, layout.store.size(key))
                return True
            snapshot = layout.snapshots.open(key)
            if snapshot is not None:
                try:
                    layout.index_of(sharding, key, snapshot)
                finally:
                    snapshot.close()
        except CodecError:
            return False
        return True

    def _use_replacement(
        self,
        target: npt.NDArray[Any],
        shape: tuple[int, ...],
        picks: tuple[Pick, ...],
        projection: Projection,
        error: ChunkError,
    ) -> None:
        """Fill `target` with what `picks` take from the replacement of a chunk of this shape."""
        chunk = _replacement(self.layout, shape, error, self.on_corrupt)
        if chunk.ndim == 0:
            target[...] = chunk
            return
        if projection.order is not None:
            chunk = chunk.transpose(projection.order)
        target[...] = take(chunk, projection.expression(picks))


def _without_mask(pick: Pick) -> Pick:
    return pick if isinstance(pick, slice) or pick.dtype != bool else np.flatnonzero(pick)


def _moved(pick: Pick, start: int) -> Pick:
    return slice(pick.start + start, pick.stop + start, pick.step) if isinstance(pick, slice) else pick + start


def _replacement(layout: Layout, shape: tuple[int, ...], error: ChunkError, on_corrupt: OnCorrupt) -> npt.NDArray[Any]:
    """The elements of a damaged chunk as a view that takes no memory for repeated elements."""
    value = on_corrupt(error) if callable(on_corrupt) else None
    if value is None:
        return layout.fill
    try:
        return np.broadcast_to(np.asarray(value, layout.dtype), shape)
    except (TypeError, ValueError) as reason:
        raise ArgumentError(
            f"`on_corrupt`: its result cannot replace a chunk of shape {shape} and type {layout.dtype}: {reason}",
            argument="on_corrupt",
        ) from error


OnCorrupt: TypeAlias = Literal["raise", "fill"] | Callable[[ChunkError], Any]
"""What to do with a chunk that cannot be decoded: raise the error; use the fill value; or call a function with the
error, which returns the elements to use, or None for the fill value."""


def check_on_corrupt(on_corrupt: object) -> OnCorrupt:
    """Return `on_corrupt` if it is valid."""
    if callable(on_corrupt) or (isinstance(on_corrupt, str) and on_corrupt in ("raise", "fill")):
        return on_corrupt  # type: ignore[return-value]
    raise ArgumentError(
        f'`on_corrupt`: expected "raise", "fill" or a function, found {on_corrupt!r}', argument="on_corrupt"
    )
