"""Python objects of any type. An object codec defines how they are stored. v2 calls the type `|O`; v3 has
none."""

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
    """Objects of unknown type. Not registered, because no document names it."""

    private: ClassVar[bool] = True
    serializer: ClassVar[str | None] = None

    name: str = field(init=False, default="object")
    dtype: np.dtype[Any] = field(init=False, default=np.dtype(object))

    def default_fill(self) -> Scalar:
        return _as_scalar(None)

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        """Any JSON value, including null."""
        return _as_scalar(value)

    def dump_fill(self, fill: Scalar) -> Json:
        return plain(fill[()], "fill_value")

    def cast_fill(self, value: Any) -> Scalar:
        """From JSON values, and from bytes, which codecs for bytes can write to a document."""
        return _as_scalar(value if isinstance(value, bytes) else plain(value, "fill_value"))

    def elements(self, value: Any) -> npt.NDArray[Any]:
        """`value` as NumPy's array of objects."""
        return np.asarray(value, self.dtype)

    def element(self, value: Any) -> npt.NDArray[Any]:
        return _as_scalar(value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value)


def _as_scalar(value: Any) -> Scalar:
    """A 0-d array that contains `value` itself, even if that is a list."""
    scalar = np.empty((), object)
    scalar[()] = value
    return scalar
