"""Route I: reads an array although some of its chunks are damaged (`on_corrupt=`)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.place import place
from omnizarr.errors import ArgumentError, ChunkError
from omnizarr.indexing import Pick, Projection, Selection

__all__ = ["OnCorrupt", "check_on_corrupt", "salvage"]


_Read: TypeAlias = Callable[[Layout, Selection, npt.NDArray[Any]], None]
"""`route.read`, which chooses one of the other routes."""


def salvage(read: _Read, layout: Layout, selection: Selection, out: npt.NDArray[Any], on_corrupt: OnCorrupt) -> None:
    """Fill `out` like `read`, with a replacement for each damaged chunk, or for each damaged inner chunk of a shard."""
    try:
        return read(layout, selection, out)
    except ChunkError:
        if on_corrupt == "raise":
            raise
    whole = np.empty(selection.shape, layout.dtype)
    block = selection.block(whole)
    projection = Projection(selection.picks, selection.points, layout.axes)
    for cell in projection:
        chunk = _chunk(read, layout, cell.chunk, on_corrupt)
        place(block, cell._replace(inner=tuple(map(_clipped, cell.inner, chunk.shape))), projection, chunk)
    out[...] = whole


def _clipped(pick: Pick, length: int) -> Pick:
    """A pick for the part of a chunk that is inside the array: a mask must have its length."""
    return pick if isinstance(pick, slice) or pick.dtype != bool else pick[:length]


def _chunk(read: _Read, layout: Layout, chunk: tuple[int, ...], on_corrupt: OnCorrupt) -> npt.NDArray[Any]:
    """The part of a chunk that is inside the array."""
    shape = layout.clipped(chunk)
    starts = [axis.bounds(index)[0] for axis, index in zip(layout.axes, chunk, strict=True)]
    elements = np.empty(shape, layout.dtype)
    sharding = sharding_of(layout.chain(chunk))
    steps = shape if sharding is None else sharding.inner.spec.shape
    try:
        read(layout, _window(starts, shape), elements)
        return elements
    except ChunkError as error:
        if sharding is None:
            elements[...] = _replacement(layout, shape, error, on_corrupt)
            return elements
    for corner in product(*(range(0, length, step) for length, step in zip(shape, steps, strict=True))):
        lengths = [min(step, length - at) for step, length, at in zip(steps, shape, corner, strict=True)]
        part = np.empty(lengths, layout.dtype)
        try:
            read(layout, _window([start + at for start, at in zip(starts, corner, strict=True)], lengths), part)
        except ChunkError as error:
            part[...] = _replacement(layout, tuple(lengths), error, on_corrupt)
        elements[tuple(slice(at, at + length) for at, length in zip(corner, lengths, strict=True))] = part
    return elements


def _window(starts: list[int], lengths: tuple[int, ...] | list[int]) -> Selection:
    shape = tuple(lengths)
    picks = tuple(slice(start, start + length, 1) for start, length in zip(starts, shape, strict=True))
    return Selection(picks, (), shape, shape)


def _replacement(layout: Layout, shape: tuple[int, ...], error: ChunkError, on_corrupt: OnCorrupt) -> npt.NDArray[Any]:
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


def check_on_corrupt(given: object) -> OnCorrupt:
    """Return `given` if it is valid."""
    if callable(given) or (isinstance(given, str) and given in ("raise", "fill")):
        return given  # type: ignore[return-value]
    raise ArgumentError(f'`on_corrupt`: expected "raise", "fill" or a function, found {given!r}', argument="on_corrupt")
