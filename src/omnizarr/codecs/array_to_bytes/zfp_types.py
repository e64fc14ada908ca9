"""Numbers as zfp takes them: it has two types of integers and two of floats, and others are made one of those; and the
blocks that it makes of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from omnizarr.codecs.number_types import Elements, IntegerType, number_type, widen

__all__ = ["MOST_BITS", "SIDE", "TYPES", "Promotion", "block_bits", "fewest_bits", "promotion_of"]

TYPES = tuple(np.dtype(name) for name in ("i4", "i8", "f4", "f8"))
"""All that it has, in the order of the numbers by which headers of its streams name them."""
SIDE = 4
"""Elements of a block, in each dimension."""
MOST_BITS = 2**15
"""Of a block, as headers have room for; none needs half of it."""
_REVERSIBLE = -1075  # a least exponent below that of all doubles asks for it


def block_bits(rate: float, ndim: int) -> int:
    """How many bits each block has at so many bits per number, as the library rounds it; MOST_BITS + 1 for all that is
    too many."""
    values = float(SIDE**ndim)
    return math.floor(min(values * rate, MOST_BITS + 1) + 0.5)


def fewest_bits(dtype: np.dtype[Any], minexp: int = 0) -> int:
    """How many bits the library writes of a block before it looks whether there are any left: with fewer of them it
    counts below zero, and goes on beyond the end of its memory."""
    if minexp <= _REVERSIBLE:
        return {"i4": 6, "i8": 7, "f4": 16, "f8": 20}[dtype.str[1:]]
    return {"i4": 1, "i8": 1, "f4": 9, "f8": 12}[dtype.str[1:]]


class Promotion:
    """How elements of one type become elements of a type that zfp has, and back."""

    __slots__ = ("_original", "dtype")

    def __init__(self, original: np.dtype[Any], dtype: np.dtype[Any]) -> None:
        self._original = original
        self.dtype = dtype

    def promoted(self, array: Elements) -> Elements:
        """The same bits: times are integers."""
        return array if array.dtype == self.dtype else np.ascontiguousarray(array).view(self.dtype)

    def demoted(self, array: Elements) -> Elements:
        return array.view(self._original)


class _NarrowFloats(Promotion):
    def promoted(self, array: Elements) -> Elements:
        with np.errstate(invalid="ignore"):  # about some NaNs
            return array.astype(self.dtype)

    def demoted(self, array: Elements) -> Elements:
        with np.errstate(over="ignore", invalid="ignore"):  # with loss, a little above the largest number
            return array.astype(self._original)


class _NarrowIntegers(Promotion):
    """Shifted to the upper bits, so that what zfp loses lies below them; unsigned ones moved to lie around zero."""

    __slots__ = ("_integers",)

    def __init__(self, original: np.dtype[Any], integers: IntegerType) -> None:
        super().__init__(original, np.dtype(np.int32))
        self._integers = integers

    def promoted(self, array: Elements) -> Elements:
        numbers = widen(array).astype(np.int32)
        found: Elements = (numbers - self._middle) << (31 - self._integers.bits)
        return found

    def demoted(self, array: Elements) -> Elements:
        """With loss the numbers may lie beyond those of the type; the registry's text names a wrong lower limit for
        them (A26)."""
        numbers = (array >> (31 - self._integers.bits)) + self._middle
        limited: Elements = np.clip(numbers, self._integers.low, self._integers.high)
        return limited.astype(self._original)

    @property
    def _middle(self) -> int:
        return 0 if self._integers.signed else 1 << (self._integers.bits - 1)


class _Unsigned(Promotion):
    """Of 32 and 64 bits: zfp has only signed ones, so that the upper half has no place. zarrs takes the largest
    that has one for all of these; here they are refused."""

    def promoted(self, array: Elements) -> Elements:
        most = np.iinfo(self.dtype).max
        if array.size and array.max() > most:
            raise ValueError(f"zfp has signed integers, of which {array.max()} is none: the largest is {most}")
        return array.astype(self.dtype)

    def demoted(self, array: Elements) -> Elements:
        return np.maximum(array, 0).astype(self._original)


def promotion_of(dtype: np.dtype[Any]) -> Promotion | None:
    """None if zfp cannot take elements of this type."""
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
