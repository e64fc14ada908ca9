"""Projections: the chunks that a selection touches, what it takes from each, and where that goes in the block."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from itertools import groupby, islice, product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from omnizarr.grids import Axis
from omnizarr.indexing.pieces import Piece, PointGroup, group_points, split_pick, spread_pieces
from omnizarr.indexing.selection import Pick

__all__ = ["Cell", "Projection", "Row", "only_chunk", "rows_from"]


class Cell(NamedTuple):
    """One chunk that a selection touches."""

    names: tuple[str, ...]
    """The chunk's coordinates as text, ready to be joined to a key."""
    chunk: tuple[int, ...]
    """The chunk's coordinates."""
    inner: tuple[Pick, ...]
    """What is taken from the chunk, one pick per dimension, in the chunk's own indices."""
    outer: Any
    """Where that goes: an index into the block."""
    whole: bool
    """Whether everything of the chunk inside the array is taken."""


class _Lead(NamedTuple):
    """What the cells of a row share: their pieces in all dimensions but the last."""

    names: tuple[str, ...]
    chunk: tuple[int, ...]
    inner: tuple[Pick, ...]
    outer: tuple[Pick, ...]
    whole: bool


class Row:
    """Cells that are fetched and decoded together. They are made on first use: for chunks that are taken entirely, the
    chunk names and the place of the whole row suffice."""

    __slots__ = ("_cells", "_lead", "_run", "outer")

    def __init__(self, cells: list[Cell] | None, lead: _Lead | None, run: Sequence[Piece], outer: Any) -> None:
        self._cells = cells
        self._lead = lead
        self._run = run
        self.outer = outer
        """If all chunks are taken entirely, have one shape and are neighbours along the last dimension: where the whole
        row goes in the block. Otherwise None."""

    @classmethod
    def of(cls, cells: list[Cell]) -> Row:
        """A row of unrelated cells."""
        return cls(cells, None, (), None)

    def __len__(self) -> int:
        return len(self._run) if self._cells is None else len(self._cells)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.cells == other.cells and self.outer == other.outer

    __hash__ = None  # type: ignore[assignment]

    @property
    def cells(self) -> list[Cell]:
        if self._cells is None:
            self._cells = list(map(self._cell, self._run))
        return self._cells

    @property
    def first(self) -> Cell:
        return self._cell(self._run[0]) if self._cells is None else self._cells[0]

    def names(self) -> list[tuple[str, ...]]:
        """The coordinates of each chunk as text."""
        if self._cells is not None:
            return [cell.names for cell in self._cells]
        assert self._lead is not None
        lead = self._lead.names
        return [(*lead, piece[0]) for piece in self._run]

    def _cell(self, piece: Piece) -> Cell:
        assert self._lead is not None
        names, chunk, inner, outer, whole = self._lead
        name, index, source, target, piece_whole, _ = piece
        return Cell((*names, name), (*chunk, index), (*inner, source), (*outer, target), whole and piece_whole)


