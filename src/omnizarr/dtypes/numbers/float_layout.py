"""The bit layout of small floats, and rounding to the nearest one (R142, R143)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["FLOAT_LAYOUTS", "FloatLayout"]


@dataclass(frozen=True, slots=True)
class FloatLayout:
    """An optional sign bit, the exponent, the mantissa. A number is subnormal if the bits of its exponent are 0, except
    in a layout without a mantissa, which has no zero either."""

    exponent: int
    mantissa: int
    bias: int
    signed: bool = True
    nan: int | None = None
    """The bits of `"NaN"`; None if the type has no NaN."""
    infinity: int | None = None
    """The bits of positive infinity; all larger bit patterns are NaNs. None if the type has no infinity."""

    @property
    def width(self) -> int:
        return self.signed + self.exponent + self.mantissa

    @property
    def has_zero(self) -> bool:
        return self.mantissa > 0

    @property
    def _sign(self) -> int:
        return 1 << (self.width - 1) if self.signed else 0

    @property
    def _largest(self) -> int:
        """The bits of the largest finite number."""
        if self.infinity is not None:
            return self.infinity - 1
        last = (1 << (self.exponent + self.mantissa)) - 1
        return last - 1 if last == self.nan else last

    def nearest(self, value: int | float, *, negative: bool) -> int | None:
        """The bits of the float nearest to a finite number, ties to even; None if it is out of range.

        `negative` is the sign, also of zero. This rounds once; ml_dtypes rounds to 32 bits first, so it rounds some
        numbers twice."""
        if negative and not self.signed:
            return None
        magnitude = abs(Fraction(value))
        smallest = 1 - self.bias if self.has_zero else -self.bias  # the exponent of the smallest normal number
        exponent = max(_exponent(magnitude), smallest)
        steps = round(magnitude / Fraction(2) ** (exponent - self.mantissa))
        # Rounding up to the next power of two carries into the exponent and leaves a mantissa of 0.
        bits = ((exponent - smallest) << self.mantissa) + steps
        if not self.has_zero:
            bits = max(bits - 1, 0)
        if bits > self._largest:
            return None
        return bits if not negative or bits | self._sign == self.nan else bits | self._sign


def _exponent(value: Fraction) -> int:
    """The exponent of the largest power of two that is not larger than `value`; for zero, a very small exponent."""
    if not value:
        return -(10**4)
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


FLOAT_LAYOUTS = {
    "bfloat16": FloatLayout(8, 7, 127, nan=0x7FC0, infinity=0x7F80),
    "float4_e2m1fn": FloatLayout(2, 1, 1),
    "float6_e2m3fn": FloatLayout(2, 3, 1),
    "float6_e3m2fn": FloatLayout(3, 2, 3),
    "float8_e3m4": FloatLayout(3, 4, 3, nan=0x78, infinity=0x70),
    "float8_e4m3": FloatLayout(4, 3, 7, nan=0x7C, infinity=0x78),
    "float8_e4m3b11fnuz": FloatLayout(4, 3, 11, nan=0x80),
    "float8_e4m3fn": FloatLayout(4, 3, 7, nan=0x7F),
    "float8_e4m3fnuz": FloatLayout(4, 3, 8, nan=0x80),
    "float8_e5m2": FloatLayout(5, 2, 15, nan=0x7E, infinity=0x7C),
    "float8_e5m2fnuz": FloatLayout(5, 2, 16, nan=0x80),
    "float8_e8m0fnu": FloatLayout(8, 0, 127, signed=False, nan=0xFF),
}
"""Layouts by name. `float8_e4m3fn` is a type of TensorStore and not registered (A24)."""
