"""`delta`: the first element, and then how each differs from the one before it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from omnizarr.codecs.config_fields import or_null
from omnizarr.codecs.numcodecs_.base import dtype_name
from omnizarr.codecs.numcodecs_.filters.base import Elements, TypedFilter, cast, native

__all__ = ["Delta"]

_KINDS = "iufcm"  # of truths the differences do not add up, and points in time cannot be added


@dataclass(frozen=True, slots=True)
class Delta(TypedFilter):
    """`{"id": "delta", "dtype": "<i4", "astype": "<i2"}`: elements of type `dtype`, differences of type `astype`. What
    does not fit into `astype` wraps around, and comes back right only where `dtype` wraps around in the same way.
    Elements of other types are taken for numbers of the same size, so that `<i8` does for points in time."""

    name: ClassVar[str] = "numcodecs.delta"
    id: ClassVar[str] = "delta"
    dtype: str = field(metadata=dtype_name(_KINDS, "a type of numbers such as `<i4`"))
    astype: str | None = field(
        default=None, metadata=or_null(dtype_name(_KINDS, "a type of numbers such as `<i4`", optional=True))
    )

    def encode_flat(self, array: Elements) -> Elements:
        if array.dtype.kind == "m" and np.isnat(array).any():
            raise ValueError("NaT, or the fill value NaT, would take all elements behind it along; `<i8` has no NaT")
        encoded = np.empty(array.shape, native(self.astype or self.dtype))
        encoded[:1] = cast(array[:1], encoded.dtype)
        encoded[1:] = cast(np.diff(array), encoded.dtype)
        return encoded

    def decode_flat(self, array: Elements) -> Elements:
        decoded = np.empty(array.shape, native(self.dtype))
        np.cumsum(array, out=decoded)
        return decoded
