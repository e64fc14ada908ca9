"""A selection laid over a grid: which chunks it touches, what it takes from each, and where that goes in the block."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby, islice, pairwise, product
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.grids import Axis
from omnizarr.indexing.selection import Pick

__all__ = ["Cell", "Piece", "Projection", "Row", "only_chunk", "rows_from"]

_Indices = npt.NDArray[np.intp]

_LISTED = 2**16  # pieces of a dimension that are listed, 32 MiB; more are made as they are needed

Piece: TypeAlias = tuple[str, int, Pick, Pick, bool, bool]
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


class _Lead(NamedTuple):
    """What the cells of a row share: their pieces of all dimensions but the last."""

    names: tuple[str, ...]
    chunk: tuple[int, ...]
    inner: tuple[Pick, ...]
    outer: tuple[Pick, ...]
    whole: bool


class Row:
    """Cells that are worked on together. They are made when somebody asks for them: for chunks that are taken entirely
    it is enough to know their names and where all of them go."""

    __slots__ = ("_cells", "_lead", "_run", "outer")

    def __init__(self, cells: list[Cell] | None, lead: _Lead | None, run: Sequence[Piece], outer: Any) -> None:
        self._cells = cells
        self._lead = lead
        self._run = run
        self.outer = outer
        """If all of them are taken entirely, have one shape and lie side by side along the last dimension: where they
        go, together. Else None."""

    @classmethod
    def of(cls, cells: list[Cell]) -> Row:
        """Cells that have nothing in common."""
        return cls(cells, None, (), None)

    def __len__(self) -> int:
        return len(self._run) if self._cells is None else len(self._cells)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.cells == other.cells and self.outer == other.outer

    __hash__ = None  # type: ignore[assignment]

    @property
    def cells(self) -> list[Cell]:
        """All of them."""
        if self._cells is None:
            self._cells = list(map(self._cell, self._run))
        return self._cells

    @property
    def first(self) -> Cell:
        """The first of them."""
        return self._cell(self._run[0]) if self._cells is None else self._cells[0]

    def names(self) -> list[tuple[str, ...]]:
        """The coordinates of the chunks as text."""
        if self._cells is not None:
            return [cell.names for cell in self._cells]
        assert self._lead is not None
        lead = self._lead.names
        return [(*lead, piece[0]) for piece in self._run]

    def _cell(self, piece: Piece) -> Cell:
        assert self._lead is not None
        names, chunk, inner, outer, whole = self._lead
        name, index, taken, goes, alone, _ = piece
        return Cell((*names, name), (*chunk, index), (*inner, taken), (*outer, goes), whole and alone)


class Projection:
    """The cells of a selection. `picks` and `points` are those of a `Selection`, or the `inner` picks of a cell when a
    chunk has a grid of its own."""

    def __init__(self, picks: Sequence[Pick], points: tuple[int, ...], axes: Sequence[Axis]) -> None:
        self.points = points
        self._groups: list[tuple[dict[int, Piece], Pick]] | None = None
        alone = [dimension for dimension in range(len(axes)) if dimension not in points]
        self._pieces = [_pieces(axes[dimension], picks[dimension]) for dimension in alone]
        self._alone = alone
        self._arrays = sum(not isinstance(picks[dimension], slice) for dimension in alone)
        if points:
            self._groups = _grouped([axes[d] for d in points], [np.asarray(picks[d]) for d in points], points)
        self.order: tuple[int, ...] | None = (*points, *alone) if points else None
        """If not None: the chunk's dimensions are put in this order before `expression` is applied to it."""

    @property
    def listed(self) -> list[list[Piece]] | None:
        """The pieces of each dimension, whose combinations are the cells, if they are slices and not too many."""
        return self._pieces if self.plain and all(type(some) is list for some in self._pieces) else None  # type: ignore[return-value]

    @property
    def taken(self) -> list[Piece] | None:
        """The pieces of the only dimension, if indices or a mask select from it: their cells, in order."""
        if self._groups is not None:
            return [members[0] for members, _ in self._groups] if self.points == (0,) and not self._pieces else None
        return list(self._pieces[0]) if len(self._pieces) == 1 and self._arrays else None

    def cell_of(self, pieces: Sequence[Piece]) -> Cell:
        """The cell that is one combination of them."""
        if not pieces:
            return Cell((), (), (), ..., True)  # `...` gives a view where `()` would give a scalar
        names, chunk, inner, outer, wholes, _ = zip(*pieces, strict=True)
        return Cell(names, chunk, inner, outer, all(wholes))

    @property
    def plain(self) -> bool:
        """Whether there are nothing but slices, so that every cell's place in the block is a view of it."""
        return not self._arrays and self._groups is None

    def __len__(self) -> int:
        cells = prod([len(pieces) for pieces in self._pieces])
        return min(cells if self._groups is None else cells * len(self._groups), sys.maxsize)

    def __iter__(self) -> Iterator[Cell]:
        if self._groups is not None:
            yield from self._point_cells(self._groups)
        elif not self._pieces:
            yield self.cell_of(())
        else:
            meshed = self._arrays > 1  # several independent arrays: NumPy would pair them unless they form a mesh
            for pieces in _combined(self._pieces):
                names, chunk, inner, outer, wholes, _ = zip(*pieces, strict=True)
                yield Cell(names, chunk, inner, _mesh(outer) if meshed else outer, all(wholes))

    def rows(self, most: int) -> Iterator[Row]:
        """The cells, in rows of at most `most`: those that are taken entirely where they lie side by side, the others
        in any company."""
        if self._groups is not None or self._arrays or not self._pieces:
            cells = iter(self)
            while row := list(islice(cells, most)):
                yield Row.of(row)
            return
        *leading, last = self._pieces
        runs = list(_side_by_side(last, most)) if isinstance(last, list) else None
        others: list[Cell] = []
        for pieces in _combined(leading):
            lead = _Lead(
                tuple([piece[0] for piece in pieces]),
                tuple([piece[1] for piece in pieces]),
                tuple([piece[2] for piece in pieces]),
                tuple([piece[3] for piece in pieces]),
                all(piece[4] for piece in pieces),
            )
            entire = all(piece[5] for piece in pieces)
            for run, span in _side_by_side(last, most) if runs is None else runs:
                if entire and span is not None:
                    yield Row(None, lead, run, (*lead.outer, span))
                    continue
                others += Row(None, lead, run, None).cells
                while len(others) >= most:
                    yield Row.of(others[:most])
                    del others[:most]
        if others:
            yield Row.of(others)

    def _point_cells(self, groups: list[tuple[dict[int, Piece], Pick]]) -> Iterator[Cell]:
        for members, positions in groups:
            for pieces in _combined(self._pieces):
                by_dimension: list[Piece] = [*pieces]
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


