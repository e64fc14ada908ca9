"""The `bitround` codec: rounds numbers to fewer bits, so that they compress better (R127)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.array_to_array.rounding import bit_length, by_blocks, drop_bits
from omnizarr.codecs.config_members import check, integer, read
from omnizarr.codecs.contract import ArrayCodec, BoundArrayCodec, ChunkSpec
from omnizarr.codecs.number_types import Elements, FloatType, IntegerType, components, number_type

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
"""Supported component types. In smaller floats a carry could produce NaN or an undefined bit pattern."""


@dataclass(frozen=True, slots=True)
class BitRound(ArrayCodec):
    """`{"name": "bitround", "configuration": {"keepbits": 3}}`: keeps `keepbits` bits of a float's mantissa, or of an
    integer from its first set bit on. Rounds to nearest, ties to even. Decoding changes nothing.

    As the registry defines it, the first set bit of a negative integer is its sign, so negative integers near zero lose
    most of their digits.
    """

    name: ClassVar[str] = "bitround"
    spec_rule: ClassVar[str | None] = "R127"
    keepbits: int = field(metadata=integer(1, 2**32 - 1))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> BitRound | None:
        arguments = read(cls, configuration, path, problems)
        return None if arguments is None else cls(**arguments)

    def configuration(self) -> dict[str, Json]:
        return {"keepbits": self.keepbits}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundBitRound | None:
        parts = components(spec.dtype)
        if parts is None or parts[0].name not in _TYPES:
            problems.add(
                path,
                f"codec `{self.name}`: expected integers, times, or real or complex floats of at least 16 bits, "
                f"found {spec.dtype}",
                rule="R127",
            )
            return None
        return BoundBitRound(spec, parts[0], self.keepbits)


class BoundBitRound(BoundArrayCodec):
    """A bound `BitRound`: `encode` rounds, `decode` returns its input."""

    __slots__ = ("_drop", "_floats", "_keep", "_part", "_signed", "_width", "encoded")

    def __init__(self, spec: ChunkSpec, part: np.dtype[Any], keepbits: int) -> None:
        number = number_type(part)
        assert number is not None
        self._part = part
        self._keep = keepbits
        self._width = 8 * part.itemsize
        self._floats = isinstance(number, FloatType)
        self._drop = max(0, number.digits - 1 - keepbits) if isinstance(number, FloatType) else 0
        self._signed = isinstance(number, IntegerType) and number.signed
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
        """Round the bit patterns of floats. A carry runs into the exponent, so values above the largest number become
        infinite. A NaN that rounding would turn into a number stays unchanged."""
        drop = bits.dtype.type(self._drop)
        one = bits.dtype.type(1)
        rounded = bits + ((bits >> drop & one) + ((one << (drop - one)) - one))
        rounded = rounded >> drop << drop
        with np.errstate(invalid="ignore"):  # ml_dtypes' isnan converts, and some NaNs make that warn
            lost = np.isnan(bits.view(self._part)) & ~np.isnan(rounded.view(self._part))
        return np.where(lost, bits, rounded)

    def _rounded_integers(self, bits: Elements) -> Elements:
        magnitudes = bits.astype(np.uint64)
        lengths = bit_length(magnitudes)
        shifts = np.maximum(lengths - self._keep, 0)
        quotient, up = drop_bits(magnitudes, shifts, np.zeros(bits.shape, bool), "nearest-even")
        # Do not carry out of the highest bit or into the sign: uint8 255 becomes 224, not 256.
        full = lengths >= self._width - self._signed
        up &= ~(full & (bit_length(quotient + up) > self._keep))
        return (quotient + up) << shifts.astype(np.uint64)
