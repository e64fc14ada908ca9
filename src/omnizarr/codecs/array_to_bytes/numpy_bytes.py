"""The private `numpy.bytes` codec: stores elements in the exact layout of a NumPy type.

v2 arrays need it for records whose fields differ in byte order, which `bytes` cannot express. It never appears in a v3
document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.array_to_bytes.bytes_ import BoundBytes, Bytes, has_byte_order
from omnizarr.codecs.contract import ChunkSpec, Serializer
from omnizarr.dtypes import dump_typestr, parse_typestr
from omnizarr.dtypes.record_padding import leaf_types, native_layout
from omnizarr.errors import ArgumentError

__all__ = ["StoredBytes", "plain_serializer"]


@dataclass(frozen=True, slots=True)
class StoredBytes(Serializer):
    """Stores the elements of a chunk in C order, each in the layout of `dtype`."""

    name: ClassVar[str] = "numpy.bytes"
    shares_bound: ClassVar[bool] = True
    private: ClassVar[bool] = True
    dtype: np.dtype[Any]

    def __post_init__(self) -> None:
        dtype = np.dtype(self.dtype)
        if dtype.hasobject or not dtype.itemsize:
            raise ArgumentError(f"codec `{self.name}` cannot store elements of type {dtype}", argument="dtype")
        object.__setattr__(self, "dtype", dtype)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> StoredBytes | None:
        before = len(problems.found)
        dtype = parse_typestr(configuration.get("dtype"), f"{path}.configuration.dtype", problems)
        if dtype is None or len(problems.found) > before:
            return None
        if dtype.hasobject:
            problems.add(f"{path}.configuration.dtype", f"codec `{cls.name}` cannot store objects")
            return None
        return cls(dtype)

    def configuration(self) -> dict[str, Json]:
        return {"dtype": dump_typestr(self.dtype, units=False)}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundBytes | None:
        stored = native_layout(self.dtype)
        if stored != spec.dtype:
            problems.add(path, f"codec `{self.name}`: expected elements of type {stored}, found {spec.dtype}")
            return None
        return BoundBytes(spec, spec.dtype if self.dtype == spec.dtype else self.dtype)


def plain_serializer(stored: np.dtype[Any]) -> Serializer:
    """The codec that stores elements in the layout of `stored`: `bytes` if all fields have the same byte order."""
    leaves = [leaf for _, leaf in leaf_types(stored) if has_byte_order(leaf)]
    if not leaves:
        return Bytes()
    orders: tuple[Literal["little", "big"], ...] = ("little", "big")
    for endian in orders:
        if all(leaf == leaf.newbyteorder(endian) for leaf in leaves):
            return Bytes(endian)
    return StoredBytes(stored)
