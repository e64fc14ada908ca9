"""`int8` … `uint64`: integers of a fixed width (R54)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from omnizarr._json import Json, Problems, is_integer
from omnizarr.dtypes.contract import DataType, Scalar, register_plain

__all__ = ["Integer"]


@dataclass(frozen=True, slots=True)
class Integer(DataType):
    """Two's complement, or unsigned."""

    core: ClassVar[bool] = True

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest integer."""
        info = np.iinfo(self.dtype)
        return int(info.min), int(info.max)

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        number = value
        if isinstance(value, float) and value.is_integer():  # A40
            problems.warn(path, "an integer is written without fraction and exponent", rule="A40")
            number = int(value)
        smallest, largest = self.limits
        if not is_integer(number) or not smallest <= number <= largest:
            problems.expected(path, f"an integer from {smallest} to {largest}", value, rule="R54")
            return None
        return np.array(number, self.dtype)

    def dump_fill(self, fill: Scalar) -> Json:
        return int(fill)


for _name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
    register_plain(Integer(_name, np.dtype(_name)))
