"""`bytes`: bytes of variable length (R146). In memory they are Python `bytes` objects."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, from_base64, is_integer
from omnizarr.dtypes.contract import DataType, Scalar
from omnizarr.errors import ArgumentError

__all__ = ["VariableBytes", "of_numpy", "read_bytes"]


@dataclass(frozen=True, slots=True)
class VariableBytes(DataType):
    """NumPy's object type, where each element is a `bytes` object."""

    serializer: ClassVar[str | None] = "vlen-bytes"

    name: str = field(init=False, default="bytes")
    dtype: np.dtype[Any] = field(init=False, default=np.dtype(object))

    def default_fill(self) -> Scalar:
        return np.array(b"", object)

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        data: bytes | None = None
        if isinstance(value, list) and all(is_integer(item) and 0 <= item <= 255 for item in value):
            data = bytes(value)
        else:
            data = from_base64(value)
        if data is None:
            problems.expected(path, "base64 text, or a list of integers from 0 to 255", value, rule="R146")
            return None
        return np.array(data, object)

    def dump_fill(self, fill: Scalar) -> Json:
        """As base64 text, because zarr-python reads nothing else."""
        return base64.b64encode(fill.item()).decode()

    def cast_fill(self, value: Any) -> Scalar:
        """From bytes. Text is an error, because it could mean itself or, as in a document, base64."""
        try:
            element = self.elements(value)
        except ArgumentError:
            element = None
        if element is None or element.ndim:
            raise ArgumentError(f"fill value of `{self.name}`: expected bytes, found {value!r}", argument="fill_value")
        return element

    def elements(self, value: Any) -> npt.NDArray[Any]:
        """From bytes, lists of bytes, and arrays of NumPy's `S`. Anything else is an error."""
        if isinstance(value, (bytes, bytearray, memoryview)):
            return np.array(bytes(value), object)
        try:
            array = np.asarray(value)
            if array.dtype.kind != "O":  # convert from the list, because NumPy's `S` loses trailing zeros
                array = np.asarray(value, object)
        except ValueError:
            raise self._type_error("lists of different lengths") from None
        items = array.reshape(-1).tolist()
        if all(type(item) is bytes for item in items):
            return array
        objects = np.empty(len(items), object)
        for index, item in enumerate(items):
            if not isinstance(item, (bytes, bytearray, memoryview)):
                raise self._type_error(f"{item!r:.40} ({type(item).__name__})")
            objects[index] = bytes(item)
        return objects.reshape(array.shape)

    @staticmethod
    def _type_error(value: str) -> ArgumentError:
        return ArgumentError(
            f"an array of `bytes` accepts bytes only, found {value}",
            argument="value",
            hint='encode text with `.encode()`, and use b"" for missing values',
        )


def read_bytes(name: str, configuration: dict[str, Json], path: str, problems: Problems) -> VariableBytes | None:
    check_members(configuration, (), f"{path}.configuration", problems, rule="R146")
    return None if configuration else VariableBytes()


def of_numpy(dtype: np.dtype[Any]) -> VariableBytes | None:
    return VariableBytes() if dtype.kind == "S" and not dtype.itemsize else None
