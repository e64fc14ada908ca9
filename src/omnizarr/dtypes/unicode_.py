"""`fixed_length_utf32`: text up to a fixed length, four bytes per character, padded with zeros (R147)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.dtypes.contract import LARGEST_ITEM, DataType, Scalar, read_length
from omnizarr.errors import ArgumentError

__all__ = ["FixedUnicode", "of_numpy", "read_unicode"]


@dataclass(frozen=True, slots=True)
class FixedUnicode(DataType):
    """Text of at most `length` characters: NumPy's `U12`."""

    name: str = field(init=False, default="fixed_length_utf32")
    dtype: np.dtype[Any] = field(init=False)
    length: int

    def __post_init__(self) -> None:
        if not 0 < self.length <= LARGEST_ITEM // 4:
            raise ArgumentError(
                f"text of fixed length: expected from 1 to {LARGEST_ITEM // 4} characters, found {self.length}",
                argument="dtype",
            )
        object.__setattr__(self, "dtype", np.dtype(f"U{self.length}"))

    def to_json(self) -> Json:
        return {"name": self.name, "configuration": {"length_bytes": 4 * self.length}}

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        if not isinstance(value, str) or len(value) > self.length:
            problems.expected(path, f"text of at most {self.length} characters", value, rule="R147")
            return None
        return np.array(value, self.dtype)

    def dump_fill(self, fill: Scalar) -> Json:
        return str(fill)

    def cast_fill(self, value: Any) -> Scalar:
        if isinstance(value, (np.str_, np.ndarray)) and value.ndim == 0 and value.dtype.kind in "UTO":
            value = value.item()
        return DataType.cast_fill(self, value)


def read_unicode(name: str, configuration: dict[str, Json], path: str, problems: Problems) -> FixedUnicode | None:
    """Reads `{"length_bytes": 48}`."""
    size = read_length(configuration, path, problems, unit=4)
    return None if size is None else FixedUnicode(size // 4)


def of_numpy(dtype: np.dtype[Any]) -> FixedUnicode | None:
    # Without a length, NumPy means text of any length. Its data type is `string`.
    return FixedUnicode(dtype.itemsize // 4) if dtype.kind == "U" and dtype.itemsize else None
