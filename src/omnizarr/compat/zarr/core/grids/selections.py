"""What the items of a selection are: integers, truth values, lists and arrays of them."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from omnizarr.compat.zarr.errors import BoundsCheckError

__all__ = [
    "is_bool_array",
    "is_bool_list",
    "is_int_or_bool_iterable",
    "is_integer",
    "is_integer_array",
    "is_integer_list",
    "normalize_integer_selection",
    "replace_ellipsis",
]


def is_integer(x: Any) -> bool:
    """Whether it is an integer, and no truth value."""
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)


def _list_of(x: Any, kind: Any) -> bool:
    return isinstance(x, list) and len(x) > 0 and all(kind(item) for item in x)


def is_integer_list(x: Any) -> bool:
    """Whether it is a list of integers."""
    return _list_of(x, is_integer)


def is_bool_list(x: Any) -> bool:
    """Whether it is a list of truth values."""
    return _list_of(x, lambda item: isinstance(item, (bool, np.bool_)))


def is_integer_array(x: Any, ndim: int | None = None) -> bool:
    """Whether it is an array of integers."""
    of_integers = not np.isscalar(x) and hasattr(x, "shape") and hasattr(x, "dtype") and x.dtype.kind in "ui"
    return of_integers and (ndim is None or len(x.shape) == ndim)


def is_bool_array(x: Any, ndim: int | None = None) -> bool:
    """Whether it is an array of truth values."""
    of_booleans = hasattr(x, "shape") and hasattr(x, "dtype") and x.dtype == bool
    return of_booleans and (ndim is None or len(x.shape) == ndim)


def is_int_or_bool_iterable(x: Any) -> bool:
    """Whether it is a list or an array of integers or truth values."""
    return is_integer_list(x) or is_integer_array(x) or is_bool_array(x) or is_bool_list(x)


def normalize_integer_selection(dim_sel: int, dim_len: int) -> int:
    """An index that counts from the start."""
    index = int(dim_sel)
    if index < 0:
        index += dim_len
    if not 0 <= index < dim_len:
        raise BoundsCheckError(f"index out of bounds for dimension with length {dim_len}")
    return index


def replace_ellipsis(selection: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A selection with one item for each dimension."""
    items = selection if isinstance(selection, tuple) else (selection,)
    places = [index for index, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if places:
        missing = len(shape) - len(items) + 1
        items = (*items[: places[0]], *(slice(None),) * missing, *items[places[0] + 1 :])
    items += (slice(None),) * (len(shape) - len(items))
    if len(items) > len(shape):
        raise IndexError(f"too many indices for array; expected {len(shape)}, got {len(items)}")
    return items
