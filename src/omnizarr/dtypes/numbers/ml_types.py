"""`int2` … `uint4`, `bfloat16`, `float4_e2m1fn` … `float8_e8m0fnu`, and complex pairs of such floats (R141–R144)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems
from omnizarr.dtypes.contract import DataType, Scalar, as_elements, as_json_value, exact_scalar, plain_reader
from omnizarr.dtypes.numbers.complex_ import Complex
from omnizarr.dtypes.numbers.float_layout import FLOAT_LAYOUTS, FloatLayout
from omnizarr.dtypes.numbers.floating import Floating
from omnizarr.dtypes.numbers.integer import Integer
from omnizarr.dtypes.numbers.ml_dtypes_ import COMPLEX_NAMES, SUBBYTE_WIDTHS, is_ml_dtype, limits, ml_dtype
from omnizarr.errors import ArgumentError

__all__ = ["ComplexPair", "SmallFloat", "SmallInteger", "of_numpy", "read_ml_type"]


@dataclass(frozen=True, slots=True)
class SmallInteger(Integer):
    """Two's complement or unsigned, in the lower bits of a byte."""

    core: ClassVar[bool] = False

    @property
    def only_v3(self) -> bool:
        return True

    @property
    def limits(self) -> tuple[int, int]:
        return limits(self.name)


@dataclass(frozen=True, slots=True)
class SmallFloat(Floating):
    """A float of ml_dtypes.

    `float8_e8m0fnu` has no zero. Its default fill value has only zero bits, too, which means 2⁻¹²⁷: the number nearest
    to zero, the content of zeroed memory, and what TensorStore stores as `0.0`."""

    core: ClassVar[bool] = False

    @property
    def only_v3(self) -> bool:
        return True

    @property
    def only_read(self) -> bool:
        return self.name == "float8_e4m3fn"  # A24

    @property
    def layout(self) -> FloatLayout:
        return FLOAT_LAYOUTS[self.name]

    def special(self, value: float) -> Scalar | None:
        if math.isnan(value):
            return None if self.layout.nan is None else self.from_bits(self.layout.nan)
        if self.layout.infinity is None:
            return None
        return self.from_bits(self.layout.infinity | (1 << (self.layout.width - 1) if value < 0 else 0))

    def nearest(self, value: int | float) -> Scalar | None:
        negative = value < 0 if isinstance(value, int) else math.copysign(1, value) < 0
        bits = self.layout.nearest(value, negative=negative)
        return None if bits is None else self.from_bits(bits)

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        if value == 0 and not isinstance(value, bool) and not self.layout.has_zero:
            problems.warn(path, f"`{self.name}` has no zero: read as its smallest number", rule="R143")
            return self.default_fill()
        return Floating.parse_fill(self, value, path, problems)

    def cast_fill(self, value: Any) -> Scalar:
        """As for other floats, but zero is an error for a type without zero. Only documents may contain it."""
        if as_json_value(value) == 0 and not self.layout.has_zero:
            raise ArgumentError(f"fill value of `{self.name}`: the type has no zero", argument="fill_value")
        return Floating.cast_fill(self, value)

    def _parse_bits(self, text: str, path: str, problems: Problems) -> Scalar | None:
        if self.name not in SUBBYTE_WIDTHS or not re.fullmatch("0x[0-9a-fA-F]{1,2}", text):  # A48
            return Floating._parse_bits(self, text, path, problems)
        bits = int(text, 16)
        if bits >> self.layout.width:
            problems.warn(path, f"`{self.name}` has {self.layout.width} bits: higher bits are ignored", rule="A48")
        return self.from_bits(bits & ((1 << self.layout.width) - 1))


@dataclass(frozen=True, slots=True)
class ComplexPair(Complex):
    """Two floats for which NumPy has no complex type: a record of `real` and `imag` in memory."""

    core: ClassVar[bool] = False

    @property
    def only_v3(self) -> bool:
        return True

    @property
    def part(self) -> Floating:
        return _float(self.name.removeprefix("complex_"))

    def cast_fill(self, value: Any) -> Scalar:
        """From a complex number, a real number, or a pair of fill values of the parts."""
        exact = exact_scalar(value, self.dtype)
        if exact is not None:
            return exact
        plain = as_json_value(value)
        if isinstance(plain, (int, float)):
            plain = [plain, 0.0]
        if isinstance(plain, list) and len(plain) == 2:
            return self.joined(*map(self.part.cast_fill, plain))
        return DataType.cast_fill(self, value)  # raises the error

    def elements(self, value: Any) -> npt.NDArray[Any]:
        """From complex and real numbers, and from records of two fields."""
        array = np.asarray(value)
        if array.dtype.names is not None:
            return as_elements(array, self.dtype)
        if array.dtype.kind not in "biufc" and (not is_ml_dtype(array.dtype) or array.dtype.name in COMPLEX_NAMES):
            array = array.astype(np.complex128)
        pairs = np.zeros(array.shape, self.dtype)
        if array.dtype.kind == "c":
            pairs["imag"] = as_elements(array.imag, self.part.dtype)
        pairs["real"] = as_elements(array.real if array.dtype.kind == "c" else array, self.part.dtype)
        return pairs


def _float(name: str) -> Floating:
    return Floating(name, np.dtype(name)) if name == "float16" else SmallFloat(name, ml_dtype(name))


def _ml_type(name: str) -> DataType:
    """The data type of that name; MissingDependencyError if ml_dtypes is not installed or too old."""
    if name.startswith("complex_"):
        part = _float(name.removeprefix("complex_")).dtype
        return ComplexPair(name, np.dtype([("real", part), ("imag", part)]))
    return SmallFloat(name, ml_dtype(name)) if name in FLOAT_LAYOUTS else SmallInteger(name, ml_dtype(name))


def read_ml_type(name: str, configuration: dict[str, Json], path: str, problems: Problems) -> DataType | None:
    return plain_reader(_ml_type(name))(name, configuration, path, problems)


def of_numpy(dtype: np.dtype[Any]) -> DataType | None:
    name = COMPLEX_NAMES.get(dtype.name, dtype.name)
    return _ml_type(name) if name in FLOAT_LAYOUTS or name in SUBBYTE_WIDTHS or dtype.name in COMPLEX_NAMES else None
