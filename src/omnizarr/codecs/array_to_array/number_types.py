"""What codecs that compute must know of a type of numbers, be it NumPy's or of the package ml_dtypes: which numbers it
has, and how to round to them.

All numbers of the small types, and of NumPy's floats, are doubles, so that rounding is done in doubles; integers of 64
bits are not, and stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._fork import import_library
from omnizarr.dtypes.numbers.ml_dtypes_ import is_ml_dtype

__all__ = [
    "ROUNDINGS",
    "Elements",
    "Floats",
    "Integers",
    "bit_length",
    "by_blocks",
    "components",
    "number_of",
    "rounds_up",
    "shortened",
    "to_grid",
    "wide",
]

Elements = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]

_BLOCK = 2**15  # elements; a few arrays of so many doubles fit into a processor's cache


@dataclass(frozen=True, slots=True)
class Integers:
    """Two's complement of so many bits, or unsigned."""

    bits: int
    signed: bool

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << (self.bits - self.signed)) - 1


@dataclass(frozen=True, slots=True)
class Floats:
    """Binary floats."""

    digits: int
    """Significant binary digits of a normal number."""
    step: int
    """The smallest difference of two numbers is two to this power; where there is no zero, it is far below all."""
    low: float
    high: float
    """The numbers, infinities apart, lie between these."""
    infinities: bool
    nans: bool


@lru_cache(64)
def number_of(dtype: np.dtype[Any]) -> Integers | Floats | None:
    """The numbers that a type has; None if it is no type of real numbers. Truths and times are none."""
    info: Any
    if not is_ml_dtype(dtype):
        if dtype.kind in "iu":
            return Integers(8 * dtype.itemsize, dtype.kind == "i")
        if dtype.kind != "f" or dtype.itemsize > 8:
            return None
        info = np.finfo(dtype)
        step = int(info.minexp) - int(info.nmant)
        return Floats(int(info.nmant) + 1, step, float(info.min), float(info.max), infinities=True, nans=True)
    library = import_library("ml_dtypes")
    if dtype.name.startswith(("int", "uint")):
        info = library.iinfo(dtype)
        return Integers(int(info.bits), dtype.name.startswith("int"))
    if "float" not in dtype.name:
        return None
    info = library.finfo(dtype)
    low, high, nmant = float(info.min), float(info.max), int(info.nmant)
    with np.errstate(all="ignore"):
        special = np.array([np.inf, np.nan]).astype(dtype).astype(np.float64)
    return Floats(
        nmant + 1,
        int(info.minexp) - nmant if low < 0 else -5000,
        low,
        high,
        infinities=bool(np.isinf(special[0])),
        nans=bool(np.isnan(special[1])),
    )


def components(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], int] | None:
    """The type of which an element consists, and how often: complex numbers have two parts, times are integers. None
    if it is no number at all."""
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
        return (part, 2) if isinstance(number_of(part), Floats) else None
    return (dtype, 1) if dtype.kind == "b" or number_of(dtype) is not None else None


def wide(array: Elements) -> Elements:
    """The same numbers in a type that NumPy can compute with: floats as doubles, small integers as bytes."""
    if not is_ml_dtype(array.dtype) and array.dtype.kind != "f":
        return array
    if array.dtype.name.startswith("int"):
        return array.astype(np.int8)
    if array.dtype.name.startswith("uint"):
        return array.astype(np.uint8)
    with np.errstate(invalid="ignore"):  # about some NaNs
        return array.astype(np.float64, copy=False)


def _away(values: Doubles) -> Doubles:
    whole = np.trunc(values)  # adding a half instead would round the double below a half up to one
    return whole + np.copysign(np.abs(values - whole) >= 0.5, values)


ROUNDINGS: dict[str, Callable[[Doubles], Doubles]] = {
    "nearest-even": np.rint,
    "towards-zero": np.trunc,
    "towards-positive": np.ceil,
    "towards-negative": np.floor,
    "nearest-away": _away,
}
"""How to make doubles whole. All of them keep the sign of zero."""


def to_grid(values: Doubles, floats: Floats, rounding: str) -> Doubles:
    """Doubles rounded to as many digits as `floats` have, as if their exponents had no upper bound: what becomes too
    large is for the caller to judge."""
    if floats.digits == 53:
        return values
    exponents = np.frexp(values)[1]
    steps = np.maximum(exponents - floats.digits, floats.step)
    # Both shifts are exact: what lies below a step is far above the smallest double, and `digits` digits remain.
    found: Doubles = np.ldexp(ROUNDINGS[rounding](np.ldexp(values, -steps)), steps)
    return found


def shortened(integers: Elements, digits: int, rounding: str) -> Doubles:
    """Integers of up to 64 bits as doubles, rounded to so many significant binary digits, at most 53: rounded once,
    which a conversion to double first would not do."""
    negative = integers < 0
    # The absolute value; of the lowest number, too, which has none in its own type.
    magnitudes = np.where(negative, ~integers, integers).astype(np.uint64) + negative
    shifts = np.maximum(bit_length(magnitudes) - digits, 0)
    kept, up = rounds_up(magnitudes, shifts, negative, rounding)
    found: Doubles = np.ldexp((kept + up).astype(np.float64), shifts)
    return np.where(negative, -found, found)


def bit_length(magnitudes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    """How many bits each number has, without zeros before it. Of the two halves each is exact as a double."""
    upper = np.frexp((magnitudes >> np.uint64(32)).astype(np.float64))[1]
    lower = np.frexp((magnitudes & np.uint64(2**32 - 1)).astype(np.float64))[1]
    return np.where(upper > 0, upper + 32, lower)


def rounds_up(
    magnitudes: npt.NDArray[np.uint64], shifts: Elements, negative: Elements, rounding: str
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """What is left of magnitudes without so many bits at their ends, and whether one must be added."""
    places = shifts.astype(np.uint64)
    kept = magnitudes >> places
    rest = magnitudes - (kept << places)
    if rounding == "towards-zero":
        return kept, np.zeros(kept.shape, bool)
    if rounding in ("towards-positive", "towards-negative"):
        return kept, (rest > 0) & (negative == (rounding == "towards-negative"))
    cut = shifts > 0
    half = np.uint64(1) << (np.maximum(places, np.uint64(1)) - np.uint64(1))
    tie = (rest == half) & ((kept & np.uint64(1) > 0) | (rounding == "nearest-away"))
    return kept, cut & ((rest > half) | tie)


def by_blocks(function: Callable[[Elements], Elements], array: Elements, dtype: np.dtype[Any]) -> Elements:
    """What `function` makes of an array, element by element, as elements of `dtype`: a block at a time, so that what it
    needs on the way is little."""
    flat = array.reshape(-1)
    found = np.empty(flat.size, dtype)
    for start in range(0, flat.size, _BLOCK):
        found[start : start + _BLOCK] = function(flat[start : start + _BLOCK])
    return found.reshape(array.shape)
