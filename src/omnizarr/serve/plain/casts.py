"""Casts of elements to types that a viewer can show."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.dtypes import data_type_of
from omnizarr.errors import ArgumentError
from omnizarr.tools.casts import TypeCast, cast_small_float, cast_to

__all__ = ["VIEWERS", "cast_for_viewer"]


VIEWERS: dict[str, dict[str, str]] = {
    # What each viewer cannot show, and what it gets instead. Integers are clipped to the range of the smaller type.
    "neuroglancer": {"float64": "float32", "float16": "float32", "bool": "uint8", "int64": "int32"},
    "vizarr": {"float64": "float32", "float16": "float32", "bool": "uint8", "int64": "int32", "uint64": "uint32"},
    "webgl": {"float64": "float32", "float16": "float32", "bool": "uint8", "int64": "int32", "uint64": "uint32"},
}
"""Types by the name of a viewer; `webgl` is what most others can show."""


def cast_for_viewer(viewer: str, dtype: np.dtype[Any]) -> TypeCast | None:
    """The cast that a viewer needs for elements of a type; None if it needs none."""
    table = VIEWERS.get(viewer)
    if table is None:
        raise ArgumentError(
            f"`for`: expected one of {', '.join(VIEWERS)}, found `{viewer}`", argument="for", hint="leave it out"
        )
    if dtype.name in table:
        return cast_to(np.dtype(table[dtype.name]))
    if dtype.kind == "c":
        return TypeCast(data_type_of("float32"), _magnitudes)
    if dtype.kind in "mM":
        return TypeCast(data_type_of("float32"), _times)
    return cast_small_float(dtype)


def _magnitudes(block: npt.NDArray[Any]) -> npt.NDArray[Any]:
    with np.errstate(over="ignore"):  # to infinity, as other casts do
        magnitudes: npt.NDArray[Any] = np.abs(block).astype("float32")
        return magnitudes


def _times(block: npt.NDArray[Any]) -> npt.NDArray[Any]:
    numbers = block.astype("int64").astype("float32")
    numbers[np.isnat(block)] = np.nan
    return numbers
