"""Zarr data types."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from omnizarr.compat.zarr.core.dtype.common import DataTypeValidationError
from omnizarr.compat.zarr.core.dtype.types import (
    CLASSES,
    Bool,
    Complex64,
    Complex128,
    DateTime64,
    FixedLengthUTF32,
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    NullTerminatedBytes,
    RawBytes,
    Struct,
    Structured,
    TimeDelta64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    VariableLengthBytes,
    VariableLengthUTF8,
    of_json,
    of_native,
)
from omnizarr.compat.zarr.core.dtype.wrapper import TBaseDType, TBaseScalar, ZDType

__all__ = [
    "Bool",
    "Complex64",
    "Complex128",
    "DataTypeValidationError",
    "DateTime64",
    "FixedLengthUTF32",
    "Float16",
    "Float32",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "NullTerminatedBytes",
    "RawBytes",
    "Struct",
    "Structured",
    "TBaseDType",
    "TBaseScalar",
    "TimeDelta64",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "VariableLengthBytes",
    "VariableLengthUTF8",
    "ZDType",
    "data_type_registry",
    "get_data_type_from_native_dtype",
    "of_json",
    "of_native",
    "parse_data_type",
    "parse_dtype",
]

ZDTypeLike: TypeAlias = Any

# The types of documents, for annotations.
DTypeSpec_V2: TypeAlias = Any
DateTime64JSON_V2 = DateTime64JSON_V3 = TimeDelta64JSON_V2 = TimeDelta64JSON_V3 = Any
FixedLengthUTF32JSON_V2 = FixedLengthUTF32JSON_V3 = Any
NullTerminatedBytesJSON_V3 = NullterminatedBytesJSON_V2 = RawBytesJSON_V2 = RawBytesJSON_V3 = Any
StructJSON_V3 = StructuredJSON_V2 = StructuredJSON_V3 = Any
VariableLengthBytesJSON_V2 = VariableLengthUTF8JSON_V2 = Any


class DataTypeRegistry:
    """The data types by name."""

    def __init__(self) -> None:
        self.contents: dict[str, Any] = {kind._zarr_v3_name: kind for kind in CLASSES if kind is not Structured}

    def register(self, key: str, cls: Any) -> None:
        """Adds a data type."""
        self.contents[key] = cls

    def unregister(self, key: str) -> None:
        """Removes a data type."""
        del self.contents[key]

    def get(self, key: str) -> Any:
        """The data type with a name."""
        return self.contents[key]

    def match_dtype(self, dtype: Any) -> Any:
        """The data type of a NumPy dtype."""
        return of_native(dtype)

    def match_json(self, data: Any, *, zarr_format: Any) -> Any:
        """The data type that a document names."""
        return of_json(data, zarr_format)


data_type_registry = DataTypeRegistry()


def get_data_type_from_native_dtype(dtype: Any) -> Any:
    """The data type of a NumPy dtype."""
    if (isinstance(dtype, str) and dtype in ("str", "string")) or dtype is str:
        return VariableLengthUTF8()
    return of_native(dtype)


def get_data_type_from_json(dtype_spec: Any, *, zarr_format: Any) -> Any:
    """The data type that a document names."""
    return of_json(dtype_spec, zarr_format)


def parse_dtype(dtype_spec: Any, *, zarr_format: Any) -> Any:
    """The data type of what a user gives: a NumPy dtype, a name, or a data type itself."""
    if isinstance(dtype_spec, ZDType):
        return dtype_spec
    if isinstance(dtype_spec, dict):
        return of_json(dtype_spec, zarr_format)
    if isinstance(dtype_spec, str) and zarr_format == 3:
        try:
            return of_json(dtype_spec, 3)
        except ValueError:
            pass
    if dtype_spec is str or (isinstance(dtype_spec, str) and dtype_spec in ("str", "string")):
        return VariableLengthUTF8()
    native = np.dtype(dtype_spec)
    if native.kind == "O":
        raise ValueError(
            f"Zarr data type resolution from {dtype_spec} failed. Attempted to resolve a zarr data type from a numpy "
            '"Object" data type, which is ambiguous, as multiple zarr data types can be represented by the numpy '
            '"Object" data type. In this case you should construct your array by providing a specific Zarr data type. '
            'For a list of Zarr data types that are compatible with the numpy "Object" data type, see '
            "https://github.com/zarr-developers/zarr-python/issues/3117"
        )
    return of_native(native)


parse_data_type = parse_dtype
