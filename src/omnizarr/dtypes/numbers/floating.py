"""`float16`, `float32`, `float64`: IEEE 754 binary floats. Every bit pattern can be a fill value (R55–R57)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.dtypes.contract import DataType, Scalar, register_plain

__all__ = ["Floating"]

_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True, slots=True)
class Floating(DataType):
    """Sign, exponent and mantissa."""

    core: ClassVar[bool] = True

    @property
    def nan(self) -> Scalar:
        """The meaning of `"NaN"`: sign 0, all exponent bits 1, the first mantissa bit 1, all others 0 (R56)."""
        info = np.finfo(self.dtype)
        return self.from_bits(((1 << (info.nexp + 1)) - 1) << (info.nmant - 1))

    def special(self, value: float) -> Scalar | None:
        """NaN or an infinity; None if the type has none."""
        return self.nan if math.isnan(value) else np.array(value, self.dtype)

    def nearest(self, value: int | float) -> Scalar | None:
        """The nearest float, ties to even, rounded once; None if the value is out of range."""
        if isinstance(value, int):
            try:
                # Round once: Python would round the integer to a double, and NumPy would round that again.
                value = float(_round_bits(value, np.finfo(self.dtype).nmant + 1))
            except OverflowError:
                return None
        with np.errstate(over="ignore"):
            nearest = np.array(value, self.dtype)
        return None if np.isinf(nearest) else nearest

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        if isinstance(value, str):
            fill = self._parse_text(value, path, problems)
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            fill = None
        elif isinstance(value, float) and not math.isfinite(value):  # A60
            problems.warn(path, "a number that is not finite is written as a string", rule="A60")
            fill = self.special(value)
        else:
            fill = self.nearest(value)
            if fill is None:
                problems.expected(path, f"a number in the range of `{self.name}`", value, rule="R55")
                return None
        if fill is None:
            problems.expected(path, self._accepted_values(), value, rule="R55")
        return fill

    def dump_fill(self, fill: Scalar) -> Json:
        value = float(fill)  # exact, because a double can represent every narrower float
        if math.isfinite(value):
            return value
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        bits = int(fill.view(self._unsigned))
        nan = self.special(math.nan)
        if nan is not None and bits == int(nan.view(self._unsigned)):
            return "NaN"
        return f"0x{bits:0{2 * self.dtype.itemsize}x}"

    @property
    def _unsigned(self) -> np.dtype[np.unsignedinteger]:
        return np.dtype(f"u{self.dtype.itemsize}")

    def from_bits(self, bits: int) -> Scalar:
        """The float with these bits."""
        return np.array(bits, self._unsigned).view(self.dtype)

    def _accepted_values(self) -> str:
        words = [f'"{word}"' for word, value in _WORDS.items() if self.special(value) is not None]
        return f'{", ".join(["a number", *words])}, or "0x" and {2 * self.dtype.itemsize} hexadecimal digits'

    def _parse_text(self, text: str, path: str, problems: Problems) -> Scalar | None:
        if text == "+Infinity" and self.special(math.inf) is not None:  # A9
            problems.warn(path, '"+Infinity" is written "Infinity"', rule="A9")
            return self.special(math.inf)
        if text in _WORDS:
            return self.special(_WORDS[text])
        return self._parse_bits(text, path, problems)

    def _parse_bits(self, text: str, path: str, problems: Problems) -> Scalar | None:
        """The float from hexadecimal digits; None if `text` is not `0x` and the right number of digits."""
        if re.fullmatch(rf"0x[0-9a-fA-F]{{{2 * self.dtype.itemsize}}}", text):
            return self.from_bits(int(text, 16))
        return None


def _round_bits(value: int, digits: int) -> int:
    """`value` rounded to `digits` significant binary digits, ties to even."""
    magnitude = abs(value)
    excess = max(0, magnitude.bit_length() - digits)
    quotient = magnitude >> excess
    twice_rest = (magnitude - (quotient << excess)) << 1
    if twice_rest > 1 << excess or (twice_rest == 1 << excess and quotient & 1):
        quotient += 1
    return (-quotient if value < 0 else quotient) << excess


for _name in ("float16", "float32", "float64"):
    register_plain(Floating(_name, np.dtype(_name)))
