"""Converting assigned values to arrays of the element type."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.dtypes import DataType, as_elements
from omnizarr.errors import BroadcastError

__all__ = ["as_field_value", "as_value"]


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
