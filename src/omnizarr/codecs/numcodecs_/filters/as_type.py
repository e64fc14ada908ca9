"""`astype`: casts elements to another type."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json
from omnizarr.codecs.config_members import check, or_null
from omnizarr.codecs.numcodecs_.base import dtype_name, to_typestr
from omnizarr.codecs.numcodecs_.filters.base import Elements, Filter, cast, little_endian, native

__all__ = ["AsType"]

_KINDS = "biufcmMSU"


@dataclass(frozen=True, slots=True)
class AsType(Filter):
    """`{"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}`. The cast loses silently what the type cannot
    represent. A `decode_dtype` of None means the type of the array."""

    name: ClassVar[str] = "numcodecs.astype"
    id: ClassVar[str] = "astype"
    encode_dtype: str = field(metadata=dtype_name(_KINDS, "a type such as `<i4`"))
    decode_dtype: str | None = field(
        default=None, metadata=or_null(dtype_name(_KINDS, "a type such as `<i4`", optional=True))
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "encode_dtype", to_typestr(self.encode_dtype))
        object.__setattr__(self, "decode_dtype", to_typestr(self.decode_dtype))
        check(self)

    def configuration(self) -> dict[str, Json]:
        members = {"encode_dtype": self.encode_dtype, "decode_dtype": self.decode_dtype}
        return {name: value for name, value in members.items() if value is not None}

    def with_types(self, dtype: np.dtype[Any]) -> AsType:
        return self if self.decode_dtype is not None else replace(self, decode_dtype=dtype.str)

    def with_little_endian_types(self) -> AsType:
        encoded = little_endian(self.encode_dtype)
        assert encoded is not None
        return AsType(encoded, little_endian(self.decode_dtype))

    @property
    def decoded_dtype(self) -> np.dtype[Any] | None:
        return None if self.decode_dtype is None else np.dtype(self.decode_dtype)

    @property
    def encoded_dtype(self) -> np.dtype[Any]:
        return np.dtype(self.encode_dtype)

    def encode_flat(self, array: Elements) -> Elements:
        return cast(array, native(self.encode_dtype))

    def decode_flat(self, array: Elements) -> Elements:
        return cast(array, native(self.decode_dtype or array.dtype))
