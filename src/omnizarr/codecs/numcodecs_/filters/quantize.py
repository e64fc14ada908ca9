"""`quantize`: rounds floats to some decimal digits, so that few bits are set."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from omnizarr.codecs.config_members import integer, or_null
from omnizarr.codecs.numcodecs_.base import dtype_name
from omnizarr.codecs.numcodecs_.filters.base import Elements, TypedFilter, native

__all__ = ["Quantize"]


@dataclass(frozen=True, slots=True)
class Quantize(TypedFilter):
    """`{"id": "quantize", "digits": 3, "dtype": "<f8", "astype": "<f4"}`. Decoding only casts. A `dtype` of None means
    the type of the array."""

    name: ClassVar[str] = "numcodecs.quantize"
    id: ClassVar[str] = "quantize"
    digits: int = field(metadata=integer(-300, 300))
    dtype: str | None = field(
        default=None, metadata=or_null(dtype_name("f", "a type of floats such as `<f4`", optional=True))
    )
    astype: str | None = field(
        default=None, metadata=or_null(dtype_name("f", "a type of floats such as `<f4`", optional=True))
    )

    def encode_flat(self, array: Elements) -> Elements:
        # The same steps as in numcodecs, because logarithms are not exact.
        exponent = math.log10(10.0**-self.digits)
        exponent = math.floor(exponent) if exponent < 0 else math.ceil(exponent)
        scale = 2.0 ** math.ceil(math.log2(10.0**-exponent))
        return (np.around(scale * array) / scale).astype(native(self.astype or array.dtype), copy=False)

    def decode_flat(self, array: Elements) -> Elements:
        return array.astype(native(self.dtype or array.dtype), copy=False)
