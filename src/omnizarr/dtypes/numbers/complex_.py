"""`complex64` and `complex128`: pairs of floats (R58)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.dtypes.contract import DataType, Scalar, as_json_value, register_plain
from omnizarr.dtypes.numbers.floating import Floating

__all__ = ["Complex"]


@dataclass(frozen=True, slots=True)
class Complex(DataType):
    """Two floats, the real part first."""

    core: ClassVar[bool] = True

    @property
    def part(self) -> Floating:
        """The type of the real and the imaginary part."""
        name = f"float{4 * self.dtype.itemsize}"
        return Floating(name, np.dtype(name))

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        if not isinstance(value, list) or len(value) != 2:
            problems.expected(path, "a list of the real and the imaginary part", value, rule="R58")
            return None
        real, imaginary = (self.part.parse_fill(item, f"{path}[{index}]", problems) for index, item in enumerate(value))
        if real is None or imaginary is None:
            return None
        return self.joined(real, imaginary)

    def joined(self, real: Scalar, imaginary: Scalar) -> Scalar:
        """The number with these parts. (The expression real + 1j * imaginary would change infinities, NaNs and signs of
        zeros.)"""
        return np.stack([real, imaginary]).view(self.dtype).reshape(())

    def dump_fill(self, fill: Scalar) -> Json:
        parts = fill.reshape(1).view(self.part.dtype)
        return [self.part.dump_fill(parts[index, ...]) for index in range(2)]

    def cast_fill(self, value: Any) -> Scalar:
        plain = as_json_value(value)
        return DataType.cast_fill(self, [plain, 0.0] if isinstance(plain, (int, float)) else value)


register_plain(Complex("complex64", np.dtype("complex64")), aliases=("complex_float32",))  # R144
register_plain(Complex("complex128", np.dtype("complex128")), aliases=("complex_float64",))