class Projection:
    """The cells of a selection. `picks` and `points` come from a `Selection`, or are the `inner` picks of a cell whose
    chunk has a grid of its own (a shard)."""

    def __init__(self, picks: Sequence[Pick], points: tuple[int, ...], axes: Sequence[Axis]) -> None:
        self.points = points
        self._groups: list[PointGroup] | None = None
        independent = [dimension for dimension in range(len(axes)) if dimension not in points]
        self._pieces = [split_pick(axes[dimension], picks[dimension]) for dimension in independent]
        self._independent = independent
        arrays = [dimension for dimension in independent if not isinstance(picks[dimension], slice)]
        self._arrays = len(arrays)
        self._indexed = arrays[0] if len(arrays) == 1 and picks[arrays[0]].dtype != bool else None  # type: ignore[union-attr]
        if points:
            self._groups = group_points([axes[d] for d in points], [np.asarray(picks[d]) for d in points], points)
        self.order: tuple[int, ...] | None = (*points, *independent) if points else None
        """If not None: transpose a chunk to this order before indexing it with `expression`."""

    @property
    def slice_pieces(self) -> list[list[Piece]] | None:
        """The pieces of each dimension, if all picks are slices and the pieces are few enough for lists. The cells are
        their combinations."""
        return self._pieces if self.plain and all(type(pieces) is list for pieces in self._pieces) else None  # type: ignore[return-value]

    @property
    def gathered(self) -> tuple[int, list[list[Piece]]] | None:
        """If indices select from one dimension and slices from all others: that dimension, and the pieces of each
        dimension, if they are few enough for lists."""
        if (
            self._indexed is None
            or self._groups is not None
            or any(type(pieces) is not list for pieces in self._pieces)
        ):
            return None
        return self._indexed, self._pieces  # type: ignore[return-value]

    @property
    def point_pieces(self) -> list[Piece] | None:
        """The pieces of an array of one dimension, if indices or a mask select from it. Each is a cell, in order."""
        if self._groups is not None:
            return [members[0] for members, _ in self._groups] if self.points == (0,) and not self._pieces else None
        return list(self._pieces[0]) if len(self._pieces) == 1 and self._arrays else None

    def cell_of(self, pieces: Sequence[Piece]) -> Cell:
        """The cell of one piece per dimension."""
        if not pieces:
            return Cell((), (), (), ..., True)  # `...` gives a view where `()` would give a scalar
        names, chunk, inner, outer, wholes, _ = zip(*pieces, strict=True)
        return Cell(names, chunk, inner, outer, all(wholes))

    @property
    def plain(self) -> bool:
        """Whether all picks are slices, so that the place of every cell in the block is a view."""
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
            meshed = self._arrays > 1  # NumPy pairs several arrays point by point unless they form a mesh
            for pieces in _combinations(self._pieces):
                names, chunk, inner, outer, wholes, _ = zip(*pieces, strict=True)
                yield Cell(names, chunk, inner, _mesh(outer) if meshed else outer, all(wholes))

    def sample(self, most: int) -> list[Cell]:
        """All cells, or at most `most` that are spread evenly in every dimension."""
        if len(self) <= most:
            return list(self)
        counts = [len(pieces) for pieces in self._pieces]
        if self._groups is not None:
            counts.append(len(self._groups))
        while prod(counts) > most:
            longest = counts.index(max(counts))
            counts[longest] = -(-counts[longest] // 2)
        thinned = copy(self)
        thinned._pieces = [spread_pieces(pieces, count) for pieces, count in zip(self._pieces, counts, strict=False)]
        if self._groups is not None:
            thinned._groups = self._groups[:: -(-len(self._groups) // counts[-1])]
        return list(thinned)

    def rows(self, most: int) -> Iterator[Row]:
        """The cells in rows of at most `most`. Neighbouring chunks that are taken entirely share a row; the other cells
        fill rows of their own in order."""
        if self._groups is not None or self._arrays or not self._pieces:
            cells = iter(self)
            while row := list(islice(cells, most)):
                yield Row.of(row)
            return
        *leading, last = self._pieces
        runs = list(_runs(last, most)) if isinstance(last, list) else None
        pending: list[Cell] = []
        for pieces in _combinations(leading):
            lead = _Lead(
                tuple([piece[0] for piece in pieces]),
                tuple([piece[1] for piece in pieces]),
                tuple([piece[2] for piece in pieces]),
                tuple([piece[3] for piece in pieces]),
                all(piece[4] for piece in pieces),
            )
            entire = all(piece[5] for piece in pieces)
            for run, span in _runs(last, most) if runs is None else runs:
                if entire and span is not None:
                    yield Row(None, lead, run, (*lead.outer, span))
                    continue
                pending += Row(None, lead, run, None).cells
                while len(pending) >= most:
                    yield Row.of(pending[:most])
                    del pending[:most]
        if pending:
            yield Row.of(pending)

    def _point_cells(self, groups: list[PointGroup]) -> Iterator[Cell]:
        for members, positions in groups:
            for pieces in _combinations(self._pieces):
                by_dimension: list[Piece] = [*pieces]
                for dimension in self.points:  # ascending, so each insert hits its final position
                    by_dimension.insert(dimension, members[dimension])
                names, chunk, inner, _, _, _ = zip(*by_dimension, strict=True)
                yield Cell(names, chunk, inner, (positions, *(piece[3] for piece in pieces)), False)

    def expression(self, inner: tuple[Pick, ...]) -> Any:
        """`inner` as one NumPy index into a chunk whose dimensions are in `order`."""
        if self.points:
            together = tuple(inner[dimension] for dimension in self.points)
            return together + tuple(inner[dimension] for dimension in self._independent)
        return _mesh(inner) if self._arrays > 1 else inner


def rows_from(cells: Sequence[Cell], most: int) -> Iterator[Row]:
    """Unrelated cells in rows of at most `most`."""
    return (Row.of(list(cells[start : start + most])) for start in range(0, len(cells), most))


def only_chunk(picks: Sequence[Pick], axes: Sequence[Axis]) -> tuple[tuple[int, ...], tuple[Pick, ...]] | None:
    """The coordinates of the only chunk that non-empty slices touch, and what they take from it; None if there is more
    than one chunk or a pick is not a slice. Faster than a `Projection`."""
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


def _combinations(pieces: Sequence[Collection[Piece]]) -> Iterator[tuple[Piece, ...]]:
    """All combinations in the order of `itertools.product`, which would first copy all pieces into memory."""
    if all(isinstance(dimension, list) for dimension in pieces):
        yield from product(*pieces)
        return
    for piece in pieces[0]:
        for following in _combinations(pieces[1:]):
            yield (piece, *following)


def _runs(pieces: Collection[Piece], most: int) -> Iterator[tuple[list[Piece], slice | None]]:
    """The pieces of the last dimension in runs. With the place of the whole run in the block if all its chunks have one
    length and are taken entirely, otherwise None."""
    for entire, group in groupby(pieces, key=lambda piece: piece[5] and piece[2].stop):  # type: ignore[union-attr]
        while run := list(islice(group, most)):
            span = slice(run[0][3].start, run[-1][3].stop, 1) if entire else None  # type: ignore[union-attr]
            yield run, span
