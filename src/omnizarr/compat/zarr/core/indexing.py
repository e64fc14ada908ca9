"""Which kind of selection an index is: basic, orthogonal, of coordinates, of a mask."""

from __future__ import annotations

import asyncio
import numbers
from typing import Any, TypeAlias

import numpy as np

from omnizarr.compat.zarr.core.common import ceildiv
from omnizarr.compat.zarr.core.grids.indexers import (
    BasicIndexer,
    BoolArrayDimIndexer,
    ChunkDimProjection,
    ChunkProjection,
    CoordinateIndexer,
    IntArrayDimIndexer,
    IntDimIndexer,
    MaskIndexer,
    OrthogonalIndexer,
    SliceDimIndexer,
)
from omnizarr.compat.zarr.core.grids.selections import (
    is_bool_array,
    is_bool_list,
    is_int_or_bool_iterable,
    is_integer,
    is_integer_array,
    is_integer_list,
    normalize_integer_selection,
    replace_ellipsis,
)
from omnizarr.compat.zarr.core.regions import iter_grid, iter_regions
from omnizarr.compat.zarr.errors import (
    ArrayIndexError,
    NegativeStepError,
    VindexInvalidSelectionError,
)

__all__ = [
    "BasicIndexer",
    "BoolArrayDimIndexer",
    "ChunkDimProjection",
    "ChunkProjection",
    "CoordinateIndexer",
    "IntArrayDimIndexer",
    "IntDimIndexer",
    "MaskIndexer",
    "OrthogonalIndexer",
    "SliceDimIndexer",
    "ceildiv",
    "check_basic",
    "is_bool_array",
    "is_bool_list",
    "is_int_or_bool_iterable",
    "is_integer",
    "is_integer_array",
    "is_integer_list",
    "is_plain",
    "normalize_integer_selection",
    "pop_fields",
    "replace_ellipsis",
]

Selection: TypeAlias = Any
BasicSelection: TypeAlias = Any
OrthogonalSelection: TypeAlias = Any
CoordinateSelection: TypeAlias = Any
MaskSelection: TypeAlias = Any
BlockSelection: TypeAlias = Any
Fields: TypeAlias = Any
SelectorTuple: TypeAlias = Any
_ArrayIndexingOrder: TypeAlias = Any
_iter_grid = iter_grid
_iter_regions = iter_regions

STEP = "only slices with step >= 1 are supported."


def is_plain(key: Any) -> bool:
    """Whether an index consists of integers, slices with a positive step, and `...`. Raises for a negative step."""
    for item in key if type(key) is tuple else (key,):
        kind = type(item)
        if kind is slice:
            step = item.step
            if step is not None and (not isinstance(step, numbers.Integral) or step < 1):
                raise NegativeStepError(STEP)
        elif kind is not int and item is not Ellipsis and (isinstance(item, bool) or not isinstance(item, np.integer)):
            return False
    return True


def check_steps(key: Any) -> None:
    """Raises NegativeStepError for a slice with a negative step."""
    for item in key if isinstance(key, tuple) else (key,):
        if isinstance(item, slice) and item.step is not None and item.step < 1:
            raise NegativeStepError(STEP)


def check_basic(key: Any, ndim: int) -> None:
    """Raises IndexError unless a key has integers, slices with a positive step, and at most one `...`."""
    items = key if isinstance(key, tuple) else (key,)
    check_steps(key)
    for item in items:
        if item is not Ellipsis and not is_integer(item) and not isinstance(item, slice):
            raise IndexError(
                f"unsupported selection item for basic indexing; expected integer or slice, got {type(item)!r}"
            )
    count = sum(item is not Ellipsis for item in items)
    if count < len(items) - 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if count > ndim:
        raise IndexError(f"too many indices for array; expected {ndim}, got {count}")


def is_pure_fancy_indexing(selection: Any, ndim: int) -> bool:
    """Whether a selection is of coordinates or a mask."""
    if is_bool_array(selection):
        return True
    if ndim == 1 and (is_integer_list(selection) or is_integer_array(selection) or is_bool_list(selection)):
        return True
    if not isinstance(selection, tuple) or len(selection) != ndim:
        return False
    lists = [is_integer_list(item) or is_integer_array(item) for item in selection]
    return any(lists) and all(known or is_integer(item) for known, item in zip(lists, selection, strict=True))


def is_pure_orthogonal_indexing(selection: Any, ndim: int) -> bool:
    """Whether a selection has lists and arrays, each for its own dimension."""
    if not ndim:
        return False
    items = selection if isinstance(selection, tuple) else (selection,)
    lists = [is_int_or_bool_iterable(item) for item in items]
    if len(items) == ndim and all(lists):
        return True
    return (
        len(items) <= ndim
        and sum(lists) <= 1
        and all(known or isinstance(item, (int, slice)) for known, item in zip(lists, items, strict=True))
    )


