"""Pieces: what a pick takes from each chunk along one dimension."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.grids import Axis
from omnizarr.indexing.selection import Pick

__all__ = ["Piece", "PointGroup", "group_points", "split_pick", "spread_pieces"]

_Indices = npt.NDArray[np.intp]

_MOST_LISTED = 2**16  # pieces of a dimension kept in a list (32 MiB); more are made while they are used

Piece: TypeAlias = tuple[str, int, Pick, Pick, bool, bool]
"""One chunk along one dimension: its index as text; its index; what is taken from it; where that goes in the block;
whether that is everything of the chunk inside the array; whether it is the entire chunk."""

PointGroup: TypeAlias = tuple[dict[int, Piece], Pick]
"""The points in one chunk: a piece per dimension, and their positions among all points."""


def split_pick(axis: Axis, pick: Pick) -> Collection[Piece]:
    """The pieces of `pick`, in order: a list, unless they are too many."""
    if not isinstance(pick, slice):
        return _mask_pieces(axis, pick) if pick.dtype == bool else _index_pieces(axis, pick)  # type: ignore[arg-type]
    pieces = _SlicePieces(axis, pick)
    return pieces if len(pieces) > _MOST_LISTED else list(pieces)


class _SlicePieces(Collection[Piece]):
    """The pieces of a slice, made during iteration. A list is faster but takes half a kilobyte per piece."""

    __slots__ = ("_axis", "_pick")

    def __init__(self, axis: Axis, pick: slice) -> None:
        self._axis = axis
        self._pick = pick

    def __len__(self) -> int:
        return self._axis.touched(range(self._pick.start, self._pick.stop, self._pick.step))

    def __contains__(self, piece: object) -> bool:
        return any(piece == other for other in self)

    def __iter__(self) -> Iterator[Piece]:
        axis = self._axis
        at, stop, step = self._pick.start, self._pick.stop, self._pick.step
        length = axis.length
        position = 0
        while at < stop:
            chunk = axis.locate(at)
            begin, size = axis.bounds(chunk)
            end = begin + size
            entire = step == 1 and at == begin and end <= stop
            whole = entire or (step == 1 and at == begin and stop >= length)
            if end > stop:
                end = stop
            count = -(-(end - at) // step)
            inner, outer = slice(at - begin, end - begin, step), slice(position, position + count, 1)
            yield str(chunk), chunk, inner, outer, whole, entire
            position += count
            at += count * step

    def spread(self, most: int) -> list[Piece]:
        """At most `most` of the pieces, spread evenly."""
        start, stop, step = self._pick.start, self._pick.stop, self._pick.step
        count = len(range(start, stop, step))
        pieces: dict[int, Piece] = {}
        for number in range(most):
            begin, _ = self._axis.bounds(self._axis.locate(start + number * count // most * step))
            position = max(0, -(-(begin - start) // step))
            piece = next(iter(_SlicePieces(self._axis, slice(start + position * step, stop, step))))
            outer = slice(position, position + piece[3].stop, 1)  # type: ignore[union-attr]
            pieces[piece[1]] = (*piece[:3], outer, *piece[4:])
        return list(pieces.values())


def spread_pieces(pieces: Collection[Piece], most: int) -> list[Piece]:
    """At most `most` of the pieces of a pick, spread evenly."""
    if isinstance(pieces, _SlicePieces):
        return pieces.spread(most)
    return list(pieces)[:: -(-len(pieces) // most)]


def _mask_pieces(axis: Axis, mask: npt.NDArray[np.bool_]) -> list[Piece]:
    pieces: list[Piece] = []
    position = at = 0
    while at < len(mask):
        chunk = axis.locate(at)
        begin, size = axis.bounds(chunk)
        part = mask[begin : begin + size]
        count = int(np.count_nonzero(part))
        at = begin + len(part)
        if not count:
            continue
        whole = count == len(part)
        if len(part) < size:  # NumPy requires a mask as long as the chunk
            part = np.pad(part, (0, size - len(part)))
        inner: Pick = slice(0, count, 1) if whole else part
        pieces.append((str(chunk), chunk, inner, slice(position, position + count, 1), whole, False))
        position += count
    return pieces


def _index_pieces(axis: Axis, indices: _Indices) -> list[Piece]:
    chunks = axis.locate_many(indices)
    order, edges = _runs(chunks)
    local = indices - axis.starts(chunks)
    if order is not None:
        local = local[order]
    pieces: list[Piece] = []
    for begin, end in pairwise(edges):
        chunk = int(chunks[begin if order is None else order[begin]])
        outer: Pick = slice(begin, end, 1) if order is None else order[begin:end]
        pieces.append((str(chunk), chunk, local[begin:end], outer, False, False))
    return pieces


def group_points(axes: Sequence[Axis], picks: Sequence[_Indices], points: tuple[int, ...]) -> list[PointGroup]:
    """The points grouped by the chunk they are in."""
    chunks = [axis.locate_many(pick) for axis, pick in zip(axes, picks, strict=True)]
    counts = [max(1, axis.count) for axis in axes]
    if prod(counts) < 2**62:
        labels = np.ravel_multi_index(tuple(chunks), tuple(counts))
    else:  # the number of a chunk would overflow 64 bits: number the chunks that occur
        labels = np.unique(np.stack(chunks, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    order, edges = _runs(labels)
    local = [pick - axis.starts(chunk) for axis, pick, chunk in zip(axes, picks, chunks, strict=True)]
    if order is not None:
        local = [values[order] for values in local]
    groups: list[PointGroup] = []
    for begin, end in pairwise(edges):
        first = begin if order is None else order[begin]
        positions: Pick = slice(begin, end, 1) if order is None else order[begin:end]
        members: dict[int, Piece] = {}
        for dimension, chunk, values in zip(points, chunks, local, strict=True):
            index = int(chunk[first])
            members[dimension] = (str(index), index, values[begin:end], positions, False, False)
        groups.append((members, positions))
    return groups


def _runs(labels: _Indices) -> tuple[_Indices | None, list[int]]:
    """The order that sorts labels stably (None if they are sorted), and the edges of the runs of equal labels."""
    if len(labels) == 0:
        return None, [0]
    steps = np.diff(labels)
    order = None
    if (steps < 0).any():
        # NumPy sorts 16-bit integers with a radix sort, ten times as fast.
        low, high = labels.min(), labels.max()
        short = (labels - low).astype(np.uint16) if high - low < 2**16 else labels
        order = np.argsort(short, kind="stable")
        steps = np.diff(labels[order])
    return order, [0, *(np.flatnonzero(steps) + 1).tolist(), len(labels)]
