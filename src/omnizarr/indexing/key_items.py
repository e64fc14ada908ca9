"""The items of a key, checked against the array's shape. All kinds of key share them."""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.errors import OutOfBoundsError, SelectionError

__all__ = ["ArrayItem", "EllipsisItem", "IntegerItem", "KeyItem", "basic_pick", "flips_or_none", "parse_items"]


class IntegerItem:
    """A non-negative integer."""

    __slots__ = ("dimension", "index")

    def __init__(self, index: int, dimension: int) -> None:
        self.index = index
        self.dimension = dimension


class ArrayItem:
    """An array of indices for one dimension; without a dimension, a single `True` or `False`."""

    __slots__ = ("dimension", "error", "indices")

    def __init__(
        self, indices: npt.NDArray[np.intp], dimension: int | None, error: OutOfBoundsError | None = None
    ) -> None:
        self.indices = indices
        self.dimension = dimension
        self.error = error
        """An index out of bounds. The error of an integer is always raised. The error of an array is raised only if at
        least one point remains after broadcasting, because NumPy checks indices after that."""


class EllipsisItem:
    """The position of `...`. NumPy treats it as an item between arrays even if it stands for no dimension."""


KeyItem: TypeAlias = slice | IntegerItem | ArrayItem | EllipsisItem | None
"""None stands for a new axis."""


def parse_items(key: tuple[Any, ...], shape: tuple[int, ...], *, one_dimensional_masks: bool = False) -> list[KeyItem]:
    """The items of `key`. Slices for all dimensions that `...` stands for follow its `EllipsisItem`."""
    consumed = 0
    has_ellipsis = False
    raw: list[Any] = []
    for item in key:
        if item is Ellipsis:
            if has_ellipsis:
                raise SelectionError("an index can hold only one `...`")
            has_ellipsis = True
        elif item is None or isinstance(item, slice):
            consumed += item is not None
        elif isinstance(item, int) and not isinstance(item, bool):
            consumed += 1
        else:
            item = _integer_or_array(item)
            consumed += item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1
        raw.append(item)
    if consumed > len(shape):
        raise SelectionError(f"too many indices: the array has {len(shape)} dimensions, and {consumed} were indexed")
    missing = len(shape) - consumed
    if not has_ellipsis:
        raw.extend([slice(None)] * missing)
    items: list[KeyItem] = []
    dimension = 0
    for item in raw:
        if item is Ellipsis:
            items.append(EllipsisItem())
            items.extend(slice(0, length, 1) for length in shape[dimension : dimension + missing])
            dimension += missing
        elif item is None:
            items.append(None)
        elif isinstance(item, slice):
            items.append(_resolve_slice(item, shape[dimension]))
            dimension += 1
        elif isinstance(item, int):
            items.append(_integer_item(item, dimension, shape[dimension]))
            dimension += 1
        elif item.dtype == bool:
            if item.ndim == 0:
                items.append(ArrayItem(np.zeros(int(item), np.intp), None))
                continue
            if one_dimensional_masks and item.ndim > 1:
                raise SelectionError("an orthogonal selection takes masks of one dimension, one for each dimension")
            _check_mask_shape(item.shape, shape, dimension)
            for indices in item.nonzero():
                items.append(ArrayItem(indices, dimension))
                dimension += 1
        else:
            items.append(_index_array_item(item, dimension, shape[dimension]))
            dimension += 1
    return items


def _integer_or_array(item: Any) -> Any:
    """An item that is neither a slice, `...` nor a Python integer, as an integer or an array of indices."""
    if not isinstance(item, np.ndarray):
        if isinstance(item, (bool, np.bool_)):
            return np.asarray(item)
        try:
            return operator.index(item)
        except TypeError:
            pass
        try:
            array = np.asarray(item)
        except ValueError as error:
            raise SelectionError(f"this cannot be used as an index: {error}") from None
        if array.size == 0 and array.dtype == float and isinstance(item, (list, tuple)):
            array = array.astype(np.intp)  # NumPy makes floats of an empty list
        item = array
    if item.dtype == bool:
        return item
    if item.dtype.kind not in "iu":
        raise SelectionError(
            "only integers, slices, `...`, `newaxis` and arrays of integers or booleans can be used as an index, "
            f"not {item.dtype}"
        )
    return int(item) if item.ndim == 0 else item


def _resolve_slice(item: slice, length: int) -> slice:
    try:
        return slice(*item.indices(length))
    except (TypeError, ValueError) as error:
        raise SelectionError(f"{item} is not a usable slice: {error}") from None


def _integer_item(index: int, axis: int, length: int) -> IntegerItem | ArrayItem:
    if -length <= index < length:
        return IntegerItem(index + length if index < 0 else index, axis)
    return ArrayItem(np.zeros((), np.intp), axis, OutOfBoundsError(axis, index, length))


def _index_array_item(array: npt.NDArray[Any], axis: int, length: int) -> ArrayItem:
    if array.size:
        low, high = int(array.min()), int(array.max())
        if low < -length or high >= length:
            wrong = low if low < -length else high
            return ArrayItem(np.zeros(array.shape, np.intp), axis, OutOfBoundsError(axis, wrong, length))
        indices = array.astype(np.intp, copy=False)
        return ArrayItem(np.where(indices < 0, indices + length, indices) if low < 0 else indices, axis)
    return ArrayItem(array.astype(np.intp, copy=False), axis)


def _check_mask_shape(mask: tuple[int, ...], shape: tuple[int, ...], dimension: int) -> None:
    for axis, length in enumerate(mask, dimension):
        if length and length != shape[axis]:  # NumPy accepts an empty mask for any length
            raise SelectionError(f"a mask of length {length} cannot be used on axis {axis} with length {shape[axis]}")


def basic_pick(item: KeyItem) -> tuple[slice, bool, slice]:
    """An integer or a slice as a slice with a positive step; whether the result keeps the axis; the slice that reverses
    it for a negative step."""
    if isinstance(item, IntegerItem):
        return slice(item.index, item.index + 1, 1), False, slice(None)
    assert isinstance(item, slice)
    if item.step > 0:
        return slice(item.start, max(item.start, item.stop), item.step), True, slice(None)
    count = max(0, -(-(item.start - item.stop) // -item.step))
    if count == 0:
        return slice(0, 0, 1), True, slice(None)
    first = item.start + (count - 1) * item.step
    return slice(first, item.start + 1, -item.step), True, slice(None, None, -1)


def flips_or_none(flips: list[slice]) -> tuple[slice, ...] | None:
    """`flips`, or None if no axis is reversed."""
    return tuple(flips) if any(flip.step == -1 for flip in flips) else None
