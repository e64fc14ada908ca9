"""NumPy's long double, and complex numbers of it, where they have 16 and 32 bytes: version 2 spells them `<f16` and
`<c32`, and stores what lies in memory. What these bytes mean is the business of the machine; version 3 has no such
type."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json
from omnizarr.dtypes.contract import DataType, Scalar, exact_scalar
from omnizarr.dtypes.numbers.complex_ import Complex
from omnizarr.dtypes.numbers.floating import Floating
from omnizarr.errors import ArgumentError

__all__ = ["Extended", "ExtendedComplex", "of_numpy"]


@dataclass(frozen=True, slots=True)
class Extended(Floating):
    """A long double. Its fill value is a double, for a document holds no more."""

    core: ClassVar[bool] = False
    private: ClassVar[bool] = True

    def special(self, value: float) -> Scalar:
        found = np.zeros((), self.dtype)  # the bytes that do not count are zeros
        found[()] = value
        return found

    def nearest(self, value: int | float) -> Scalar | None:
        try:
            return self.special(float(value))
        except OverflowError:
            return None

    def _parse_bits(self, text: str, path: str, problems: Any) -> Scalar | None:
        return None

    def dump_fill(self, fill: Scalar) -> Json:
        value = float(fill)
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"

    def cast_fill(self, value: Any) -> Scalar:
        exact = exact_scalar(value, self.dtype)
        if exact is None:
            return DataType.cast_fill(self, value)
        rounded = float(exact)
        if math.isinf(rounded) and np.isfinite(exact):
            raise ArgumentError(f"fill value of `{self.name}`: {value!r} is no double", argument="fill_value")
        return self.special(rounded)


@dataclass(frozen=True, slots=True)
class ExtendedComplex(Complex):
    """Two long doubles, the real one first."""

    core: ClassVar[bool] = False
    private: ClassVar[bool] = True

    @property
    def part(self) -> Floating:
        return Extended("longdouble", np.dtype(np.longdouble))

    def cast_fill(self, value: Any) -> Scalar:
        exact = exact_scalar(value, self.dtype)
        if exact is None:
            return Complex.cast_fill(self, value)
        return self.joined(self.part.cast_fill(exact.real), self.part.cast_fill(exact.imag))


def of_numpy(dtype: np.dtype[Any]) -> DataType | None:
    if dtype == np.longdouble and dtype.itemsize == 16:
        return Extended("longdouble", dtype)
    return ExtendedComplex("clongdouble", dtype) if dtype == np.clongdouble and dtype.itemsize == 32 else None
