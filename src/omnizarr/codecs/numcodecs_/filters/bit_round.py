"""`bitround`: rounds the mantissas of floats to fewer bits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.config_members import check, integer
from omnizarr.codecs.contract import BoundArrayCodec, ChunkSpec
from omnizarr.codecs.numcodecs_.filters.base import BoundFilter, Elements, Filter
from omnizarr.errors import ArgumentError

__all__ = ["BitRound"]

_MANTISSAS = {"float16": 10, "float32": 23, "float64": 52}


@dataclass(frozen=True, slots=True)
class BitRound(Filter):
    """`{"id": "bitround", "keepbits": 7}`: rounds to nearest, ties to even. Decoding changes nothing.

    It differs from numcodecs in one case: there, rounding may turn a NaN with many set bits into a number.
    """

    name: ClassVar[str] = "numcodecs.bitround"
    id: ClassVar[str] = "bitround"
    keepbits: int = field(metadata=integer(0, 52))
    alias: bool = field(default=False, compare=False, repr=False)
    """Whether the codec comes from a v3 document. There the name is an alias of the registered codec `bitround`, which
    supports more types, and zarrs wrote it for all of them (R127)."""

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> BitRound | None:
        codec = super(BitRound, cls).parse(configuration, path, problems)
        return None if codec is None else cls(codec.keepbits, alias=True)

    @property
    def decoded_dtype(self) -> None:
        return None

    @property
    def encoded_dtype(self) -> None:
        return None

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundArrayCodec | None:
        bits = _MANTISSAS.get(spec.dtype.name)
        if bits is None and self.alias:
            from omnizarr.codecs.array_to_array.bit_round import BitRound as Registered  # lazy import: rarely needed

            return Registered(max(1, self.keepbits)).bind(spec, path, problems)
        reason = self._misfit(spec.dtype)
        if spec.dtype.hasobject or (self.alias and reason is not None):
            problems.add(path, f"codec `{self.name}`: {reason}")
            return None
        return BoundFilter(self, spec, spec.dtype)  # decodes any type, as numcodecs does; GDAL has one of integers

    def _misfit(self, dtype: np.dtype[Any]) -> str | None:
        """Why the codec cannot encode elements of this type, or None."""
        bits = _MANTISSAS.get(dtype.name)
        if bits is None:
            return f"expected floats of 16 to 64 bits, found {dtype}"
        if self.keepbits > bits:
            return f"`keepbits`: expected at most {bits}, the mantissa bits of {dtype}, found {self.keepbits}"
        return None

    def completed(self, dtype: np.dtype[Any]) -> Filter:
        reason = self._misfit(dtype)
        if reason is not None and not self.alias:
            raise ArgumentError(f"codec `{self.name}`: {reason}", argument="filters")
        return self

    def encode_flat(self, array: Elements) -> Elements:
        reason = self._misfit(array.dtype)
        if reason is not None:
            raise ValueError(reason)
        drop = _MANTISSAS[array.dtype.name] - self.keepbits
        if drop <= 0:
            return array
        bits = array.view(f"i{array.dtype.itemsize}")
        # Add half of the last kept bit, minus one unless that bit is set: ties round to even.
        rounded = bits + ((bits >> drop & 1) + ((1 << (drop - 1)) - 1))
        rounded &= -1 << drop
        encoded = rounded.view(array.dtype)
        lost = np.isnan(array) & ~np.isnan(encoded)
        return np.where(lost, array, encoded) if lost.any() else encoded

    def decode_flat(self, array: Elements) -> Elements:
        return array
