"""`fixedscaleoffset`: stores `(x − offset) × scale`, rounded to integers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from omnizarr._json import Json
from omnizarr.codecs.config_members import number, or_null, rule
from omnizarr.codecs.numcodecs_.base import dtype_name
from omnizarr.codecs.numcodecs_.filters.base import Elements, TypedFilter, cast, native

__all__ = ["FixedScaleOffset"]

_KINDS = "biufc"


def _is_scale(value: Json) -> bool:
    return bool(number()["accepts"](value)) and value != 0


@dataclass(frozen=True, slots=True)
class FixedScaleOffset(TypedFilter):
    """`{"id": "fixedscaleoffset", "scale": 10, "offset": 1000, "dtype": "<f8", "astype": "|u1"}`: stores
    `(x − offset) × scale`, rounded, as `astype`. A `dtype` of None means the type of the array."""

    name: ClassVar[str] = "numcodecs.fixedscaleoffset"
    id: ClassVar[str] = "fixedscaleoffset"
    scale: int | float = field(metadata=rule("a finite number other than 0", _is_scale))
    offset: int | float = field(metadata=number())
    dtype: str | None = field(
        default=None, metadata=or_null(dtype_name(_KINDS, "a type of numbers such as `<i4`", optional=True))
    )
    astype: str | None = field(
        default=None, metadata=or_null(dtype_name(_KINDS, "a type of numbers such as `<i4`", optional=True))
    )

    def encode_flat(self, array: Elements) -> Elements:
        try:
            scaled = (array - self.offset) * self.scale
        except OverflowError:  # the offset or scale does not fit the type; NumPy 1 used a wider type then
            scaled = (array - float(self.offset)) * float(self.scale)
        return cast(np.around(scaled), native(self.astype or array.dtype))

    def decode_flat(self, array: Elements) -> Elements:
        return cast(array / self.scale + self.offset, native(self.dtype or array.dtype))
