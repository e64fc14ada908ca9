"""Python objects of any kind, whose codec says what they are. Version 3 has no such type; version 2 calls it `|O`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems, plain
from omnizarr.dtypes.contract import DataType, Scalar

__all__ = ["Objects"]


@dataclass(frozen=True, slots=True)
class Objects(DataType):
    """Arrays of objects; nothing is known about them. Not registered: no document calls it by name."""

    private: ClassVar[bool] = True
    serializer: ClassVar[str | None] = None

    name: str = field(init=False, default="object")
    dtype: np.dtype[Any] = field(init=False, default=np.dtype(object))

    def default_fill(self) -> Scalar:
        return _alone(None)

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        """Any JSON value, null among them."""
        return _alone(value)

    def dump_fill(self, fill: Scalar) -> Json:
        return plain(fill[()], "fill_value")

    def cast_fill(self, value: Any) -> Scalar:
        """What a document can hold; and bytes, for which a codec that stores bytes has a spelling."""
        return _alone(value if isinstance(value, bytes) else plain(value, "fill_value"))

    def elements(self, value: Any) -> npt.NDArray[Any]:
        """What NumPy makes of it as an array of objects."""
        return np.asarray(value, self.dtype)

    def element(self, value: Any) -> npt.NDArray[Any]:
        return _alone(value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value)


def _alone(value: Any) -> Scalar:
    """An array of no dimensions that holds `value` itself, even where that is a list."""
    found = np.empty((), object)
    found[()] = value
    return found
