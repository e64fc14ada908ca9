"""`r8`, `r16`, `r24` …: raw bits without meaning (R59). zarr-python calls them `raw_bytes` (A47)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, from_base64, is_integer
from omnizarr.dtypes.contract import LARGEST_ITEM, DataType, Scalar, read_length
from omnizarr.errors import ArgumentError

__all__ = ["Raw", "of_numpy", "read_raw"]


@dataclass(frozen=True, slots=True)
class Raw(DataType):
    """Elements of `size` bytes: NumPy's void."""

    core: ClassVar[bool] = True

    name: str = field(init=False)
    dtype: np.dtype[Any] = field(init=False)
    size: int

    def __post_init__(self) -> None:
        if not 0 < self.size <= LARGEST_ITEM:
            raise ArgumentError(
                f"raw elements: expected from 1 to {LARGEST_ITEM} bytes, found {self.size}", argument="dtype"
            )
        object.__setattr__(self, "name", f"r{8 * self.size}")
        object.__setattr__(self, "dtype", np.dtype(f"V{self.size}"))

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        """A list with an integer per byte. Base64 text is accepted, because some writers store it (A12)."""
        data: bytes | None = None
        if isinstance(value, list) and all(is_integer(item) and 0 <= item <= 255 for item in value):
            data = bytes(value)
        elif isinstance(value, str):
            data = from_base64(value)
            if data is not None:
                problems.warn(path, "raw bytes are written as a list of integers, not as base64 text", rule="A12")
        if data is None or len(data) != self.size:
            actual = value if data is None else f"{len(data)} bytes"
            problems.expected(path, f"a list of {self.size} integers from 0 to 255", actual, rule="R59")
            return None
        return np.array(data, self.dtype)

    def cast_fill(self, value: Any) -> Scalar:
        plain = list(bytes(value)) if isinstance(value, (bytes, bytearray, memoryview)) else value
        return DataType.cast_fill(self, plain)

    def dump_fill(self, fill: Scalar) -> Json:
        return list(fill.tobytes())


def read_raw(name: str, configuration: dict[str, Json], path: str, problems: Problems) -> Raw | None:
    """Reads a name for which `lookup.is_raw_name` holds."""
    if name == "raw_bytes":
        size = read_length(configuration, path, problems)
        return None if size is None else Raw(size)
    check_members(configuration, (), f"{path}.configuration", problems, rule="R59")
    most = 8 * LARGEST_ITEM
    bits = int(name[1:]) if len(name) <= len(f"r{most}") else 0  # Python limits the number of digits that int() reads
    if name[1] == "0" or bits % 8 or not 8 <= bits <= most:
        problems.expected(path, f"`r` and a multiple of 8 from 8 to {most}", name, rule="R59")
        return None
    return None if configuration else Raw(bits // 8)


def of_numpy(dtype: np.dtype[Any]) -> Raw | None:
    # NumPy uses void for records and sub-arrays, too.
    return Raw(dtype.itemsize) if dtype.type is np.void and dtype.names is None and dtype.subdtype is None else None
