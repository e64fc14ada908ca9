"""The range and precision of number types, both NumPy's and those of ml_dtypes, for codecs that compute."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._fork import import_library
from omnizarr.dtypes.numbers.ml_dtypes_ import is_ml_dtype

__all__ = ["Elements", "FloatType", "IntegerType", "components", "number_type", "widen"]

Elements = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class IntegerType:
    """A type of integers: unsigned, or two's complement."""

    bits: int
    signed: bool

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << (self.bits - self.signed)) - 1


@dataclass(frozen=True, slots=True)
class FloatType:
    """A type of binary floats."""

    digits: int
    """Significant binary digits of a normal number."""
    step: int
    """Binary logarithm of the smallest difference between two numbers; -5000 for types without zero."""
    low: float
    """The lowest finite number."""
    high: float
    """The highest finite number."""
    infinities: bool
    nans: bool


@lru_cache(64)
def number_type(dtype: np.dtype[Any]) -> IntegerType | FloatType | None:
    """The properties of a type of real numbers; None for other types, including booleans and times."""
    info: Any
    if not is_ml_dtype(dtype):
        if dtype.kind in "iu":
            return IntegerType(8 * dtype.itemsize, dtype.kind == "i")
        if dtype.kind != "f" or dtype.itemsize > 8:
            return None
        info = np.finfo(dtype)
        step = int(info.minexp) - int(info.nmant)
        return FloatType(int(info.nmant) + 1, step, float(info.min), float(info.max), infinities=True, nans=True)
    library = import_library("ml_dtypes")
    if dtype.name.startswith(("int", "uint")):
        info = library.iinfo(dtype)
        return IntegerType(int(info.bits), dtype.name.startswith("int"))
    if "float" not in dtype.name:
        return None
    info = library.finfo(dtype)
    low, high, nmant = float(info.min), float(info.max), int(info.nmant)
    with np.errstate(all="ignore"):
        special = np.array([np.inf, np.nan]).astype(dtype).astype(np.float64)
    return FloatType(
        nmant + 1,
        int(info.minexp) - nmant if low < 0 else -5000,
        low,
        high,
        infinities=bool(np.isinf(special[0])),
        nans=bool(np.isnan(special[1])),
    )


def components(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], int] | None:
    """The component type of an element, and how many components it has: complex numbers have two, and times consist of
    one integer. None if elements are not numbers."""
    if dtype.kind in "mM":
        return np.dtype(np.int64), 1
    if dtype.kind == "c" and dtype.itemsize <= 16:
        return np.dtype(f"f{dtype.itemsize // 2}"), 2
    if (
        dtype.names == ("real", "imag")
        and dtype["real"] == dtype["imag"]
        and dtype.itemsize == 2 * dtype["real"].itemsize
    ):
        part: np.dtype[Any] = dtype["real"]
        return (part, 2) if isinstance(number_type(part), FloatType) else None
    return (dtype, 1) if dtype.kind == "b" or number_type(dtype) is not None else None


def widen(array: Elements) -> Elements:
    """The same numbers in a type that NumPy computes with: floats as doubles, integers of ml_dtypes as bytes."""
    if not is_ml_dtype(array.dtype) and array.dtype.kind != "f":
        return array
    if array.dtype.name.startswith("int"):
        return array.astype(np.int8)
    if array.dtype.name.startswith("uint"):
        return array.astype(np.uint8)
    with np.errstate(invalid="ignore"):  # some NaNs make it warn
        return array.astype(np.float64, copy=False)
