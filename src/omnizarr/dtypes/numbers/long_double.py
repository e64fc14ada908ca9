"""NumPy's long double and its complex type, if they have 16 and 32 bytes. v2 calls them `<f16` and `<c32` and
stores the bytes in memory, whose meaning depends on the machine. v3 has no such type."""

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

__all__ = ["ComplexLongDouble", "LongDouble", "of_numpy"]


@dataclass(frozen=True, slots=True)
class LongDouble(Floating):
    """A long double. Its fill value is a double, because a document has no wider numbers."""

    core: ClassVar[bool] = False
    private: ClassVar[bool] = True

    def special(self, value: float) -> Scalar:
        scalar = np.zeros((), self.dtype)  # sets the unused bytes to zero
        scalar[()] = value
        return scalar

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
            raise ArgumentError(
                f"fill value of `{self.name}`: {value!r} exceeds the range of a double", argument="fill_value"
            )
        return self.special(rounded)


@dataclass(frozen=True, slots=True)
class ComplexLongDouble(Complex):
    """Two long doubles, the real part first."""

    core: ClassVar[bool] = False
    private: ClassVar[bool] = True

    @property
    def part(self) -> Floating:
        return LongDouble("longdouble", np.dtype(np.longdouble))

    def cast_fill(self, value: Any) -> Scalar:
        exact = exact_scalar(value, self.dtype)
        if exact is None:
            return Complex.cast_fill(self, value)
        return self.joined(self.part.cast_fill(exact.real), self.part.cast_fill(exact.imag))


def of_numpy(dtype: np.dtype[Any]) -> DataType | None:
    if dtype == np.longdouble and dtype.itemsize == 16:
        return LongDouble("longdouble", dtype)
    return ComplexLongDouble("clongdouble", dtype) if dtype == np.clongdouble and dtype.itemsize == 32 else None
