"""Conversion between number types by the rules of `cast_value`: scalar map, rounding, range (R129–R131).

NumPy's `astype` alone ignores some of these rules silently and breaks others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.codecs.array_to_array.rounding import ROUNDINGS, by_blocks, round_doubles, round_integers
from omnizarr.codecs.number_types import Elements, FloatType, IntegerType, number_type, widen
from omnizarr.dtypes.numbers.ml_dtypes_ import is_ml_dtype

__all__ = ["Cast", "ScalarMap"]


class ScalarMap:
    """A table of numbers and their replacements, which precedes all other rules. It compares by value: all NaNs are
    equal, and so are both zeros."""

    __slots__ = ("_keys", "_nan", "_values")

    def __init__(self, keys: Elements, values: Elements) -> None:
        """If keys are equal, the first one counts (R131)."""
        keys = widen(keys)
        nans = np.flatnonzero(keys != keys)
        self._nan = values[nans[0]] if nans.size else None
        self._keys, first = np.unique(keys[keys == keys], return_index=True)
        self._values = values[np.flatnonzero(keys == keys)[first]]

    def find(self, numbers: Elements) -> tuple[Elements, Elements]:
        """A mask of the numbers that have a replacement, and these replacements in order."""
        mapped = np.zeros(numbers.shape, bool)
        results = np.empty(numbers.shape, self._values.dtype)
        if self._keys.size:
            positions = np.minimum(np.searchsorted(self._keys, numbers), self._keys.size - 1)
            mapped = np.asarray(self._keys[positions] == numbers)
            results[...] = self._values[positions]
        if self._nan is not None:
            nans = numbers != numbers
            results[nans] = self._nan
            mapped |= nans
        return mapped, results[mapped]


class Cast:
    """A conversion from one number type to another. Raises ValueError for the first number that cannot be converted."""

    __slots__ = ("_after", "_before", "_map", "_out_of_range", "_rounding", "_target")

    def __init__(
        self,
        source: np.dtype[Any],
        target: np.dtype[Any],
        rounding: str = "nearest-even",
        out_of_range: str | None = None,
        scalar_map: ScalarMap | None = None,
    ) -> None:
        before, after = number_type(source), number_type(target)
        assert before is not None
        assert after is not None, "the caller checks that both are number types"
        self._target = target
        self._before = before
        self._after = after
        self._rounding = rounding
        self._out_of_range = out_of_range
        self._map = scalar_map

    def __call__(self, array: Elements) -> Elements:
        return by_blocks(self._cast, array, self._target)

    def _cast(self, array: Elements) -> Elements:
        numbers = widen(array)
        if self._map is None:
            return self._convert(numbers)
        mapped, results = self._map.find(numbers)
        if not mapped.any():
            return self._convert(numbers)
        converted = np.empty(numbers.shape, self._target)
        converted[mapped] = results
        converted[~mapped] = self._convert(numbers[~mapped])
        return converted

    def _convert(self, numbers: Elements) -> Elements:
        before, after = self._before, self._after
        with np.errstate(all="ignore"):
            if isinstance(after, IntegerType):
                if isinstance(before, FloatType):
                    return self._to_integers(numbers, after)
                return self._between_integers(numbers, before, after)
            if isinstance(before, IntegerType):
                numbers = round_integers(numbers, after.digits, self._rounding)
            elif not _includes(after, before):
                numbers = round_doubles(numbers, after, self._rounding)
            return self._to_floats(numbers, after)

    def _between_integers(self, numbers: Elements, before: IntegerType, after: IntegerType) -> Elements:
        low, high = max(before.low, after.low), min(before.high, after.high)
        if low > before.low or high < before.high:
            outside = (numbers < low) | (numbers > high)
            if outside.any():
                self._check_rule_exists(numbers, outside)
                if self._out_of_range == "wrap":
                    return self._wrap(numbers, after)
                numbers = np.clip(numbers, low, high)
        return numbers.astype(self._target)

    def _to_integers(self, numbers: Elements, after: IntegerType) -> Elements:
        self._check_representable(numbers, np.isfinite(numbers))
        whole = ROUNDINGS[self._rounding](numbers)
        # Compare with `high + 1`, which is exact as a double; `high` itself may not be.
        outside = (whole < after.low) | (whole >= after.high + 1)
        if outside.any():
            self._check_rule_exists(numbers, outside)
            if self._out_of_range == "wrap":
                rest = np.fmod(whole, 2.0**64)  # exact
                magnitudes = np.abs(rest).astype(np.uint64)
                return self._wrap(np.where(rest < 0, ~magnitudes + np.uint64(1), magnitudes), after)
            clamped = np.where(outside, 0, whole).astype(np.int64 if after.signed else np.uint64)
            clamped[outside & (whole > 0)] = after.high
            clamped[outside & (whole < 0)] = after.low
            return clamped.astype(self._target)
        if is_ml_dtype(self._target):
            whole = whole.astype(np.int8)
        return whole.astype(self._target)

    def _wrap(self, numbers: Elements, after: IntegerType) -> Elements:
        """Integers modulo 2 ** bits. In memory, types of fewer than 8 bits have zeros in their unused bits."""
        if not is_ml_dtype(self._target):
            return numbers.astype(self._target)
        return (numbers.astype(np.uint8) & np.uint8((1 << after.bits) - 1)).view(self._target)

    def _to_floats(self, numbers: Elements, after: FloatType) -> Elements:
        """Convert doubles that already have the precision of the type, but perhaps not its range."""
        finite = np.isfinite(numbers)
        if not (after.infinities and after.nans):
            valid = finite | (np.isinf(numbers) if after.infinities else False) | (np.isnan(numbers) & after.nans)
            self._check_representable(numbers, valid)
        outside = ((numbers < after.low) | (numbers > after.high)) & finite
        if outside.any():
            self._check_rule_exists(numbers, outside)
            if after.infinities:
                numbers = np.where(outside, np.copysign(np.inf, numbers), numbers)
            else:
                numbers = np.where(outside, np.clip(numbers, after.low, after.high), numbers)
        return numbers.astype(self._target)

    def _check_rule_exists(self, numbers: Elements, outside: Elements) -> None:
        """Raise ValueError if no rule covers numbers out of range. Floats cannot wrap around."""
        if self._out_of_range is None or (self._out_of_range == "wrap" and isinstance(self._after, FloatType)):
            raise ValueError(f"{numbers[outside][0]} is out of the range of {self._target}")

    def _check_representable(self, numbers: Elements, valid: Elements) -> None:
        """Raise ValueError for a NaN or infinity that the target type does not have."""
        if not valid.all():
            raise ValueError(f"{self._target} cannot represent {numbers[~valid][0]}, and `scalar_map` does not map it")


def _includes(after: FloatType, before: FloatType) -> bool:
    """Whether `after` represents every number of `before` exactly, apart from its range."""
    return after.digits >= before.digits and after.step <= before.step