def pop_fields(selection: Any) -> tuple[Any, Any]:
    """The names of fields in a selection (None without), and the rest."""
    if isinstance(selection, str):
        return selection, Ellipsis
    if not isinstance(selection, tuple):
        return None, selection
    fields = [item for item in selection if isinstance(item, str)]
    rest: Any = tuple(item for item in selection if not isinstance(item, str))
    return (fields[0] if len(fields) == 1 else fields or None), (rest[0] if len(rest) == 1 else rest)


def check_vindex(selection: Any, shape: tuple[int, ...]) -> Any:
    """A selection for `vindex`: arrays of indices, or a mask. Raises VindexInvalidSelectionError otherwise."""
    items = selection if isinstance(selection, tuple) else (selection,)
    items = tuple(np.asarray(item) if isinstance(item, list) else item for item in items)
    if len(items) == 1 and is_bool_array(items[0]) and items[0].shape == shape:
        return items[0]
    if len(items) == len(shape) and all(is_integer(item) or is_integer_array(item) for item in items):
        return items
    raise VindexInvalidSelectionError(
        "unsupported selection type for vectorized indexing; only coordinate selection (tuple of integer arrays) and "
        f"mask selection (single Boolean array) are supported; got {selection!r}"
    )


def check_fields(fields: Any, dtype: Any) -> Any:
    """The type of the elements of some fields. Raises IndexError if there are no such fields."""
    if fields is None:
        return dtype
    if not isinstance(fields, (str, list, tuple)):
        raise IndexError(f"'fields' argument must be a string or list of strings; found {type(fields)!r}")
    if dtype.names is None:
        raise IndexError("invalid 'fields' argument, array does not have any fields")
    for name in [fields] if isinstance(fields, str) else fields:
        if name not in dtype.names:
            raise IndexError(f"invalid 'fields' argument, field not found: {name!r}")
    return dtype[fields]


class AsyncOIndex:
    """Orthogonal selections, with a coroutine."""

    def __init__(self, brackets: Any) -> None:
        self._brackets = brackets

    async def getitem(self, selection: Any) -> Any:
        """The elements of a selection."""
        return await asyncio.to_thread(self._brackets.__getitem__, selection)


class AsyncVIndex(AsyncOIndex):
    """Points or a mask, with a coroutine."""

    async def getitem(self, selection: Any) -> Any:
        return await super().getitem(selection)


def _orthogonal(selection: Any, shape: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    items = replace_ellipsis(selection, shape)
    indices = [
        range(length)[item] if isinstance(item, slice) else [item] if is_integer(item) else item
        for item, length in zip(items, shape, strict=True)
    ]
    return np.ix_(*indices), tuple(axis for axis, item in enumerate(items) if is_integer(item))


def oindex(a: Any, selection: Any) -> Any:
    """Orthogonal indexing of a NumPy array."""
    index, dropped = _orthogonal(selection, a.shape)
    return a[index].squeeze(axis=dropped) if dropped else a[index]


def oindex_set(a: Any, selection: Any, value: Any) -> None:
    """Orthogonal assignment to a NumPy array."""
    index, dropped = _orthogonal(selection, a.shape)
    a[index] = value if np.isscalar(value) or not dropped else np.expand_dims(np.asarray(value), dropped)


def make_slice_selection(selection: Any) -> list[slice]:
    """A selection of slices, integers and arrays of one element, as slices."""
    slices = []
    for item in selection:
        if is_integer(item):
            slices.append(slice(int(item), int(item) + 1, 1))
        elif isinstance(item, np.ndarray):
            if len(item) != 1:
                raise ArrayIndexError
            slices.append(slice(int(item[0]), int(item[0]) + 1, 1))
        else:
            slices.append(item)
    return slices


def decode_morton(z: int, chunk_shape: tuple[int, ...]) -> tuple[int, ...]:
    """The coordinates of a number on the compressed Morton curve."""
    bits = [(length - 1).bit_length() for length in chunk_shape]
    coords = [0] * len(chunk_shape)
    position = 0
    for level in range(max(bits, default=0)):
        for axis, count in enumerate(bits):
            if level < count:
                coords[axis] |= (z >> position & 1) << level
                position += 1
    return tuple(coords)


def morton_order_iter(chunk_shape: tuple[int, ...]) -> Any:
    """All coordinates in Morton order."""
    bits = sum((length - 1).bit_length() for length in chunk_shape)
    for z in range(1 << bits):
        coords = decode_morton(z, chunk_shape)
        if all(index < length for index, length in zip(coords, chunk_shape, strict=True)):
            yield coords


def morton_order_coords(chunk_shape: tuple[int, ...]) -> Any:
    """All coordinates in Morton order, as a tuple."""
    return tuple(morton_order_iter(chunk_shape))


def lexicographic_order_coords(chunk_shape: tuple[int, ...]) -> Any:
    """All coordinates, the last axis fastest."""
    return tuple(np.ndindex(*chunk_shape))


def colexicographic_order_coords(chunk_shape: tuple[int, ...]) -> Any:
    """All coordinates, the first axis fastest."""
    return tuple(coords[::-1] for coords in np.ndindex(*chunk_shape[::-1]))
