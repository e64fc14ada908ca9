"""The types and blocks of zfp, and the conversion of other number types to the four types that zfp has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from omnizarr.codecs.number_types import Elements, IntegerType, number_type, widen

__all__ = ["MAX_BLOCK_BITS", "SIDE", "TYPES", "Promotion", "block_bits", "find_promotion", "min_block_bits"]

TYPES = tuple(np.dtype(name) for name in ("i4", "i8", "f4", "f8"))
"""All types of zfp, in the order of their numbers in stream headers."""
SIDE = 4
"""Length of a block in each dimension."""
MAX_BLOCK_BITS = 2**15
"""Limit of the field in stream headers. No block needs half of it."""
_REVERSIBLE = -1075  # a `minexp` of at most this, below that of all doubles, selects the reversible mode


def block_bits(rate: float, ndim: int) -> int:
    """The size of a block in bits at `rate` bits per number, rounded as zfp does. MAX_BLOCK_BITS + 1 means too many."""
    values = float(SIDE**ndim)
    return math.floor(min(values * rate, MAX_BLOCK_BITS + 1) + 0.5)


def min_block_bits(dtype: np.dtype[Any], minexp: int = 0) -> int:
    """The bits of a block that zfp writes before it checks the remaining space. With fewer bits its counter underflows,
    and it writes beyond its buffer."""
    if minexp <= _REVERSIBLE:
        return {"i4": 6, "i8": 7, "f4": 16, "f8": 20}[dtype.str[1:]]
    return {"i4": 1, "i8": 1, "f4": 9, "f8": 12}[dtype.str[1:]]


class Promotion:
    """Conversion of elements to a type of zfp and back. This class reinterprets the bits, as for times."""

    __slots__ = ("_original", "dtype")

    def __init__(self, original: np.dtype[Any], dtype: np.dtype[Any]) -> None:
        self._original = original
        self.dtype = dtype

    def promote(self, array: Elements) -> Elements:
        return array if array.dtype == self.dtype else np.ascontiguousarray(array).view(self.dtype)

    def demote(self, array: Elements) -> Elements:
        return array.view(self._original)


class _NarrowFloats(Promotion):
    def promote(self, array: Elements) -> Elements:
        with np.errstate(invalid="ignore"):  # some NaNs make it warn
            return array.astype(self.dtype)

    def demote(self, array: Elements) -> Elements:
        with np.errstate(over="ignore", invalid="ignore"):  # lossy modes may exceed the largest number a little
            return array.astype(self._original)


class _NarrowIntegers(Promotion):
    """Shifts integers to the upper bits, so that zfp's errors affect the lower ones, and centres unsigned ones on
    zero."""

    __slots__ = ("_integers",)

    def __init__(self, original: np.dtype[Any], integers: IntegerType) -> None:
        super().__init__(original, np.dtype(np.int32))
        self._integers = integers

    def promote(self, array: Elements) -> Elements:
        numbers = widen(array).astype(np.int32)
        shifted: Elements = (numbers - self._middle) << (31 - self._integers.bits)
        return shifted

    def demote(self, array: Elements) -> Elements:
        """Clip, because lossy modes may exceed the range of the type. The registry's text states a wrong lower limit
        (A26)."""
        numbers = (array >> (31 - self._integers.bits)) + self._middle
        limited: Elements = np.clip(numbers, self._integers.low, self._integers.high)
        return limited.astype(self._original)

    @property
    def _middle(self) -> int:
        return 0 if self._integers.signed else 1 << (self._integers.bits - 1)


class _Unsigned(Promotion):
    """For unsigned integers of 32 and 64 bits: zfp has only signed ones. A number in the upper half is an error here;
    zarrs stores the largest signed number instead."""

    def promote(self, array: Elements) -> Elements:
        limit = np.iinfo(self.dtype).max
        if array.size and array.max() > limit:
            raise ValueError(f"expected at most {limit}, because zfp has only signed integers, found {array.max()}")
        return array.astype(self.dtype)

    def demote(self, array: Elements) -> Elements:
        return np.maximum(array, 0).astype(self._original)


def find_promotion(dtype: np.dtype[Any]) -> Promotion | None:
    """The conversion for a type; None if zfp does not support it."""
    if dtype.kind in "mM":
        return Promotion(dtype, np.dtype(np.int64))
    number = number_type(dtype)
    if isinstance(number, IntegerType):
        if number.bits < 32:
            return _NarrowIntegers(dtype, number)
        signed = np.dtype(f"i{dtype.itemsize}")
        return Promotion(dtype, signed) if number.signed else _Unsigned(dtype, signed)
    if dtype.name in ("float32", "float64"):
        return Promotion(dtype, dtype)
    return _NarrowFloats(dtype, np.dtype(np.float32)) if dtype.name in ("float16", "bfloat16") else None
