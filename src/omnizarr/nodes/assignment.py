"""What a user assigns, made ready for the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.dtypes import DataType, as_elements
from omnizarr.errors import BroadcastError

__all__ = ["as_field_value", "as_value"]


def as_value(value: Any, data_type: DataType, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """A value for elements of a type, to be assigned to a selection of that shape; refused before anything is written,
    if it is no such value."""
    return data_type.elements(value) if shape else data_type.element(value)


def as_field_value(
    value: Any, dtype: np.dtype[Any], fields: str | list[str], shape: tuple[int, ...]
) -> tuple[npt.NDArray[Any], str | list[str]]:
    """The same for some fields of elements of `dtype`; and the fields, perhaps in another form."""
    part = dtype[fields]
    if part.subdtype is None or not isinstance(fields, str):
        return as_elements(value, part), fields
    # A field that is an array: the engine knows only the shape of the selection, so a record is made of it.
    found = as_elements(value, part.base)
    record = np.empty(shape, np.dtype([(fields, part)]))
    try:
        record[fields][...] = found
    except ValueError:
        raise BroadcastError(found.shape, (*shape, *part.shape)) from None
    return record, [fields]
