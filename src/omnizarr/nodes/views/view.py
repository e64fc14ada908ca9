"""`LazyView`: a selection of an array that further selections refine, and that is read at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import SelectionError
from omnizarr.indexing import Selection
from omnizarr.indexing.key_items import (
    ArrayItem,
    EllipsisItem,
    IntegerItem,
    KeyItem,
    basic_pick,
    flips_or_none,
    parse_items,
)
from omnizarr.nodes.indexers import Indexer
from omnizarr.nodes.numpy_protocol import NumpyProtocol
from omnizarr.nodes.views.pointwise import Points, pointwise
from omnizarr.nodes.views.source import Chunks, Source, ViewPick, block_lengths, lengths_along

__all__ = ["LazyView"]

_NO_POINTS: Mapping[int, npt.NDArray[np.intp]] = MappingProxyType({})


class LazyView(NumpyProtocol):
    """A selection of an array. Selecting from it gives another view; nothing is read before the elements are needed.

    `read()` and `np.asarray` read all elements of the view at once, and only those. `z.lazy` is the view of a whole
    array, and `omnizarr.concat` that of several arrays.

    Example:
        >>> part = z.lazy[10:20, ::2][:, -1]
        >>> part.shape
        (10,)
        >>> part.read()
        array([...])
    """

    _read_call = "view.read()"

    def __init__(
        self,
        source: Source,
        picks: tuple[ViewPick, ...] | None = None,
        axes: tuple[int, ...] | None = None,
        points: Mapping[int, npt.NDArray[np.intp]] = _NO_POINTS,
    ) -> None:
        """A view of all of `source`; the other arguments are for views of views.

        `picks` has one item for each dimension of the source, and one for each new axis, which counts as a dimension of
        length 1 after those of the source. `points` has the indices of dimensions that are selected point by point;
        their picks do not count. `axes` names the dimension of each axis of the view: its number, or `~number` for an
        axis of the points.
        """
        self._source = source
        self._picks = tuple(range(length) for length in source.shape) if picks is None else picks
        self._axes = tuple(range(len(self._picks))) if axes is None else axes
        self._points = points

    # -- properties

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return tuple(self._points_shape[~axis] if axis < 0 else _length(self._picks[axis]) for axis in self._axes)

    @property
    def _points_shape(self) -> tuple[int, ...]:
        return next(iter(self._points.values())).shape if self._points else ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the elements."""
        return self._source.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._axes)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of all elements in memory, in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """The lengths of the blocks that lie in one chunk of the source each, for each axis, as in dask."""
        return self._blocks(self._source.chunks)

    @property
    def shards(self) -> tuple[tuple[int, ...], ...] | None:
        """The same for the shards of the source; None if it is not sharded."""
        return None if self._source.shards is None else self._blocks(self._source.shards)

    def _blocks(self, chunks: Chunks) -> tuple[tuple[int, ...], ...]:
        shape = self._source.shape
        return tuple(
            (length,)
            if not 0 <= axis < len(shape)
            else block_lengths(self._picks[axis], lengths_along(chunks, axis, shape[axis]))
            for axis, length in zip(self._axes, self.shape, strict=True)
        )

    # -- selecting

    def __getitem__(self, key: Any) -> LazyView:
        items = self._items(key)
        arrays = [item for item in items if isinstance(item, ArrayItem)]
        if not arrays or (len(arrays) == 1 and _is_simple(arrays[0]) and not _has_integers(items)):
            return self._orthogonal(items)
        return self._pointwise(items, points_first=False)

    @property
    def oindex(self) -> Indexer:
        """Orthogonal selection: each axis takes an integer, a slice, or an array of indices or booleans."""
        return Indexer(self._select_orthogonal, _reject_write)

    @property
    def vindex(self) -> Indexer:
        """Pointwise selection: arrays of indices for some axes, or a mask. The axes of the points come first."""
        return Indexer(self._select_points, _reject_write)

    def _select_orthogonal(self, key: Any, fields: Any) -> LazyView:
        items = self._items(key if fields is None else fields, one_dimensional_masks=True)
        if any(item is None for item in items):
            raise SelectionError("an orthogonal selection cannot add new axes")
        if not all(_is_simple(item) for item in items if isinstance(item, ArrayItem)):
            raise SelectionError("an orthogonal selection takes arrays of one dimension, one for each dimension")
        return self._orthogonal(items)

    def _select_points(self, key: Any, fields: Any) -> LazyView:
        items = self._items(key if fields is None else fields)
        if any(item is None for item in items):
            raise SelectionError("a pointwise selection cannot add new axes")
        if items and not any(isinstance(item, (ArrayItem, IntegerItem)) for item in items):
            raise SelectionError("a pointwise selection needs at least one array of indices, or a mask")
        return self._pointwise(items, points_first=True) if items else self

    def _items(self, key: Any, *, one_dimensional_masks: bool = False) -> list[KeyItem]:
        key = key if isinstance(key, tuple) else (key,)
        return parse_items(key, self.shape, one_dimensional_masks=one_dimensional_masks)

    def _orthogonal(self, items: list[KeyItem]) -> LazyView:
        """The view that `items` select, each along its own axis."""
        picks = list(self._picks)
        axes: list[int] = []
        points = Points(self._points, self._points_shape)
        old_axes = iter(self._axes)
        for item in items:
            if isinstance(item, EllipsisItem):
                continue
            if item is None:
                picks.append(range(1))
                axes.append(len(picks) - 1)
                continue
            axis = next(old_axes)
            index = _index(item)
            if axis < 0:
                if points.select(~axis, index):
                    axes.append(axis)
            else:
                picks[axis] = _compose(picks[axis], index)
                if not isinstance(index, int):
                    axes.append(axis)
        point_axes = sorted(~axis for axis in axes if axis < 0)
        renumbered = tuple(axis if axis >= 0 else ~point_axes.index(~axis) for axis in axes)
        return LazyView(self._source, tuple(picks), renumbered, points.indices)

    def _pointwise(self, items: list[KeyItem], *, points_first: bool) -> LazyView:
        """The view that arrays among `items` select point by point, after the other items."""
        rest, arrays, shape, position = pointwise(items, self.shape, points_first=points_first)
        view = self._orthogonal(rest)
        picks = list(view._picks)
        fancy = {view._axes[axis]: indices for axis, indices in arrays.items()}
        untouched = [~axis for axis in view._axes if axis < 0 and axis not in fancy]
        touched = [~axis for axis in fancy if axis < 0]
        ones = (1,) * len(untouched)
        full = (*shape, *(view._points_shape[number] for number in untouched))
        points: dict[int, npt.NDArray[np.intp]] = {}
        for dimension, indices in view._points.items():
            moved = indices.transpose((*touched, *untouched))
            selected = moved[tuple(fancy[~number] for number in touched)] if touched else moved
            points[dimension] = np.broadcast_to(selected, full)
        for axis, indices in fancy.items():
            if axis >= 0:
                points[axis] = np.broadcast_to(np.reshape(_compose(picks[axis], indices), (*shape, *ones)), full)
                picks[axis] = 0
        if not points:  # the key is a single True or False, which is a new axis
            picks.append(np.zeros(shape, np.intp) if shape else 0)
            new = [len(picks) - 1] if shape else []
        else:
            new = [~number for number in range(len(shape))]
        others = [
            axis if axis >= 0 else ~(len(shape) + untouched.index(~axis)) for axis in view._axes if axis not in fancy
        ]
        axes = (*others[:position], *new, *others[position:])
        return LazyView(self._source, tuple(picks), axes, points)

    # -- reading

    def read(self) -> npt.NDArray[Any]:
        """The elements, read at once."""
        count = len(self._source.shape)
        shape = self._points_shape
        pointed = [dimension for dimension in self._points if dimension < count]
        if pointed and any(isinstance(pick, np.ndarray) for pick in self._picks[:count]):
            return self._only_points().read()
        independent = [dimension for dimension in range(count) if dimension not in self._points]
        slices = {dimension: _engine_pick(self._picks[dimension]) for dimension in independent}
        folded = (*([prod(shape)] if pointed else []), *(slices[dimension][1] for dimension in independent))
        flips = [*([slice(None)] if pointed else []), *(slices[dimension][2] for dimension in independent)]
        picks = [
            self._points[dimension].reshape(-1) if dimension in self._points else slices[dimension][0]
            for dimension in range(count)
        ]
        selection = Selection(tuple(picks), tuple(sorted(pointed)), folded, folded, flips_or_none(flips))
        elements = self._source._read(selection, None)
        if pointed:
            elements = elements.reshape((*shape, *folded[1:]))
        elif self._points:
            elements = np.broadcast_to(elements, (*shape, *folded))
        labels = [~number for number in range(len(shape))]
        slice_dimensions = [dimension for dimension in independent if not isinstance(self._picks[dimension], int)]
        elements = elements[(..., *(slice(None) if dimension in slice_dimensions else 0 for dimension in independent))]
        labels += slice_dimensions
        for dimension in range(count, len(self._picks)):  # new axes
            pick = self._picks[dimension]
            if dimension not in self._points and not isinstance(pick, int):
                elements = np.broadcast_to(elements[..., np.newaxis], (*elements.shape, len(pick)))
                labels.append(dimension)
        elements = elements.transpose([labels.index(axis) for axis in self._axes])
        return elements if elements.flags.writeable else elements.copy()

    def _only_points(self) -> LazyView:
        """The same view, with every array of indices among the points: the engine takes either kind."""
        picks = list(self._picks)
        arrays = {dimension: pick for dimension, pick in enumerate(picks) if isinstance(pick, np.ndarray)}
        old = len(self._points_shape)
        shape = (*self._points_shape, *map(len, arrays.values()))
        points = {
            dimension: np.broadcast_to(indices.reshape((*indices.shape, *(1,) * len(arrays))), shape)
            for dimension, indices in self._points.items()
        }
        for number, (dimension, indices) in enumerate(arrays.items()):
            points[dimension] = np.broadcast_to(indices.reshape((-1, *(1,) * (len(arrays) - number - 1))), shape)
            picks[dimension] = 0
        moved = {dimension: ~(old + number) for number, dimension in enumerate(arrays)}
        return LazyView(self._source, tuple(picks), tuple(moved.get(axis, axis) for axis in self._axes), points)

    def _read(self, selection: Selection, out: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        """Reads a selection of the view, as an array reads it; for views and concatenations of views."""
        items: list[KeyItem] = []
        for axis, pick in enumerate(selection.picks):
            if isinstance(pick, slice):
                items.append(pick)
            else:
                items.append(ArrayItem(np.flatnonzero(pick) if pick.dtype == bool else pick.astype(np.intp), axis))
        whole = [slice(0, length, 1) for length in self.shape]
        view = self._orthogonal([whole[axis] if axis in selection.points else item for axis, item in enumerate(items)])
        if selection.points:
            whole = [slice(0, length, 1) for length in view.shape]
            view = view._pointwise(
                [item if axis in selection.points else whole[axis] for axis, item in enumerate(items)],
                points_first=True,
            )
        if out is None:
            out = np.empty(selection.shape, self.dtype)
        selection.block(out)[...] = view.read()
        return out

    # -- Python protocols and other libraries

    def to_dask(self, chunks: Any = "auto", *, inline_array: bool = False) -> Any:
        """The view as a dask array; `Array.to_dask` explains the arguments."""
        from omnizarr.nodes.protocols.dask import dask_array  # lazy import: dask only

        return dask_array(self, chunks, inline_array)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        points = [(dimension, indices) for dimension, indices in sorted(self._points.items())]
        picks = [(pick.start, pick.stop, pick.step) if isinstance(pick, range) else pick for pick in self._picks]
        return "omnizarr.LazyView", self._source.__dask_tokenize__(), picks, self._axes, points

    def __len__(self) -> int:
        if not self._axes:
            raise TypeError("a view without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        start = 0
        for length in self.chunks[0] if len(self) else ():
            yield from self[start : start + length].read()  # all rows of a chunk at once
            start += length

    def __bool__(self) -> bool:
        return self.size > 0 if self.size != 1 else bool(self.read().reshape(()))

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyView, (self._source, self._picks, self._axes, dict(self._points))

    def __repr__(self) -> str:
        return f"<LazyView shape={self.shape} dtype={self.dtype} of {self._source!r}>"


def _length(pick: ViewPick) -> int:
    assert not isinstance(pick, int)
    return len(pick)


def _is_simple(item: ArrayItem) -> bool:
    """Whether an array selects along one axis, which keeps its place."""
    return item.dimension is not None and item.indices.ndim == 1


def _has_integers(items: list[KeyItem]) -> bool:
    return any(isinstance(item, IntegerItem) for item in items)


def _index(item: KeyItem) -> int | range | npt.NDArray[np.intp]:
    """What an item selects along an axis."""
    if isinstance(item, IntegerItem):
        return item.index
    if isinstance(item, ArrayItem):
        if item.error is not None:
            raise item.error
        return item.indices
    assert isinstance(item, slice)
    return range(item.start, item.stop, item.step)


def _compose(pick: ViewPick, index: int | range | npt.NDArray[np.intp]) -> Any:
    """What remains of `pick` if `index` selects from it."""
    assert not isinstance(pick, int)
    if isinstance(index, int):
        return int(pick[index])
    if isinstance(index, range):
        if not len(index):
            return range(0)
        if isinstance(pick, range):
            start, step = pick.start + pick.step * index.start, pick.step * index.step
            return range(start, start + step * len(index), step)
        return pick[index.start : index.stop if index.stop >= 0 else None : index.step]
    return pick.start + pick.step * index if isinstance(pick, range) else pick[index]


def _engine_pick(pick: ViewPick) -> tuple[Any, int, slice]:
    """A pick for the engine, its length, and the slice that reverses its axis for a negative step."""
    if isinstance(pick, int):
        return slice(pick, pick + 1, 1), 1, slice(None)
    if not isinstance(pick, range):
        return pick, len(pick), slice(None)
    bounded, _, flip = basic_pick(slice(pick.start, pick.stop, pick.step) if len(pick) else slice(0, 0, 1))
    return bounded, len(pick), flip


def _reject_write(*_: Any, **__: Any) -> None:
    raise SelectionError("a lazy view is for reading", hint="assign to the array: `z[10:20] = …`")
