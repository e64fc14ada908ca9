"""Reading what is left of an array some of whose chunks are damaged."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.numpy_index import put, taken
from omnizarr.engine.route import read
from omnizarr.errors import ArgumentError, ChunkError
from omnizarr.indexing import Pick, Projection, Selection

__all__ = ["OnCorrupt", "check_on_corrupt", "salvage"]


def salvage(layout: Layout, selection: Selection, out: npt.NDArray[Any], on_corrupt: OnCorrupt) -> None:
    """Fills `out` as `read` does, and puts something in the place of what is damaged: of a shard, only of the inner
    chunks that are."""
    try:
        return read(layout, selection, out)
    except ChunkError:
        if on_corrupt == "raise":
            raise
    whole = np.empty(selection.shape, layout.dtype)
    block = selection.block(whole)
    projection = Projection(selection.picks, selection.points, layout.axes)
    for cell in projection:
        chunk = _chunk(layout, cell.chunk, on_corrupt)
        inner = tuple(map(_clipped, cell.inner, chunk.shape))
        if projection.order is not None:
            chunk = chunk.transpose(projection.order)
        put(block, cell.outer, taken(chunk, projection.expression(inner)))
    out[...] = whole


def _clipped(pick: Pick, length: int) -> Pick:
    """A pick from a chunk as one from the part of it that lies in the array: a mask is as long as that."""
    return pick if isinstance(pick, slice) or pick.dtype != bool else pick[:length]


def _chunk(layout: Layout, chunk: tuple[int, ...], on_corrupt: OnCorrupt) -> npt.NDArray[Any]:
    """The part of a chunk that lies in the array."""
    shape = layout.clipped(chunk)
    starts = [axis.bounds(index)[0] for axis, index in zip(layout.axes, chunk, strict=True)]
    found = np.empty(shape, layout.dtype)
    sharding = sharding_of(layout.chain(chunk))
    steps = shape if sharding is None else sharding.inner.spec.shape
    try:
        read(layout, _window(starts, shape), found)
        return found
    except ChunkError as error:
        if sharding is None:
            found[...] = _instead(layout, shape, error, on_corrupt)
            return found
    for corner in product(*(range(0, length, step) for length, step in zip(shape, steps, strict=True))):
        lengths = [min(step, length - at) for step, length, at in zip(steps, shape, corner, strict=True)]
        part = np.empty(lengths, layout.dtype)
        try:
            read(layout, _window([start + at for start, at in zip(starts, corner, strict=True)], lengths), part)
        except ChunkError as error:
            part[...] = _instead(layout, tuple(lengths), error, on_corrupt)
        found[tuple(slice(at, at + length) for at, length in zip(corner, lengths, strict=True))] = part
    return found


def _window(starts: list[int], lengths: tuple[int, ...] | list[int]) -> Selection:
    shape = tuple(lengths)
    picks = tuple(slice(start, start + length, 1) for start, length in zip(starts, shape, strict=True))
    return Selection(picks, (), shape, shape)


def _instead(layout: Layout, shape: tuple[int, ...], error: ChunkError, on_corrupt: OnCorrupt) -> npt.NDArray[Any]:
    value = on_corrupt(error) if callable(on_corrupt) else None
    if value is None:
        return layout.fill
    try:
        return np.broadcast_to(np.asarray(value, layout.dtype), shape)
    except (TypeError, ValueError) as reason:
        raise ArgumentError(
            f"`on_corrupt`: what it gives cannot stand for a chunk of shape {shape} and type {layout.dtype}: {reason}",
            argument="on_corrupt",
        ) from error


OnCorrupt: TypeAlias = Literal["raise", "fill"] | Callable[[ChunkError], Any]
"""What to do with a chunk that cannot be decoded: raise the error; take the fill value; or ask a function, which gets
the error and gives what stands for the chunk's elements, or None for the fill value."""


def check_on_corrupt(given: object) -> OnCorrupt:
    """`given`, if it is one of these."""
    if given == "raise" or given == "fill" or callable(given):
        return given
    raise ArgumentError(f'`on_corrupt`: expected "raise", "fill" or a function, found {given!r}', argument="on_corrupt")
