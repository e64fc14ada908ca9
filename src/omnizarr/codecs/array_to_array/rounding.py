"""Rounding of numbers to fewer binary digits.

All numbers of the small types and of NumPy's floats are exact as doubles, so they are rounded as doubles. Integers of
64 bits are not exact as doubles, so they are rounded as integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs.number_types import Elements, FloatType

__all__ = ["ROUNDINGS", "bit_length", "by_blocks", "drop_bits", "round_doubles", "round_integers"]

Doubles = npt.NDArray[np.float64]

_BLOCK = 2**15  # elements; a few arrays of this many doubles fit into the CPU cache


def _round_half_away(values: Doubles) -> Doubles:
    whole = np.trunc(values)  # not floor(x + 0.5), which rounds the largest double below 0.5 up to 1
    return whole + np.copysign(np.abs(values - whole) >= 0.5, values)


ROUNDINGS: dict[str, Callable[[Doubles], Doubles]] = {
    "nearest-even": np.rint,
    "towards-zero": np.trunc,
    "towards-positive": np.ceil,
    "towards-negative": np.floor,
    "nearest-away": _round_half_away,
}
"""Functions that round doubles to integers. All of them keep the sign of zero."""


def round_doubles(values: Doubles, floats: FloatType, rounding: str) -> Doubles:
    """Round doubles to the precision of `floats`, but not to its range: the caller checks for overflow."""
    if floats.digits == 53:
        return values
    exponents = np.frexp(values)[1]
    steps = np.maximum(exponents - floats.digits, floats.step)
    # Both shifts are exact: steps are far above the smallest double, and at most `digits` digits remain.
    rounded: Doubles = np.ldexp(ROUNDINGS[rounding](np.ldexp(values, -steps)), steps)
    return rounded


def round_integers(integers: Elements, digits: int, rounding: str) -> Doubles:
    """Integers of up to 64 bits as doubles, rounded once to `digits` significant binary digits (at most 53). A
    conversion to double first would round twice."""
    negative = integers < 0
    # The absolute value as uint64, which also works for the lowest number of the type.
    magnitudes = np.where(negative, ~integers, integers).astype(np.uint64) + negative
    shifts = np.maximum(bit_length(magnitudes) - digits, 0)
    quotient, up = drop_bits(magnitudes, shifts, negative, rounding)
    rounded: Doubles = np.ldexp((quotient + up).astype(np.float64), shifts)
    return np.where(negative, -rounded, rounded)


def bit_length(magnitudes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    """`int.bit_length` of each number, computed from two halves, which are both exact as doubles."""
    upper = np.frexp((magnitudes >> np.uint64(32)).astype(np.float64))[1]
    lower = np.frexp((magnitudes & np.uint64(2**32 - 1)).astype(np.float64))[1]
    return np.where(upper > 0, upper + 32, lower)


def drop_bits(
    magnitudes: npt.NDArray[np.uint64], shifts: Elements, negative: Elements, rounding: str
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """`magnitudes >> shifts`, and a mask of the numbers to which rounding adds 1."""
    counts = shifts.astype(np.uint64)
    quotient = magnitudes >> counts
    rest = magnitudes - (quotient << counts)
    if rounding == "towards-zero":
        return quotient, np.zeros(quotient.shape, bool)
    if rounding in ("towards-positive", "towards-negative"):
        return quotient, (rest > 0) & (negative == (rounding == "towards-negative"))
    cut = shifts > 0
    half = np.uint64(1) << (np.maximum(counts, np.uint64(1)) - np.uint64(1))
    tie = (rest == half) & ((quotient & np.uint64(1) > 0) | (rounding == "nearest-away"))
    return quotient, cut & ((rest > half) | tie)


def by_blocks(function: Callable[[Elements], Elements], array: Elements, dtype: np.dtype[Any]) -> Elements:
    """Apply an elementwise function in blocks, so that its temporary arrays stay small. The result has type `dtype`."""
    flat = array.reshape(-1)
    result = np.empty(flat.size, dtype)
    for start in range(0, flat.size, _BLOCK):
        result[start : start + _BLOCK] = function(flat[start : start + _BLOCK])
    return result.reshape(array.shape)
