"""Square brackets of an array: indexers such as `z.oindex`, checks of selections, and conversion of assigned values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.dtypes import DataType, as_elements
from omnizarr.errors import BroadcastError, SelectionError
from omnizarr.indexing import split_fields

__all__ = ["Indexer", "as_field_value", "as_mask", "as_value", "has_ellipsis", "only_basic"]


class Indexer:
    """Square brackets for one kind of selection."""

    __slots__ = ("_get", "_iterate", "_set")

    def __init__(
        self,
        get: Callable[..., Any],
        set: Callable[..., None],
        iterate: Callable[[], Iterator[Any]] | None = None,
    ) -> None:
        self._get = get
        self._set = set
        self._iterate = iterate

    def __iter__(self) -> Iterator[Any]:
        if self._iterate is None:
            raise TypeError("only `blocks` can be iterated over; for rows, iterate over the array itself")
        return self._iterate()

    def __getitem__(self, key: Any) -> Any:
        fields, key = split_fields(key)
        return self._get(key, fields=fields)

    def __setitem__(self, key: Any, value: Any) -> None:
        fields, key = split_fields(key)
        self._set(key, value, fields=fields)


def has_ellipsis(key: Any) -> bool:
    """Whether a key contains `...`, for which NumPy returns an array even of a single element."""
    return key is Ellipsis or (isinstance(key, tuple) and any(item is Ellipsis for item in key))


def only_basic(selection: Any) -> Any:
    """The selection itself. Raises SelectionError if it contains arrays of indices."""
    for item in selection if isinstance(selection, tuple) else (selection,):
        if not (item is None or item is Ellipsis or isinstance(item, (slice, int, np.integer))):
            raise SelectionError(
                f"basic selection: expected integers, slices, `...` and `newaxis`, found {type(item).__name__}",
                hint="for arrays of indices use `z[...]`, `z.oindex` or `z.vindex`",
            )
    return selection


def as_mask(mask: Any, shape: tuple[int, ...]) -> Any:
    """The mask as a boolean array. Raises SelectionError if its shape is not `shape`."""
    if isinstance(mask, tuple) and len(mask) == 1:
        mask = mask[0]
    array = np.asarray(mask)
    if array.dtype != bool or array.shape != shape:
        raise SelectionError(f"expected a boolean mask of shape {shape}, found {array.dtype} of shape {array.shape}")
    return array


def as_value(value: Any, data_type: DataType, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """`value` as elements of `data_type`, for a selection of this shape. Raises before anything is written."""
    return data_type.elements(value) if shape else data_type.element(value)


def as_field_value(
    value: Any, dtype: np.dtype[Any], fields: str | list[str], shape: tuple[int, ...]
) -> tuple[npt.NDArray[Any], str | list[str]]:
    """`value` as elements of `fields` of `dtype`, and the fields in the form that the engine takes with them."""
    part = dtype[fields]
    if part.subdtype is None or not isinstance(fields, str):
        return as_elements(value, part), fields
    # The field is a subarray. The engine broadcasts to the selection's shape only, so wrap the values in records.
    elements = as_elements(value, part.base)
    record = np.empty(shape, np.dtype([(fields, part)]))
    try:
        record[fields][...] = elements
    except ValueError:
        raise BroadcastError(elements.shape, (*shape, *part.shape)) from None
    return record, [fields]
