"""The `bitround` codec: numbers of which only the first bits are kept, so that they compress better (R127)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.array_to_array.number_types import (
    Elements,
    Floats,
    Integers,
    bit_length,
    by_blocks,
    components,
    number_of,
    rounds_up,
)
from omnizarr.codecs.config_fields import check, integer, read
from omnizarr.codecs.contract import ArrayCodec, BoundArrayCodec, ChunkSpec

__all__ = ["BitRound", "BoundBitRound"]

_TYPES = frozenset(
    [
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
        "bfloat16",
        "float16",
        "float32",
        "float64",
    ]
)
"""Of which elements consist. In the smaller floats a carry would lead to NaN, or to nothing at all."""


@dataclass(frozen=True, slots=True)
class BitRound(ArrayCodec):
    """`{"name": "bitround", "configuration": {"keepbits": 3}}`: of floats so many bits of the mantissa are kept, of
    integers so many from the first that is set; rounded to nearest, ties to even. Nothing is undone in decoding.

    The first set bit of a negative integer is its sign, as the registry's text has it: those near zero lose much.
    """

    name: ClassVar[str] = "bitround"
    keepbits: int = field(metadata=integer(1, 2**32 - 1))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> BitRound | None:
        found = read(cls, configuration, path, problems)
        return None if found is None else cls(**found)

    def configuration(self) -> dict[str, Json]:
        return {"keepbits": self.keepbits}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundBitRound | None:
        found = components(spec.dtype)
        if found is None or found[0].name not in _TYPES:
            problems.add(
                path,
                f"codec `{self.name}` takes integers, times, and real and complex floats of at least 16 bits, and "
                f"these are of type {spec.dtype}",
            )
            return None
        return BoundBitRound(spec, found[0], self.keepbits)


class BoundBitRound(BoundArrayCodec):
    """Rounds in encoding; what was stored is what is read."""

    __slots__ = ("_drop", "_floats", "_keep", "_part", "_signed", "_width", "encoded")

    def __init__(self, spec: ChunkSpec, part: np.dtype[Any], keepbits: int) -> None:
        number = number_of(part)
        assert number is not None
        self._part = part
        self._keep = keepbits
        self._width = 8 * part.itemsize
        self._floats = isinstance(number, Floats)
        self._drop = max(0, number.digits - 1 - keepbits) if isinstance(number, Floats) else 0
        self._signed = isinstance(number, Integers) and number.signed
        self.encoded = ChunkSpec(spec.shape, spec.dtype, self.encode(spec.fill))

    def encode(self, array: Elements) -> Elements:
        if self._keep >= self._width or (self._floats and not self._drop):
            return array
        bits = np.dtype(f"u{self._part.itemsize}")
        flat = np.ascontiguousarray(array).reshape(-1).view(bits)
        rounded = by_blocks(self._rounded_floats if self._floats else self._rounded_integers, flat, bits)
        return rounded.view(array.dtype).reshape(array.shape)

    def decode(self, array: Elements) -> Elements:
        return array

    def _rounded_floats(self, bits: Elements) -> Elements:
        """A carry goes into the exponent, where it belongs: what is rounded beyond the largest number is infinite. One
        that makes a number of a NaN is not carried out."""
        drop = bits.dtype.type(self._drop)
        one = bits.dtype.type(1)
        rounded = bits + ((bits >> drop & one) + ((one << (drop - one)) - one))
        rounded = rounded >> drop << drop
        with np.errstate(invalid="ignore"):  # ml_dtypes asks by a conversion, which some NaNs make warn
            lost = np.isnan(bits.view(self._part)) & ~np.isnan(rounded.view(self._part))
        return np.where(lost, bits, rounded)

    def _rounded_integers(self, bits: Elements) -> Elements:
        magnitudes = bits.astype(np.uint64)
        lengths = bit_length(magnitudes)
        shifts = np.maximum(lengths - self._keep, 0)
        kept, up = rounds_up(magnitudes, shifts, np.zeros(bits.shape, bool), "nearest-even")
        # There is no bit before the first one to carry to, and the sign is none: 255 becomes 224 and not 256.
        full = lengths >= self._width - self._signed
        up &= ~(full & (bit_length(kept + up) > self._keep))
        return (kept + up) << shifts.astype(np.uint64)
