"""`float16`, `float32`, `float64`: IEEE 754 binary floats, whose every bit pattern can be a fill value (R55–R57)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.dtypes.contract import DataType, Scalar, register_plain

__all__ = ["Floating"]

_INFINITY = {"Infinity": math.inf, "-Infinity": -math.inf, "+Infinity": math.inf}


@dataclass(frozen=True, slots=True)
class Floating(DataType):
    """Sign, exponent and mantissa."""

    core: ClassVar[bool] = True

    @property
    def nan(self) -> Scalar:
        """What `"NaN"` stands for: sign 0, all of the exponent and the mantissa's first bit 1, the rest 0 (R56)."""
        info = np.finfo(self.dtype)
        return self._from_bits(((1 << (info.nexp + 1)) - 1) << (info.nmant - 1))

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        if isinstance(value, str):
            return self._parse_text(value, path, problems)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            problems.expected(path, self._spellings(), value)
            return None
        if isinstance(value, float) and not math.isfinite(value):  # A60
            problems.warn(path, "a number that is not finite is written as a string")
            return self.nan if math.isnan(value) else np.array(value, self.dtype)
        fill = self._nearest(value)
        if np.isinf(fill):
            problems.expected(path, f"a number in the range of `{self.name}`", value)
            return None
        return fill

    def dump_fill(self, fill: Scalar) -> Json:
        value = float(fill)  # every float16 and float32 is a double too, so nothing is rounded
        if math.isfinite(value):
            return value
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        bits = int(fill.view(self._unsigned))
        return "NaN" if bits == int(self.nan.view(self._unsigned)) else f"0x{bits:0{2 * self.dtype.itemsize}x}"

    @property
    def _unsigned(self) -> np.dtype[np.unsignedinteger]:
        return np.dtype(f"u{self.dtype.itemsize}")

    def _from_bits(self, bits: int) -> Scalar:
        return np.array(bits, self._unsigned).view(self.dtype)

    def _spellings(self) -> str:
        digits = 2 * self.dtype.itemsize
        return f'a number, "NaN", "Infinity", "-Infinity", or "0x" and {digits} hexadecimal digits'

    def _parse_text(self, text: str, path: str, problems: Problems) -> Scalar | None:
        if text == "NaN":
            return self.nan
        if text in _INFINITY:
            if text == "+Infinity":  # A9
                problems.warn(path, '"+Infinity" is written "Infinity"')
            return np.array(_INFINITY[text], self.dtype)
        if re.fullmatch(rf"0x[0-9a-fA-F]{{{2 * self.dtype.itemsize}}}", text):
            return self._from_bits(int(text, 16))
        problems.expected(path, self._spellings(), text)
        return None

    def _nearest(self, value: int | float) -> Scalar:
        """The nearest float, ties to even, rounded once; infinity if the value is too large."""
        if isinstance(value, int):
            try:
                # On its way to a narrower float an integer would be rounded to a double first, and again after that.
                value = float(_shortened(value, np.finfo(self.dtype).nmant + 1))
            except OverflowError:
                value = math.inf
        with np.errstate(over="ignore"):
            return np.array(value, self.dtype)


def _shortened(value: int, digits: int) -> int:
    """`value` rounded to so many significant binary digits, ties to even."""
    magnitude = abs(value)
    excess = max(0, magnitude.bit_length() - digits)
    kept = magnitude >> excess
    twice_rest = (magnitude - (kept << excess)) << 1
    if twice_rest > 1 << excess or (twice_rest == 1 << excess and kept & 1):
        kept += 1
    return (-kept if value < 0 else kept) << excess


for _name in ("float16", "float32", "float64"):
    register_plain(Floating(_name, np.dtype(_name)))
