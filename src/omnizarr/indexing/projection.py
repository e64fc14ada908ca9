"""A selection laid over a grid: which chunks it touches, what it takes from each, and where that goes in the block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice, pairwise, product
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.grids import Axis
from omnizarr.indexing.selection import Pick

__all__ = ["Cell", "Projection", "Row"]

_Indices = npt.NDArray[np.intp]

_Piece: TypeAlias = tuple[str, int, Pick, Pick, bool, bool]
"""One chunk along one dimension: its index as text, its index, what is taken from it, where that goes in the block,
whether that is all of it that lies in the array, and whether it is all of it."""


class Cell(NamedTuple):
    """One chunk that a selection touches."""

    names: tuple[str, ...]
    """The chunk's coordinates as text, ready to be joined to a key."""
    chunk: tuple[int, ...]
    """The chunk's coordinates."""
    inner: tuple[Pick, ...]
    """What is taken from the chunk, one pick per dimension, in the chunk's own indices."""
    outer: Any
    """Where it goes: an index for the block."""
    whole: bool
    """Whether everything in the chunk that lies inside the array is taken."""


class Row(NamedTuple):
    """Cells that are worked on together."""

    cells: list[Cell]
    outer: Any
    """If all of them are taken entirely and lie side by side along the last dimension: where they go, together. Else
    None."""


class Projection:
    """The cells of a selection. `picks` and `points` are those of a `Selection`, or the `inner` picks of a cell when a
    chunk has a grid of its own."""

    def __init__(self, picks: Sequence[Pick], points: tuple[int, ...], axes: Sequence[Axis]) -> None:
        self.points = points
        self._groups: list[tuple[dict[int, _Piece], Pick]] | None = None
        alone = [dimension for dimension in range(len(axes)) if dimension not in points]
        self._pieces = [_pieces(axes[dimension], picks[dimension]) for dimension in alone]
        self._alone = alone
        self._arrays = sum(not isinstance(picks[dimension], slice) for dimension in alone)
        if points:
            self._groups = _grouped([axes[d] for d in points], [np.asarray(picks[d]) for d in points], points)
        self.order: tuple[int, ...] | None = (*points, *alone) if points else None
        """If not None: the chunk's dimensions are put in this order before `expression` is applied to it."""

    def __len__(self) -> int:
        cells = prod(len(pieces) for pieces in self._pieces)
        return cells if self._groups is None else cells * len(self._groups)

    def __iter__(self) -> Iterator[Cell]:
        if self._groups is not None:
            yield from self._point_cells(self._groups)
        elif not self._pieces:
            yield Cell((), (), (), ..., True)  # `...` gives a view where `()` would give a scalar
        else:
            meshed = self._arrays > 1  # several independent arrays: NumPy would pair them unless they form a mesh
            for pieces in product(*self._pieces):
                names, chunk, inner, outer, wholes, _ = zip(*pieces, strict=True)
                yield Cell(names, chunk, inner, _mesh(outer) if meshed else outer, all(wholes))

    def rows(self, most: int) -> Iterator[Row]:
        """The cells, in rows of at most `most`."""
        if self._groups is not None or self._arrays or not self._pieces:
            cells = iter(self)
            while row := list(islice(cells, most)):
                yield Row(row, None)
            return
        *leading, last = self._pieces
        runs = _side_by_side(last, most)
        for pieces in product(*leading):
            names = tuple(piece[0] for piece in pieces)
            chunk = tuple(piece[1] for piece in pieces)
            inner = tuple(piece[2] for piece in pieces)
            outer = tuple(piece[3] for piece in pieces)
            whole = all(piece[4] for piece in pieces)
            entire = all(piece[5] for piece in pieces)
            for run, span in runs:
                cells_of_run = [
                    Cell((*names, name), (*chunk, index), (*inner, taken), (*outer, goes), whole and alone)
                    for name, index, taken, goes, alone, _ in run
                ]
                yield Row(cells_of_run, (*outer, span) if entire and span is not None else None)

    def _point_cells(self, groups: list[tuple[dict[int, _Piece], Pick]]) -> Iterator[Cell]:
        for members, positions in groups:
            for pieces in product(*self._pieces):
                by_dimension: list[_Piece] = [*pieces]
                for dimension in self.points:  # ascending, so each lands where it belongs
                    by_dimension.insert(dimension, members[dimension])
                names, chunk, inner, _, _, _ = zip(*by_dimension, strict=True)
                yield Cell(names, chunk, inner, (positions, *(piece[3] for piece in pieces)), False)

    def expression(self, inner: tuple[Pick, ...]) -> Any:
        """`inner` as one NumPy index, for a chunk whose dimensions are in `order`."""
        if self.points:
            together = tuple(inner[dimension] for dimension in self.points)
            return together + tuple(inner[dimension] for dimension in self._alone)
        return _mesh(inner) if self._arrays > 1 else inner


