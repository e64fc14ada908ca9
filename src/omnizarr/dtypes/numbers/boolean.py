"""`bool`: true or false (R53)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from omnizarr._json import Json, Problems, is_integer
from omnizarr.dtypes.contract import DataType, Scalar, register_plain

__all__ = ["Boolean"]


@dataclass(frozen=True, slots=True)
class Boolean(DataType):
    """One byte in memory, 0 or 1."""

    core: ClassVar[bool] = True

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        if is_integer(value) and value in (0, 1):  # A40
            problems.warn(path, f"{value} is read as {'true' if value else 'false'}", rule="A40")
        elif not isinstance(value, bool):
            problems.expected(path, "true or false", value, rule="R53")
            return None
        return np.array(value, self.dtype)

    def dump_fill(self, fill: Scalar) -> Json:
        return bool(fill)


register_plain(Boolean("bool", np.dtype("bool")))