def rows_from(cells: Sequence[Cell], most: int) -> Iterator[Row]:
    """Cells that have nothing in common, in rows of at most `most`."""
    return (Row.of(list(cells[start : start + most])) for start in range(0, len(cells), most))


def only_chunk(picks: Sequence[Pick], axes: Sequence[Axis]) -> tuple[tuple[int, ...], tuple[Pick, ...]] | None:
    """If slices, none of them empty, touch a single chunk: its coordinates, and what is taken from it. It is what a
    projection would say, in less time."""
    chunk: list[int] = []
    inner: list[Pick] = []
    for pick, axis in zip(picks, axes, strict=True):
        if type(pick) is not slice:
            return None
        start = pick.start
        size = axis.size
        if size is None:
            index = axis.locate(start)
            begin, size = axis.bounds(index)
        else:
            index = start // size
            begin = index * size
        stop = pick.stop - begin
        if stop > size:
            return None
        chunk.append(index)
        inner.append(slice(start - begin, stop, pick.step))
    return tuple(chunk), tuple(inner)


def _mesh(picks: Sequence[Pick]) -> tuple[Any, ...]:
    return np.ix_(*(np.arange(p.start, p.stop, p.step) if isinstance(p, slice) else p for p in picks))


def _combined(pieces: Sequence[Collection[Piece]]) -> Iterator[tuple[Piece, ...]]:
    """All combinations, the last dimension first, as `product` gives them: but that would list them all before."""
    if all(isinstance(of_dimension, list) for of_dimension in pieces):
        yield from product(*pieces)
        return
    for piece in pieces[0]:
        for others in _combined(pieces[1:]):
            yield (piece, *others)


def _pieces(axis: Axis, pick: Pick) -> Collection[Piece]:
    if not isinstance(pick, slice):
        return _mask_pieces(axis, pick) if pick.dtype == bool else _index_pieces(axis, pick)  # type: ignore[arg-type]
    pieces = _SlicePieces(axis, pick)
    return pieces if len(pieces) > _LISTED else list(pieces)


def _side_by_side(pieces: Collection[Piece], most: int) -> Iterator[tuple[list[Piece], slice | None]]:
    """The pieces of the last dimension, in runs; with the place of the whole run if all of it is taken entirely, from
    chunks of one length."""
    for entire, group in groupby(pieces, key=lambda piece: piece[5] and piece[2].stop):  # type: ignore[union-attr]
        while some := list(islice(group, most)):
            span = slice(some[0][3].start, some[-1][3].stop, 1) if entire else None  # type: ignore[union-attr]
            yield some, span


class _SlicePieces(Collection[Piece]):
    """The pieces of a slice, made on the way. To list them all is quicker, but takes half a kilobyte for each."""

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
        if len(part) < size:  # it has to be as long as the chunk
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


def _grouped(
    axes: Sequence[Axis], picks: Sequence[_Indices], points: tuple[int, ...]
) -> list[tuple[dict[int, Piece], Pick]]:
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
    groups: list[tuple[dict[int, Piece], Pick]] = []
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
    """How to bring equal labels together without changing the order among them (None: they are together already, in
    ascending order), and the edges of the runs."""
    if len(labels) == 0:
        return None, [0]
    steps = np.diff(labels)
    order = None
    if (steps < 0).any():
        # Short numbers are sorted by their digits, ten times as fast.
        low, high = labels.min(), labels.max()
        short = (labels - low).astype(np.uint16) if high - low < 2**16 else labels
        order = np.argsort(short, kind="stable")
        steps = np.diff(labels[order])
    return order, [0, *(np.flatnonzero(steps) + 1).tolist(), len(labels)]
