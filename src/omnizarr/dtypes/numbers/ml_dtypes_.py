"""The NumPy dtypes of the package ml_dtypes: small integers and floats (R141–R144). The package is imported on first
use."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._fork import import_library
from omnizarr.dtypes.record_padding import leaf_types
from omnizarr.errors import ArgumentError, MissingDependencyError

__all__ = [
    "COMPLEX_NAMES",
    "SUBBYTE_WIDTHS",
    "check_subbyte_values",
    "clear_unused_bits",
    "extend_signs",
    "is_ml_dtype",
    "limits",
    "ml_dtype",
    "subbyte_fields",
]

SUBBYTE_WIDTHS = {
    "int2": 2,
    "uint2": 2,
    "int4": 4,
    "uint4": 4,
    "float4_e2m1fn": 4,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
}
"""The bits of the types that are shorter than a byte. The other bits of the byte are unused. In memory they are zero,
as ml_dtypes writes them; it treats a float with other unused bits as a different number."""

COMPLEX_NAMES = {"complex32": "complex_float16", "bcomplex32": "complex_bfloat16"}
"""The complex types of ml_dtypes 0.6, and their names here. omnizarr accepts them and never returns them, so that
reading an array gives the same type with every version of ml_dtypes."""

SubbyteField = tuple[tuple[str, ...], str]
"""The path of field names to a number, and the name of its type."""


def ml_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of that name; MissingDependencyError if ml_dtypes is not installed or too old."""
    try:
        module = import_library("ml_dtypes")
    except ImportError:
        raise MissingDependencyError(f"data type `{name}`", "ml_dtypes") from None
    kind = getattr(module, name, None)
    if kind is None:
        raise MissingDependencyError(f"data type `{name}`", "ml_dtypes~=0.5")
    dtype: np.dtype[Any] = np.dtype(kind)
    return dtype


def is_ml_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype comes from ml_dtypes."""
    return dtype.isbuiltin == 2 and dtype.type.__module__.partition(".")[0] == "ml_dtypes"


@lru_cache(256)
def subbyte_fields(dtype: np.dtype[Any]) -> tuple[SubbyteField, ...]:
    """The numbers inside a dtype, or the dtype itself, that are shorter than a byte."""
    return tuple(
        (path, leaf.name) for path, leaf in leaf_types(dtype) if is_ml_dtype(leaf) and leaf.name in SUBBYTE_WIDTHS
    )


def limits(name: str) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    bits = SUBBYTE_WIDTHS[name]
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def check_subbyte_values(value: Any, dtype: np.dtype[Any]) -> None:
    """Raise an error for values that ml_dtypes would silently change: integers out of range (OverflowError, as NumPy
    does for its own types), and NaN for a type without NaN (ArgumentError)."""
    name = dtype.name if is_ml_dtype(dtype) else ""
    if name not in SUBBYTE_WIDTHS:
        return
    array = np.asarray(value)
    if array.dtype == dtype:
        return
    if name.startswith("float"):
        if (array.dtype.kind == "f" or is_ml_dtype(array.dtype)) and np.isnan(array).any():
            raise ArgumentError(f"the data type `{name}` has no NaN", argument="value")
    elif array.dtype.kind == "O" or (array.dtype.kind in "iuf" and not hasattr(value, "__array__")):
        low, high = limits(name)
        beyond = ~((array >= low) & (array <= high)).astype(bool)
        if beyond.any():
            raise OverflowError(f"{array[beyond].flat[0]} is out of bounds for {name}: expected from {low} to {high}")


def clear_unused_bits(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`array` itself if its unused bits are zero, otherwise a copy in which they are."""
    return _change_bits(array, subbyte_fields(array.dtype), _cleared)


def extend_signs(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The stored form of `array`: unused bits repeat the sign of signed integers and are zero otherwise.

    The registry lets writers choose. This form is correct for readers that read the byte as an 8-bit integer, and other
    writers use it, too."""
    return _change_bits(array, subbyte_fields(array.dtype), _extended)


def _change_bits(array: npt.NDArray[Any], fields: tuple[SubbyteField, ...], change: Any) -> npt.NDArray[Any]:
    copied = False
    for path, name in fields:
        bits = _bits(array, path)
        changed = change(bits, name)
        if not copied and (changed != bits).any():
            array, copied = array.copy(), True
        if copied:
            _bits(array, path)[...] = changed
    return array


def _bits(array: npt.NDArray[Any], path: tuple[str, ...]) -> npt.NDArray[np.uint8]:
    for name in path:
        array = array[name]
    return array.view(np.uint8)


def _cleared(bits: npt.NDArray[np.uint8], name: str) -> npt.NDArray[np.uint8]:
    return bits & np.uint8(2 ** SUBBYTE_WIDTHS[name] - 1)


def _extended(bits: npt.NDArray[np.uint8], name: str) -> npt.NDArray[np.uint8]:
    if not name.startswith("int"):
        return _cleared(bits, name)
    shift = np.uint8(8 - SUBBYTE_WIDTHS[name])
    return ((bits << shift).view(np.int8) >> shift.view(np.int8)).view(np.uint8)
