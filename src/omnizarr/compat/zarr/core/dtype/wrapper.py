"""`ZDType`: a Zarr data type, made from a NumPy dtype or from JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from omnizarr.compat.zarr.core.dtype.common import DataTypeValidationError
from omnizarr.formats import dialect_for

__all__ = ["TBaseDType", "TBaseScalar", "ZDType"]

TBaseDType: TypeAlias = np.dtype[Any]
TBaseScalar: TypeAlias = Any


@dataclass(frozen=True, kw_only=True)
class ZDType:
    """Base class of data types."""

    dtype_cls: ClassVar[Any] = None
    _zarr_v3_name: ClassVar[str] = ""

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return type(dtype) is cls.dtype_cls

    @classmethod
    def from_native_dtype(cls, dtype: np.dtype[Any]) -> Self:
        """The data type of a NumPy dtype."""
        if not cls._check_native_dtype(dtype):
            raise DataTypeValidationError(f"Invalid data type: {dtype}. Expected an instance of {cls.dtype_cls}")
        return cls._of(dtype)

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        return cls()

    def to_native_dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        raise NotImplementedError

    def to_json(self, zarr_format: Any) -> Any:
        """The data type as documents name it."""
        if zarr_format == 2:
            return {"name": self._name_v2(), "object_codec_id": getattr(self, "object_codec_id", None)}
        if zarr_format == 3:
            return self._zarr_v3_name
        raise ValueError(f"zarr_format must be 2 or 3, got {zarr_format}")

    def _name_v2(self) -> Any:
        return self.to_native_dtype().str

    def default_scalar(self) -> Any:
        """The fill value that is used unless another one is given."""
        return self.to_native_dtype().type(0)

    def cast_scalar(self, data: Any) -> Any:
        """`data` as an element."""
        native = self.to_native_dtype()
        try:
            return np.asarray(data, dtype=native)[()] if native.kind in "Mm" else native.type(data)
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError(
                f"Cannot convert object {data!r} with type {type(data)} to a scalar compatible with the data type "
                f"{self}."
            ) from error

    def _check_scalar(self, data: Any) -> bool:
        try:
            self.cast_scalar(data)
        except TypeError:
            return False
        return True

    def _own(self, zarr_format: Any) -> Any:
        return dialect_for(zarr_format).data_type(self.to_native_dtype())

    def to_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        """An element as documents name it."""
        own = self._own(zarr_format)
        return own.dump_fill(own.cast_fill(data))

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        """An element from the value in a document."""
        from omnizarr._json import Problems

        own, problems = self._own(zarr_format), Problems()
        value = own.parse_fill(data, "$.fill_value", problems)
        if value is None or problems.found:
            raise TypeError(f"Invalid type: {data}. Expected a scalar of the data type {self}.")
        return value[()]

    @classmethod
    def _from_json_v2(cls, data: Any) -> Self:
        name = data["name"] if isinstance(data, dict) else data
        name = [tuple(field) for field in name] if isinstance(name, list) else name
        try:
            return cls.from_native_dtype(np.dtype(name))
        except TypeError as error:
            raise DataTypeValidationError(f"Invalid JSON representation of {cls.__name__}. Got {data!r}") from error

    @classmethod
    def _from_json_v3(cls, data: Any) -> Self:
        if data == cls._zarr_v3_name and data:
            return cls()
        raise DataTypeValidationError(
            f"Invalid JSON representation of {cls.__name__}. Got {data!r}, expected the string {cls._zarr_v3_name!r}"
        )

    @classmethod
    def from_json(cls, data: Any, *, zarr_format: Any) -> Self:
        """The data type that a document names."""
        return cls._from_json_v2(data) if zarr_format == 2 else cls._from_json_v3(data)
