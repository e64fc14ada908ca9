"""`delta`: stores the first element, and then the difference of each element to the previous one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from omnizarr.codecs.config_members import or_null
from omnizarr.codecs.numcodecs_.base import dtype_name
from omnizarr.codecs.numcodecs_.filters.base import Elements, TypedFilter, cast, native

__all__ = ["Delta"]

_KINDS = "iufcm"  # not booleans, whose differences do not add up, and not points in time, which cannot be added


@dataclass(frozen=True, slots=True)
class Delta(TypedFilter):
    """`{"id": "delta", "dtype": "<i4", "astype": "<i2"}`: elements of type `dtype`, differences of type `astype`.

    A difference that does not fit into `astype` wraps around; the result is right only if `dtype` wraps around in the
    same way. Elements of other types are read as numbers of the same size, so use `<i8` for points in time.
    """

    name: ClassVar[str] = "numcodecs.delta"
    id: ClassVar[str] = "delta"
    dtype: str = field(metadata=dtype_name(_KINDS, "a type of numbers such as `<i4`"))
    astype: str | None = field(
        default=None, metadata=or_null(dtype_name(_KINDS, "a type of numbers such as `<i4`", optional=True))
    )

    def encode_flat(self, array: Elements) -> Elements:
        if array.dtype.kind == "m" and np.isnat(array).any():
            raise ValueError(
                "expected no NaT, also as fill value: all later elements would be lost; use the `dtype` `<i8`"
            )
        encoded = np.empty(array.shape, native(self.astype or self.dtype))
        encoded[:1] = cast(array[:1], encoded.dtype)
        # As integers, which wrap around: NumPy 2.5 rejects spans that do.
        steps = np.diff(array.view("i8")).view(array.dtype) if array.dtype.kind == "m" else np.diff(array)
        encoded[1:] = cast(steps, encoded.dtype)
        return encoded

    def decode_flat(self, array: Elements) -> Elements:
        decoded = np.empty(array.shape, native(self.dtype))
        if decoded.dtype.kind == "m":
            steps = cast(array, decoded.dtype)
            if not np.isnat(steps).any():  # a sum of integers does not know NaT
                np.cumsum(steps.view("i8"), out=decoded.view("i8"))
                return decoded
        np.cumsum(array, out=decoded)
        return decoded
