"""Selections cut into chunks. omnizarr plans its own reads; other packages use these classes to plan theirs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.compat.zarr.core.grids.grid import ChunkGrid
from omnizarr.compat.zarr.core.grids.selections import (
    is_bool_array,
    is_bool_list,
    is_integer,
    is_integer_array,
    is_integer_list,
    normalize_integer_selection,
    replace_ellipsis,
)
from omnizarr.compat.zarr.errors import BoundsCheckError, NegativeStepError

__all__ = ["BasicIndexer", "ChunkDimProjection", "ChunkProjection", "CoordinateIndexer", "OrthogonalIndexer"]


class ChunkDimProjection(NamedTuple):
    """What a selection takes from one chunk along one dimension, and where that goes."""

    dim_chunk_ix: int
    dim_chunk_sel: Any
    dim_out_sel: Any
    is_complete_chunk: bool


class ChunkProjection(NamedTuple):
    """What a selection takes from one chunk, and where that goes."""

    chunk_coords: tuple[int, ...]
    chunk_selection: Any
    out_selection: Any
    is_complete_chunk: bool


class IntDimIndexer:
    """An integer."""

    nitems = 1

    def __init__(self, dim_sel: int, dim_len: int, dim_grid: Any) -> None:
        self.dim_sel = normalize_integer_selection(dim_sel, dim_len)
        self.dim_len, self.dim_grid = dim_len, dim_grid

    def __iter__(self) -> Iterator[ChunkDimProjection]:
        grid = self.dim_grid
        chunk = grid.index_to_chunk(self.dim_sel)
        inside = self.dim_sel - grid.chunk_offset(chunk)
        yield ChunkDimProjection(chunk, inside, None, grid.data_size(chunk) == 1)


class SliceDimIndexer:
    """A slice with a positive step."""

    def __init__(self, dim_sel: slice, dim_len: int, dim_grid: Any) -> None:
        self.start, self.stop, self.step = dim_sel.indices(dim_len)
        if self.step < 1:
            raise NegativeStepError("only slices with step >= 1 are supported.")
        self.dim_len, self.dim_grid = dim_len, dim_grid
        self.nitems = len(range(self.start, self.stop, self.step))
        self.nchunks = dim_grid.nchunks

    def __iter__(self) -> Iterator[ChunkDimProjection]:
        if not self.nitems:
            return
        grid, indices = self.dim_grid, range(self.start, self.stop, self.step)
        for chunk in range(grid.index_to_chunk(indices[0]), grid.index_to_chunk(indices[-1]) + 1):
            begin, length = grid.chunk_offset(chunk), grid.data_size(chunk)
            first = max(0, -(-(begin - self.start) // self.step))
            last = min(len(indices), -(-(begin + length - self.start) // self.step))
            if first >= last:
                continue
            inside = slice(indices[first] - begin, min(self.stop - begin, length), self.step)
            complete = inside.start == 0 and inside.stop >= length and self.step in (1, None)
            yield ChunkDimProjection(chunk, inside, slice(first, last), complete)


class IntArrayDimIndexer:
    """Indices in any order."""

    def __init__(self, dim_sel: Any, dim_len: int, dim_grid: Any, wraparound: bool = True, boundscheck: bool = True):
        indices = np.asanyarray(dim_sel)
        if not is_integer_array(indices, 1):
            raise IndexError("integer arrays in an orthogonal selection must be 1-dimensional only")
        indices = indices.astype(np.intp)
        if wraparound:
            indices = np.where(indices < 0, indices + dim_len, indices)
        if boundscheck and indices.size and (indices.min() < 0 or indices.max() >= dim_len):
            raise BoundsCheckError(f"index out of bounds for dimension with length {dim_len}")
        self.dim_sel, self.dim_len, self.dim_grid = indices, dim_len, dim_grid
        self.nitems = len(indices)
        self.nchunks = dim_grid.nchunks

    def __iter__(self) -> Iterator[ChunkDimProjection]:
        chunks = self.dim_grid.indices_to_chunks(self.dim_sel)
        places = np.argsort(chunks, kind="stable")
        for chunk in np.unique(chunks):
            mine = places[np.searchsorted(chunks[places], chunk) : np.searchsorted(chunks[places], chunk, "right")]
            out = (
                slice(int(mine[0]), int(mine[-1]) + 1)
                if np.array_equal(mine, np.arange(mine[0], mine[-1] + 1))
                else mine
            )
            inside = self.dim_sel[mine] - self.dim_grid.chunk_offset(int(chunk))
            yield ChunkDimProjection(int(chunk), inside, out, False)


class BoolArrayDimIndexer:
    """A mask."""

    def __init__(self, dim_sel: Any, dim_len: int, dim_grid: Any) -> None:
        mask = np.asanyarray(dim_sel)
        if not is_bool_array(mask, 1):
            raise IndexError("Boolean arrays in an orthogonal selection must be 1-dimensional only")
        if len(mask) != dim_len:
            raise IndexError(f"Boolean array has the wrong length for dimension; expected {dim_len}, got {len(mask)}")
        self.dim_sel, self.dim_len, self.dim_grid = mask, dim_len, dim_grid
        self.nitems = int(np.count_nonzero(mask))

    def __iter__(self) -> Iterator[ChunkDimProjection]:
        selected = 0
        for chunk in range(self.dim_grid.nchunks):
            begin = self.dim_grid.chunk_offset(chunk)
            part = np.zeros(self.dim_grid.chunk_size(chunk), bool)
            inside = self.dim_sel[begin : begin + self.dim_grid.data_size(chunk)]
            part[: len(inside)] = inside
            count = int(np.count_nonzero(part))
            if count:
                yield ChunkDimProjection(chunk, part, slice(selected, selected + count), False)
                selected += count


class _Separable:
    """One indexer for each dimension."""

    def __init__(self, indexers: list[Any]) -> None:
        self.dim_indexers = indexers
        self.shape = tuple(one.nitems for one in indexers if not isinstance(one, IntDimIndexer))
        self.drop_axes: tuple[int, ...] = ()

    def __iter__(self) -> Iterator[ChunkProjection]:
        for parts in product(*self.dim_indexers):
            yield ChunkProjection(
                tuple(part.dim_chunk_ix for part in parts),
                tuple(part.dim_chunk_sel for part in parts),
                tuple(part.dim_out_sel for part in parts if part.dim_out_sel is not None),
                all(part.is_complete_chunk for part in parts),
            )


class BasicIndexer(_Separable):
    """Integers and slices."""

    def __init__(self, selection: Any, shape: tuple[int, ...], chunk_grid: ChunkGrid) -> None:
        indexers: list[Any] = []
        for item, length, grid in zip(replace_ellipsis(selection, shape), shape, chunk_grid.dimensions, strict=True):
            if is_integer(item):
                indexers.append(IntDimIndexer(item, length, grid))
            elif isinstance(item, slice):
                indexers.append(SliceDimIndexer(item, length, grid))
            else:
                raise IndexError(
                    f"unsupported selection item for basic indexing; expected integer or slice, got {type(item)!r}"
                )
        super().__init__(indexers)


class OrthogonalIndexer(_Separable):
    """An integer, slice, array or mask for each dimension."""

    def __init__(self, selection: Any, shape: tuple[int, ...], chunk_grid: ChunkGrid) -> None:
        indexers: list[Any] = []
        for item, length, grid in zip(replace_ellipsis(selection, shape), shape, chunk_grid.dimensions, strict=True):
            if is_integer(item):
                indexers.append(IntDimIndexer(item, length, grid))
            elif isinstance(item, slice):
                indexers.append(SliceDimIndexer(item, length, grid))
            elif is_bool_array(item) or is_bool_list(item):
                indexers.append(BoolArrayDimIndexer(item, length, grid))
            elif is_integer_array(item) or is_integer_list(item):
                indexers.append(IntArrayDimIndexer(item, length, grid))
            else:
                raise IndexError(
                    "unsupported selection item for orthogonal indexing, expected integer, slice, integer array or "
                    f"Boolean array, got {type(item)!r}"
                )
        super().__init__(indexers)
        self.is_advanced = any(isinstance(one, (IntArrayDimIndexer, BoolArrayDimIndexer)) for one in indexers)
        if self.is_advanced:
            self.drop_axes = tuple(axis for axis, one in enumerate(indexers) if isinstance(one, IntDimIndexer))

    def __iter__(self) -> Iterator[ChunkProjection]:
        for projection in super().__iter__():
            if not self.is_advanced:
                yield projection
                continue
            pairs = zip(self.dim_indexers, projection.chunk_selection, strict=True)
            inside = np.ix_(*(_as_indices(one, item) for one, item in pairs))
            out: Any = projection.out_selection
            if any(isinstance(item, np.ndarray) for item in out):
                out = np.ix_(*(np.arange(i.start, i.stop) if isinstance(i, slice) else i for i in out))
            yield projection._replace(chunk_selection=inside, out_selection=out)


def _as_indices(indexer: Any, item: Any) -> npt.NDArray[Any]:
    if isinstance(item, slice):
        return np.arange(item.start, item.stop, item.step)
    if isinstance(indexer, IntDimIndexer):
        return np.array([item])
    return np.flatnonzero(item) if item.dtype == bool else np.asarray(item)


class CoordinateIndexer:
    """Points."""

    drop_axes: tuple[int, ...] = ()

    def __init__(self, selection: Any, shape: tuple[int, ...], chunk_grid: ChunkGrid) -> None:
        items = selection if isinstance(selection, tuple) else (selection,)
        if len(items) != len(shape):
            raise IndexError(f"invalid coordinate selection; expected {len(shape)} dimensions, got {len(items)}")
        arrays = []
        for item, length in zip(items, shape, strict=True):
            indices = np.asarray(item, dtype=np.intp)
            indices = np.where(indices < 0, indices + length, indices)
            if indices.size and (indices.min() < 0 or indices.max() >= length):
                raise BoundsCheckError(f"index out of bounds for dimension with length {length}")
            arrays.append(indices)
        broadcast = np.broadcast_arrays(*arrays)
        self.sel_shape = broadcast[0].shape
        self.selection = tuple(array.reshape(-1) for array in broadcast)
        self.shape = self.sel_shape or (1,)
        self._grid = chunk_grid

    def __iter__(self) -> Iterator[ChunkProjection]:
        dimensions = self._grid.dimensions
        chunks = [one.indices_to_chunks(item) for one, item in zip(dimensions, self.selection, strict=True)]
        if not self.selection[0].size:
            return
        keys = np.stack(chunks)
        order = np.lexsort(keys[::-1])
        ends = np.flatnonzero(np.any(np.diff(keys[:, order]), axis=0)) + 1
        for places in np.split(order, ends):
            coords = tuple(int(axis[places[0]]) for axis in chunks)
            inside = tuple(
                item[places] - one.chunk_offset(chunk)
                for item, one, chunk in zip(self.selection, dimensions, coords, strict=True)
            )
            in_order = np.array_equal(places, np.arange(places[0], places[-1] + 1))
            out: Any = slice(int(places[0]), int(places[-1]) + 1) if in_order else places
            yield ChunkProjection(coords, inside, out, False)


class MaskIndexer(CoordinateIndexer):
    """A mask of the whole array."""

    def __init__(self, selection: Any, shape: tuple[int, ...], chunk_grid: ChunkGrid) -> None:
        items = selection if isinstance(selection, tuple) else (selection,)
        if len(items) != 1 or not is_bool_array(items[0], len(shape)) or items[0].shape != tuple(shape):
            raise IndexError(
                "invalid mask selection; expected one Boolean (mask) array with the same shape as the target array, "
                f"got {selection!r}"
            )
        super().__init__(np.nonzero(items[0]), shape, chunk_grid)


def number_of_elements(indexer: Any) -> int:
    """The number of elements that an indexer selects."""
    return prod(indexer.shape)