def _mesh(picks: Sequence[Pick]) -> tuple[Any, ...]:
    return np.ix_(*(np.arange(p.start, p.stop, p.step) if isinstance(p, slice) else p for p in picks))


def _pieces(axis: Axis, pick: Pick) -> list[_Piece]:
    return _slice_pieces(axis, pick) if isinstance(pick, slice) else _index_pieces(axis, pick)


def _side_by_side(pieces: list[_Piece], most: int) -> list[tuple[list[_Piece], slice | None]]:
    """The pieces of the last dimension, in runs; with the place of the whole run if all of it is taken entirely."""
    runs: list[tuple[list[_Piece], slice | None]] = []
    for entire, group in groupby(pieces, key=lambda piece: piece[5]):
        run = iter(group)
        while some := list(islice(run, most)):
            span = slice(some[0][3].start, some[-1][3].stop, 1) if entire else None  # type: ignore[union-attr]
            runs.append((some, span))
    return runs


def _slice_pieces(axis: Axis, pick: slice) -> list[_Piece]:
    at, stop, step = pick.start, pick.stop, pick.step
    length = axis.length
    pieces: list[_Piece] = []
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
        pieces.append((str(chunk), chunk, inner, outer, whole, entire))
        position += count
        at += count * step
    return pieces


def _index_pieces(axis: Axis, indices: _Indices) -> list[_Piece]:
    chunks = axis.locate_many(indices)
    order, edges = _runs(chunks)
    local = indices - axis.starts(chunks)
    if order is not None:
        local = local[order]
    pieces: list[_Piece] = []
    for begin, end in pairwise(edges):
        chunk = int(chunks[begin if order is None else order[begin]])
        outer: Pick = slice(begin, end, 1) if order is None else order[begin:end]
        pieces.append((str(chunk), chunk, local[begin:end], outer, False, False))
    return pieces


def _grouped(
    axes: Sequence[Axis], picks: Sequence[_Indices], points: tuple[int, ...]
) -> list[tuple[dict[int, _Piece], Pick]]:
    """The points, chunk by chunk: a piece for each of their dimensions, and their positions among all points."""
    chunks = [axis.locate_many(pick) for axis, pick in zip(axes, picks, strict=True)]
    counts = [max(1, axis.count) for axis in axes]
    if prod(counts) < 2**62:
        labels = np.ravel_multi_index(tuple(chunks), tuple(counts))
    else:  # more chunks than a number can count: give those that occur numbers of their own
        labels = np.unique(np.stack(chunks, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    order, edges = _runs(labels)
    local = [pick - axis.starts(chunk) for axis, pick, chunk in zip(axes, picks, chunks, strict=True)]
    if order is not None:
        local = [values[order] for values in local]
    groups: list[tuple[dict[int, _Piece], Pick]] = []
    for begin, end in pairwise(edges):
        first = begin if order is None else order[begin]
        positions: Pick = slice(begin, end, 1) if order is None else order[begin:end]
        members: dict[int, _Piece] = {}
        for dimension, chunk, values in zip(points, chunks, local, strict=True):
            index = int(chunk[first])
            members[dimension] = (str(index), index, values[begin:end], positions, False, False)
        groups.append((members, positions))
    return groups


def _runs(labels: _Indices) -> tuple[_Indices | None, list[int]]:
    """How to bring equal labels together without changing the order among them (None: they are together already, in
    ascending order), and the edges of the runs."""
    if len(labels) == 0:
        return None, [0]
    steps = np.diff(labels)
    order = None
    if (steps < 0).any():
        order = np.argsort(labels, kind="stable")
        steps = np.diff(labels[order])
    return order, [0, *(np.flatnonzero(steps) + 1).tolist(), len(labels)]
