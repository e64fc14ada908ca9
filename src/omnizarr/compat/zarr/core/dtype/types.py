"""The data types."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from omnizarr.compat.zarr.core.dtype.common import (
    DataTypeValidationError,
    HasEndianness,
    HasItemSize,
    HasLength,
    HasObjectCodec,
)
from omnizarr.compat.zarr.core.dtype.wrapper import ZDType

__all__ = ["CLASSES"]

_ORDERS = {"little": "<", "big": ">", None: "|"}


class _Sized(HasItemSize):
    @property
    def item_size(self) -> int:
        return int(self.to_native_dtype().itemsize)  # type: ignore[attr-defined]


@dataclass(frozen=True, kw_only=True)
class Bool(_Sized, ZDType):
    dtype_cls: ClassVar[Any] = np.dtypes.BoolDType
    _zarr_v3_name: ClassVar[str] = "bool"

    def to_native_dtype(self) -> np.dtype[Any]:
        return np.dtype(bool)


@dataclass(frozen=True, kw_only=True)
class Int8(_Sized, ZDType):
    dtype_cls: ClassVar[Any] = np.dtypes.Int8DType
    _zarr_v3_name: ClassVar[str] = "int8"

    def to_native_dtype(self) -> np.dtype[Any]:
        return np.dtype("int8")


@dataclass(frozen=True, kw_only=True)
class UInt8(_Sized, ZDType):
    dtype_cls: ClassVar[Any] = np.dtypes.UInt8DType
    _zarr_v3_name: ClassVar[str] = "uint8"

    def to_native_dtype(self) -> np.dtype[Any]:
        return np.dtype("uint8")


def _endianness(dtype: np.dtype[Any]) -> str:
    return "big" if dtype.str.startswith(">") else "little"


@dataclass(frozen=True, kw_only=True)
class _Number(_Sized, HasEndianness, ZDType):
    endianness: str = "little"

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return dtype.kind in "iufc" and dtype.newbyteorder("=") == np.dtype(cls._zarr_v3_name)

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        return cls(endianness=_endianness(dtype))

    def to_native_dtype(self) -> np.dtype[Any]:
        return np.dtype(self._zarr_v3_name).newbyteorder(_ORDERS[self.endianness])  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class _Complex(_Number):
    def to_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        return tuple(super().to_json_scalar(data, zarr_format=zarr_format))

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        data = list(data) if isinstance(data, tuple) else data
        return super().from_json_scalar(data, zarr_format=zarr_format)


def _number(name: str, zarr_name: str) -> Any:
    number = np.dtype(zarr_name)
    members = {"dtype_cls": type(number), "_zarr_v3_name": zarr_name, "__module__": __name__, "__qualname__": name}
    return dataclass(frozen=True, kw_only=True)(type(name, (_Complex if number.kind == "c" else _Number,), members))


Int16: Any = _number("Int16", "int16")
Int32: Any = _number("Int32", "int32")
Int64: Any = _number("Int64", "int64")
UInt16: Any = _number("UInt16", "uint16")
UInt32: Any = _number("UInt32", "uint32")
UInt64: Any = _number("UInt64", "uint64")
Float16: Any = _number("Float16", "float16")
Float32: Any = _number("Float32", "float32")
Float64: Any = _number("Float64", "float64")
Complex64: Any = _number("Complex64", "complex64")
Complex128: Any = _number("Complex128", "complex128")


@dataclass(frozen=True, kw_only=True)
class _Time(_Sized, HasEndianness, ZDType):
    endianness: str = "little"
    scale_factor: int = 1
    unit: str = "generic"
    _kind: ClassVar[str] = ""

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        unit, scale = np.datetime_data(dtype)
        return cls(endianness=_endianness(dtype), unit=unit, scale_factor=scale)

    def to_native_dtype(self) -> np.dtype[Any]:
        unit = "" if self.unit == "generic" else f"[{self.scale_factor}{self.unit}]"
        return np.dtype(f"{_ORDERS[self.endianness]}{self._kind}8{unit}")

    def default_scalar(self) -> Any:
        return np.array("NaT", self.to_native_dtype())[()]

    def to_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        return int(np.asarray(data, self.to_native_dtype()).astype(np.int64))

    def to_json(self, zarr_format: Any) -> Any:
        if zarr_format == 2:
            return super().to_json(2)
        return {
            "name": self._zarr_v3_name,
            "configuration": {"unit": self.unit, "scale_factor": self.scale_factor},
        }

    @classmethod
    def _from_json_v3(cls, data: Any) -> Self:
        if isinstance(data, dict) and data.get("name") == cls._zarr_v3_name:
            return cls(**data["configuration"])
        raise DataTypeValidationError(f"Invalid JSON representation of {cls.__name__}. Got {data!r}")


@dataclass(frozen=True, kw_only=True)
class DateTime64(_Time):
    dtype_cls: ClassVar[Any] = np.dtypes.DateTime64DType
    _zarr_v3_name: ClassVar[str] = "numpy.datetime64"
    _kind: ClassVar[str] = "M"


@dataclass(frozen=True, kw_only=True)
class TimeDelta64(_Time):
    dtype_cls: ClassVar[Any] = np.dtypes.TimeDelta64DType
    _zarr_v3_name: ClassVar[str] = "numpy.timedelta64"
    _kind: ClassVar[str] = "m"


@dataclass(frozen=True, kw_only=True)
class _Base64(ZDType):
    """Elements that documents hold as their bytes in base 64."""

    def to_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        return base64.b64encode(np.asarray(data, self.to_native_dtype()).tobytes()).decode()

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        if not isinstance(data, str):  # a list of numbers for raw bytes, or of the values of the fields
            return super().from_json_scalar(data, zarr_format=zarr_format)
        return np.frombuffer(base64.b64decode(data), self.to_native_dtype())[0]


@dataclass(frozen=True, kw_only=True)
class _Fixed(_Sized, HasLength, ZDType):
    length: int
    _kind: ClassVar[str] = ""
    _unit: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"length must be >= 1, got {self.length}.")

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        return cls(length=dtype.itemsize // cls._unit)

    def to_native_dtype(self) -> np.dtype[Any]:
        return np.dtype(f"{self._kind}{self.length}")

    def to_json(self, zarr_format: Any) -> Any:
        if zarr_format == 2:
            return super().to_json(2)
        return {"name": self._zarr_v3_name, "configuration": {"length_bytes": self.length * self._unit}}

    @classmethod
    def _from_json_v3(cls, data: Any) -> Self:
        if isinstance(data, dict) and data.get("name") == cls._zarr_v3_name:
            return cls(length=data["configuration"]["length_bytes"] // cls._unit)
        raise DataTypeValidationError(f"Invalid JSON representation of {cls.__name__}. Got {data!r}")


@dataclass(frozen=True, kw_only=True)
class NullTerminatedBytes(_Fixed):
    dtype_cls: ClassVar[Any] = np.dtypes.BytesDType
    _zarr_v3_name: ClassVar[str] = "null_terminated_bytes"
    _kind: ClassVar[str] = "S"

    def default_scalar(self) -> Any:
        return np.bytes_(b"")


@dataclass(frozen=True, kw_only=True)
class RawBytes(_Base64, _Fixed):
    dtype_cls: ClassVar[Any] = np.dtypes.VoidDType
    _zarr_v3_name: ClassVar[str] = "raw_bytes"
    _kind: ClassVar[str] = "V"

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return type(dtype) is cls.dtype_cls and dtype.fields is None

    def default_scalar(self) -> Any:
        return np.zeros((), self.to_native_dtype())[()]

    def cast_scalar(self, data: Any) -> Any:
        return np.array(data, self.to_native_dtype())[()]


@dataclass(frozen=True, kw_only=True)
class FixedLengthUTF32(HasEndianness, _Fixed):
    endianness: str = "little"
    dtype_cls: ClassVar[Any] = np.dtypes.StrDType
    _zarr_v3_name: ClassVar[str] = "fixed_length_utf32"
    _kind: ClassVar[str] = "U"
    _unit: ClassVar[int] = 4

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        return cls(length=dtype.itemsize // 4, endianness=_endianness(dtype))

    def to_native_dtype(self) -> np.dtype[Any]:
        return np.dtype(f"{_ORDERS[self.endianness]}U{self.length}")

    def default_scalar(self) -> Any:
        return np.str_("")


@dataclass(frozen=True, kw_only=True)
class VariableLengthUTF8(HasObjectCodec, ZDType):
    object_codec_id: ClassVar[str] = "vlen-utf8"  # type: ignore[misc]
    dtype_cls: ClassVar[Any] = getattr(np.dtypes, "StringDType", np.dtypes.ObjectDType)
    _zarr_v3_name: ClassVar[str] = "string"

    def to_native_dtype(self) -> np.dtype[Any]:
        return self.dtype_cls()  # type: ignore[no-any-return]

    def _name_v2(self) -> Any:
        return "|O"

    def default_scalar(self) -> Any:
        return ""

    def cast_scalar(self, data: Any) -> Any:
        return str(data)


@dataclass(frozen=True, kw_only=True)
class VariableLengthBytes(HasObjectCodec, ZDType):
    object_codec_id: ClassVar[str] = "vlen-bytes"  # type: ignore[misc]
    dtype_cls: ClassVar[Any] = np.dtypes.ObjectDType
    _zarr_v3_name: ClassVar[str] = "variable_length_bytes"

    def to_native_dtype(self) -> np.dtype[Any]:
        return np.dtype(object)

    def default_scalar(self) -> Any:
        return b""

    def cast_scalar(self, data: Any) -> Any:
        return bytes(data, "utf-8") if isinstance(data, str) else bytes(data)

    def to_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        return base64.b64encode(data).decode()

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        return base64.b64decode(data) if isinstance(data, str) else bytes(data)


@dataclass(frozen=True, kw_only=True)
class Structured(_Sized, _Base64):
    fields: tuple[tuple[str, Any], ...]
    dtype_cls: ClassVar[Any] = np.dtypes.VoidDType
    _zarr_v3_name: ClassVar[str] = "structured"

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return type(dtype) is cls.dtype_cls and dtype.fields is not None

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        return cls(fields=tuple((name, of_native(dtype.fields[name][0])) for name in dtype.names or ()))  # type: ignore[index]

    def to_native_dtype(self) -> np.dtype[Any]:
        return np.dtype([(name, kind.to_native_dtype()) for name, kind in self.fields])

    def _name_v2(self) -> Any:
        return [[name, kind.to_json(2)["name"]] for name, kind in self.fields]

    def to_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        if zarr_format == 2:
            return super().to_json_scalar(data, zarr_format=2)
        return ZDType.to_json_scalar(self, data, zarr_format=3)  # the values of the fields by name

    def to_json(self, zarr_format: Any) -> Any:
        if zarr_format == 2:
            return super().to_json(2)
        return {
            "name": self._zarr_v3_name,
            "configuration": {"fields": [[name, kind.to_json(3)] for name, kind in self.fields]},
        }

    @classmethod
    def _from_json_v3(cls, data: Any) -> Self:
        if isinstance(data, dict) and data.get("name") == cls._zarr_v3_name:
            return cls(fields=tuple((name, of_json(kind, 3)) for name, kind in data["configuration"]["fields"]))
        raise DataTypeValidationError(f"Invalid JSON representation of {cls.__name__}. Got {data!r}")

    def default_scalar(self) -> Any:
        return np.zeros((), self.to_native_dtype())[()]

    def cast_scalar(self, data: Any) -> Any:
        native = self.to_native_dtype()
        if isinstance(data, bytes):
            return np.frombuffer(data, native)[0]
        return np.array(data, native)[()] if not isinstance(data, int) else np.zeros((), native)[()]


@dataclass(frozen=True, kw_only=True)
class Struct(Structured):
    """A structured type in the form of the registered extension: each field is an object."""

    _zarr_v3_name: ClassVar[str] = "struct"

    def has_multi_byte_fields(self) -> bool:
        """Whether the byte order matters for a field."""
        return any(
            kind.has_multi_byte_fields() if isinstance(kind, Struct) else isinstance(kind, HasEndianness)
            for _, kind in self.fields
        )

    def to_json(self, zarr_format: Any) -> Any:
        if zarr_format == 2:
            return super().to_json(2)
        fields = [{"name": name, "data_type": kind.to_json(3)} for name, kind in self.fields]
        return {"name": "struct", "configuration": {"fields": fields}}

    @classmethod
    def _from_json_v3(cls, data: Any) -> Self:
        if isinstance(data, dict) and data.get("name") == "struct":
            fields = data["configuration"]["fields"]
            pairs = [(item["name"], item["data_type"]) if isinstance(item, dict) else item for item in fields]
            return cls(fields=tuple((name, of_json(kind, 3)) for name, kind in pairs))
        raise DataTypeValidationError(f"Invalid JSON representation of {cls.__name__}. Got {data!r}")


CLASSES: tuple[Any, ...] = (
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    Float32,
    Float64,
    Complex64,
    Complex128,
    DateTime64,
    TimeDelta64,
    FixedLengthUTF32,
    NullTerminatedBytes,
    RawBytes,
    Struct,
    Structured,
    VariableLengthUTF8,
    VariableLengthBytes,
)


def of_native(dtype: Any) -> Any:
    """The data type of a NumPy dtype."""
    native = np.dtype(dtype)
    for kind in CLASSES:
        if kind is not VariableLengthBytes and kind._check_native_dtype(native):
            return kind._of(native)
    raise ValueError(f"No Zarr data type found that matches dtype '{native!r}'")


def of_json(data: Any, zarr_format: Any) -> Any:
    """The data type that a document names."""
    if zarr_format == 2:
        name = data["name"] if isinstance(data, dict) else data
        if name == "|O":
            codec = data.get("object_codec_id") if isinstance(data, dict) else None
            return VariableLengthBytes() if codec == "vlen-bytes" else VariableLengthUTF8()
        return of_native([tuple(field) for field in name] if isinstance(name, list) else name)
    for kind in CLASSES:
        try:
            return kind._from_json_v3(data)
        except (DataTypeValidationError, KeyError, TypeError):
            continue
    if data == "bytes":
        return VariableLengthBytes()
    if isinstance(data, str) and data[:1] == "r" and data[1:].isdigit():
        return RawBytes(length=int(data[1:]) // 8)
    raise ValueError(f"No Zarr data type found that matches {data!r}")
