"""`string`: text of variable length (R145). In memory it is NumPy's StringDType."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems
from omnizarr.dtypes.contract import DataType, Scalar, native_order, plain_reader
from omnizarr.errors import ArgumentError

__all__ = ["String", "of_numpy", "read_string"]

_TEXT = np.dtypes.StringDType()
_ONLY_TEXT = np.dtypes.StringDType(coerce=False)
"""Raises an error for values that are not text. `_TEXT` would convert `1` and `None` to text."""


@dataclass(frozen=True, slots=True)
class String(DataType):
    """UTF-8 in storage, `str` as a scalar."""

    serializer: ClassVar[str | None] = "vlen-utf8"

    name: str = field(init=False, default="string")
    dtype: np.dtype[Any] = field(init=False, default=_TEXT)

    def default_fill(self) -> Scalar:
        return np.array("", self.dtype)

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        if not isinstance(value, str):
            problems.expected(path, "text", value, rule="R145")
            return None
        try:
            return np.array(value, self.dtype)
        except UnicodeEncodeError:
            problems.add(path, "a lone surrogate cannot be stored as UTF-8", rule="R145")
            return None

    def dump_fill(self, fill: Scalar) -> Json:
        return str(fill[()])

    def cast_fill(self, value: Any) -> Scalar:
        if isinstance(value, (np.str_, np.ndarray)) and value.ndim == 0 and value.dtype.kind in "UTO":
            value = value.item()
        return DataType.cast_fill(self, value)

    def elements(self, value: Any) -> npt.NDArray[Any]:
        """From text, lists of text, and NumPy arrays of text. Bytes of NumPy's `S` are read as UTF-8. Anything else is
        an error, because `None` and numbers have no obvious text."""
        kind = None
        try:
            if not isinstance(value, (np.ndarray, np.generic)) and not hasattr(value, "__array__"):
                return np.asarray(value, _ONLY_TEXT).astype(self.dtype)
            array = np.asarray(value)
            kind = array.dtype.kind
            if array.dtype == self.dtype:
                return array
            if kind == "O" or (kind == "T" and hasattr(array.dtype, "na_object")):  # may contain missing values
                return np.asarray(array.astype(object), _ONLY_TEXT).astype(self.dtype)
            if kind == "S":  # via `U`, because NumPy's direct conversion does not check that the bytes are UTF-8
                array = np.strings.decode(array, "utf-8")
            if kind in "TUS":  # native first, because NumPy's conversion ignores the byte order
                return array.astype(native_order(array.dtype)).astype(self.dtype)
        except UnicodeError as error:
            raise ArgumentError(f"this text cannot be stored as UTF-8: {error}", argument="value") from None
        except (TypeError, ValueError) as error:
            if kind == "U":  # NumPy reports lone surrogates as TypeError or ValueError
                raise ArgumentError(f"this text cannot be stored as UTF-8: {error}", argument="value") from None
        raise ArgumentError(
            f"an array of `string` accepts text only, found {_first_other(value)}",
            argument="value",
            hint='use `str(…)` for numbers, and a text such as "" for missing values',
        )


def _first_other(value: Any) -> str:
    """The first item of `value` that is not text, for a message."""
    try:
        array = np.asarray(value, object)
    except ValueError:
        return "lists of different lengths"
    other = next((item for item in array.flat if not isinstance(item, str)), value)
    return "None" if other is None else f"{other!r:.40} ({type(other).__name__})"


read_string = plain_reader(String())


def of_numpy(dtype: np.dtype[Any]) -> String | None:
    # Any StringDType, and `str` or `U` without a length, which mean the same.
    return String() if dtype.kind == "T" or (dtype.kind == "U" and not dtype.itemsize) else None
