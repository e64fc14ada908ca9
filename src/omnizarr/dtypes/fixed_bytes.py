"""`null_terminated_bytes`: bytes up to a fixed length, padded with zeros. The name is zarr-python's and not registered
(A47)."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omnizarr._json import Json, Problems, from_base64
from omnizarr.dtypes.contract import LARGEST_ITEM, DataType, Scalar, read_length
from omnizarr.errors import ArgumentError

__all__ = ["FixedBytes", "of_numpy", "read_fixed_bytes"]


@dataclass(frozen=True, slots=True)
class FixedBytes(DataType):
    """At most `length` bytes without trailing zeros: NumPy's `S12`."""

    name: str = field(init=False, default="null_terminated_bytes")
    dtype: np.dtype[Any] = field(init=False)
    length: int

    def __post_init__(self) -> None:
        if not 0 < self.length <= LARGEST_ITEM:
            raise ArgumentError(
                f"bytes of fixed length: expected from 1 to {LARGEST_ITEM}, found {self.length}", argument="dtype"
            )
        object.__setattr__(self, "dtype", np.dtype(f"S{self.length}"))

    def to_json(self) -> Json:
        return {"name": self.name, "configuration": {"length_bytes": self.length}}

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        data = from_base64(value)
        if data is None or len(data) > self.length:
            problems.expected(path, f"base64 text of at most {self.length} bytes", value, rule="A47")
            return None
        return np.array(data, self.dtype)

    def dump_fill(self, fill: Scalar) -> Json:
        return base64.b64encode(fill.item()).decode()

    def cast_fill(self, value: Any) -> Scalar:
        """From bytes. Text is an error, because it could mean itself or, as in a document, base64."""
        if isinstance(value, (np.bytes_, np.ndarray)) and value.ndim == 0 and value.dtype.kind == "S":
            value = value.item()
        if not isinstance(value, (bytes, bytearray, memoryview)) or len(value) > self.length:
            raise ArgumentError(
                f"fill value of `{self.name}`: expected at most {self.length} bytes, found {value!r}",
                argument="fill_value",
            )
        return np.array(bytes(value), self.dtype)


def read_fixed_bytes(name: str, configuration: dict[str, Json], path: str, problems: Problems) -> FixedBytes | None:
    """Reads `{"length_bytes": 12}`."""
    size = read_length(configuration, path, problems)
    return None if size is None else FixedBytes(size)


def of_numpy(dtype: np.dtype[Any]) -> FixedBytes | None:
    # Without a length, NumPy means bytes of any length. Their data type is `bytes`.
    return FixedBytes(dtype.itemsize) if dtype.kind == "S" and dtype.itemsize else None
