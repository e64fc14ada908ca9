"""Small numbers that NumPy lacks: those of the package ml_dtypes, which is loaded when one is met (R141–R144)."""

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
"""The bits of those that are shorter than the byte in which they lie. The bits above them count for nothing. In memory
they are zero, as ml_dtypes leaves them; it takes a float with others for a different one."""

COMPLEX_NAMES = {"complex32": "complex_float16", "bcomplex32": "complex_bfloat16"}
"""The complex types that ml_dtypes has since 0.6, and what they are called here. They are taken, and not given: whoever
reads an array must get the same type whatever is installed."""

SubbyteField = tuple[tuple[str, ...], str]
"""The fields that lead to a number, and the name of its type."""


def ml_dtype(name: str) -> np.dtype[Any]:
    """The NumPy type of that name; MissingDependencyError if the package is not there, or too old to have it."""
    try:
        module = import_library("ml_dtypes")
    except ImportError:
        raise MissingDependencyError(f"data type `{name}`", "ml_dtypes") from None
    kind = getattr(module, name, None)
    if kind is None:
        raise MissingDependencyError(f"data type `{name}`", "ml_dtypes~=0.5")
    found: np.dtype[Any] = np.dtype(kind)
    return found


def is_ml_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a type is one of that package."""
    return dtype.isbuiltin == 2 and dtype.type.__module__.partition(".")[0] == "ml_dtypes"


@lru_cache(256)
def subbyte_fields(dtype: np.dtype[Any]) -> tuple[SubbyteField, ...]:
    """The numbers within a type, or it itself, that are shorter than a byte."""
    return tuple(
        (path, leaf.name) for path, leaf in leaf_types(dtype) if is_ml_dtype(leaf) and leaf.name in SUBBYTE_WIDTHS
    )


def limits(name: str) -> tuple[int, int]:
    """The smallest and the largest integer of a type."""
    bits = SUBBYTE_WIDTHS[name]
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def check_subbyte_values(value: Any, dtype: np.dtype[Any]) -> None:
    """Refuses what ml_dtypes would convert into something else without a word: integers out of range, as NumPy refuses
    those of its own types, and NaN where there is none."""
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
    """`array` itself if no bit that does not count is set in it, else a copy in which none is."""
    return _with(array, subbyte_fields(array.dtype), _cleared)


def extend_signs(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same as it is stored: of signed integers, the sign is repeated in all bits above. The registry lets writers
    choose; so whoever reads a byte as an integer of 8 bits reads it right, and others write the same."""
    return _with(array, subbyte_fields(array.dtype), _extended)


def _with(array: npt.NDArray[Any], parts: tuple[SubbyteField, ...], change: Any) -> npt.NDArray[Any]:
    copied = False
    for path, name in parts:
        part = _bits(array, path)
        changed = change(part, name)
        if not copied and (changed != part).any():
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
