"""`packbits`: stores eight booleans in a byte, the first one in its highest bit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.numcodecs_.filters.base import Elements, Filter

__all__ = ["PackBits"]


@dataclass(frozen=True, slots=True)
class PackBits(Filter):
    """`{"id": "packbits"}`: the first byte contains the number of padding bits in the last byte."""

    name: ClassVar[str] = "numcodecs.packbits"
    id: ClassVar[str] = "packbits"

    @property
    def decoded_dtype(self) -> np.dtype[Any]:
        return np.dtype(bool)

    @property
    def encoded_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.uint8)

    def encoded_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (1 + -(-math.prod(shape) // 8),)

    def encode_flat(self, array: Elements) -> Elements:
        return np.concatenate([np.array([-array.size % 8], np.uint8), np.packbits(array)])

    def decode_flat(self, array: Elements) -> Elements:
        if not array.size or array[0] > 7 or (array[0] and array.size == 1):
            raise ValueError("the first byte is not a valid number of padding bits")
        return np.unpackbits(array[1:], count=8 * (array.size - 1) - int(array[0])).view(bool)
