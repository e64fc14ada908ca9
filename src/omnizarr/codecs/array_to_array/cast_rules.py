"""Numbers of one type as numbers of another, by the rules of `cast_value`: what is mapped, what is exact, what has to
be rounded, what lies out of range (R129–R131). A cast in C does some of that without a word, and some of it wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.codecs.array_to_array.number_types import (
    ROUNDINGS,
    Elements,
    Floats,
    Integers,
    by_blocks,
    number_of,
    shortened,
    to_grid,
    wide,
)
from omnizarr.dtypes.numbers.ml_dtypes_ import is_ml_dtype

__all__ = ["Cast", "ScalarMap"]


class ScalarMap:
    """Numbers that become certain others, whatever the rules say. They are found by their value: any NaN is NaN, and
    both zeros are zero."""

    __slots__ = ("_keys", "_nan", "_values")

    def __init__(self, keys: Elements, values: Elements) -> None:
        """Of equal keys the first one counts (R131)."""
        keys = wide(keys)
        missing = np.flatnonzero(keys != keys)
        self._nan = values[missing[0]] if missing.size else None
        self._keys, first = np.unique(keys[keys == keys], return_index=True)
        self._values = values[np.flatnonzero(keys == keys)[first]]

    def find(self, numbers: Elements) -> tuple[Elements, Elements]:
        """Where numbers are that are mapped, and what they become, one after the other."""
        found = np.zeros(numbers.shape, bool)
        results = np.empty(numbers.shape, self._values.dtype)
        if self._keys.size:
            places = np.minimum(np.searchsorted(self._keys, numbers), self._keys.size - 1)
            found = np.asarray(self._keys[places] == numbers)
            results[...] = self._values[places]
        if self._nan is not None:
            missing = numbers != numbers
            results[missing] = self._nan
            found |= missing
        return found, results[found]


class Cast:
    """A conversion. It raises ValueError for the first number that has no place in the other type."""

    __slots__ = ("_after", "_before", "_beyond", "_map", "_rounding", "_target")

    def __init__(
        self,
        source: np.dtype[Any],
        target: np.dtype[Any],
        rounding: str = "nearest-even",
        out_of_range: str | None = None,
        scalar_map: ScalarMap | None = None,
    ) -> None:
        before, after = number_of(source), number_of(target)
        assert before is not None
        assert after is not None, "the caller has looked whether both are numbers"
        self._target = target
        self._before = before
        self._after = after
        self._rounding = rounding
        self._beyond = out_of_range
        self._map = scalar_map

    def __call__(self, array: Elements) -> Elements:
        return by_blocks(self._cast, array, self._target)

    def _cast(self, array: Elements) -> Elements:
        numbers = wide(array)
        if self._map is None:
            return self._converted(numbers)
        mapped, results = self._map.find(numbers)
        if not mapped.any():
            return self._converted(numbers)
        found = np.empty(numbers.shape, self._target)
        found[mapped] = results
        found[~mapped] = self._converted(numbers[~mapped])
        return found

    def _converted(self, numbers: Elements) -> Elements:
        before, after = self._before, self._after
        with np.errstate(all="ignore"):
            if isinstance(after, Integers):
                if isinstance(before, Floats):
                    return self._to_integers(numbers, after)
                return self._between_integers(numbers, before, after)
            if isinstance(before, Integers):
                numbers = shortened(numbers, after.digits, self._rounding)
            elif not _holds(after, before):
                numbers = to_grid(numbers, after, self._rounding)
            return self._to_floats(numbers, after)

    def _between_integers(self, numbers: Elements, before: Integers, after: Integers) -> Elements:
        low, high = max(before.low, after.low), min(before.high, after.high)
        if low > before.low or high < before.high:
            outside = (numbers < low) | (numbers > high)
            if outside.any():
                self._refuse(numbers, outside)
                if self._beyond == "wrap":
                    return self._wrapped(numbers, after)
                numbers = np.clip(numbers, low, high)
        return numbers.astype(self._target)

    def _to_integers(self, numbers: Elements, after: Integers) -> Elements:
        self._need(numbers, np.isfinite(numbers))
        whole = ROUNDINGS[self._rounding](numbers)
        # As doubles the limits are exact, one above the highest number; that itself need not be one.
        outside = (whole < after.low) | (whole >= after.high + 1)
        if outside.any():
            self._refuse(numbers, outside)
            if self._beyond == "wrap":
                rest = np.fmod(whole, 2.0**64)  # exact
                magnitudes = np.abs(rest).astype(np.uint64)
                return self._wrapped(np.where(rest < 0, ~magnitudes + np.uint64(1), magnitudes), after)
            kept = np.where(outside, 0, whole).astype(np.int64 if after.signed else np.uint64)
            kept[outside & (whole > 0)] = after.high
            kept[outside & (whole < 0)] = after.low
            return kept.astype(self._target)
        if is_ml_dtype(self._target):
            whole = whole.astype(np.int8)
        return whole.astype(self._target)

    def _wrapped(self, numbers: Elements, after: Integers) -> Elements:
        """Integers modulo two to the power of the bits; those of fewer than eight are in memory without their sign."""
        if not is_ml_dtype(self._target):
            return numbers.astype(self._target)
        return (numbers.astype(np.uint8) & np.uint8((1 << after.bits) - 1)).view(self._target)

    def _to_floats(self, numbers: Elements, after: Floats) -> Elements:
        """Doubles that are numbers of the type but for its range."""
        finite = np.isfinite(numbers)
        if not (after.infinities and after.nans):
            fine = finite | (np.isinf(numbers) if after.infinities else False) | (np.isnan(numbers) & after.nans)
            self._need(numbers, fine)
        outside = ((numbers < after.low) | (numbers > after.high)) & finite
        if outside.any():
            self._refuse(numbers, outside)
            if after.infinities:
                numbers = np.where(outside, np.copysign(np.inf, numbers), numbers)
            else:
                numbers = np.where(outside, np.clip(numbers, after.low, after.high), numbers)
        return numbers.astype(self._target)

    def _refuse(self, numbers: Elements, outside: Elements) -> None:
        """Unless there is a rule for what is out of range. There is none for wrapping floats."""
        if self._beyond is None or (self._beyond == "wrap" and isinstance(self._after, Floats)):
            raise ValueError(f"{numbers[outside][0]} is out of the range of {self._target}")

    def _need(self, numbers: Elements, fine: Elements) -> None:
        """What is no number in the other type is never made one."""
        if not fine.all():
            raise ValueError(f"{self._target} has nothing for {numbers[~fine][0]}, and `scalar_map` neither")


def _holds(after: Floats, before: Floats) -> bool:
    """Whether all numbers of one type are numbers of the other, range apart."""
    return after.digits >= before.digits and after.step <= before.step
