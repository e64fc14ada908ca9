"""The `scale_offset` codec: numbers moved and scaled, without leaving their type (R133)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.array_to_array.number_types import Elements, Floats, Integers, by_blocks, number_of, to_grid, wide
from omnizarr.codecs.config_fields import Rule, check, read, rule
from omnizarr.codecs.contract import ArrayCodec, BoundArrayCodec, ChunkSpec
from omnizarr.dtypes import from_numpy
from omnizarr.dtypes.numbers.ml_dtypes_ import is_ml_dtype
from omnizarr.errors import CodecError

__all__ = ["BoundScaleOffset", "ScaleOffset"]


def _is_scalar(value: Json) -> bool:
    return is_integer(value) or isinstance(value, (float, str))


def _scalar() -> Rule:
    return rule("a number, spelled as a fill value of the array's type", _is_scalar, optional=True)


@dataclass(frozen=True, slots=True)
class ScaleOffset(ArrayCodec):
    """`{"name": "scale_offset", "configuration": {"offset": 5, "scale": 0.1}}`: stored is `(x − offset) × scale`. What
    is left None is 0 and 1, and means that nothing is done."""

    name: ClassVar[str] = "scale_offset"
    offset: int | float | str | None = field(default=None, metadata=_scalar())
    scale: int | float | str | None = field(default=None, metadata=_scalar())

    def __post_init__(self) -> None:
        for name in ("offset", "scale"):
            value = getattr(self, name)
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value.item())
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> ScaleOffset | None:
        found = read(cls, configuration, path, problems)
        return None if found is None else cls(**found)

    def configuration(self) -> dict[str, Json]:
        members = {"offset": self.offset, "scale": self.scale}
        return {name: value for name, value in members.items() if value is not None}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundScaleOffset | None:
        number = number_of(spec.dtype)
        if number is None:
            problems.add(path, f"codec `{self.name}` takes integers and floats, and these are of type {spec.dtype}")
            return None
        before = len(problems.found)
        offset = self._operand("offset", spec.dtype, path, problems)
        scale = self._operand("scale", spec.dtype, path, problems)
        if scale is not None and not wide(scale):
            problems.add(f"{path}.configuration.scale", "is 0, and nothing could be decoded")
        if len(problems.found) > before:
            return None
        steps = _OfIntegers(number, offset, scale) if isinstance(number, Integers) else _of(number, offset, scale)
        try:
            fill = steps.encode(spec.fill.reshape(1)).reshape(())
            steps.decode(fill.reshape(1))
        except ValueError as error:
            problems.add(path, f"codec `{self.name}` cannot take the fill value: {error}")
            return None
        return BoundScaleOffset(ChunkSpec(spec.shape, spec.dtype, fill), steps)

    def _operand(self, name: str, dtype: np.dtype[Any], path: str, problems: Problems) -> Elements | None:
        value = getattr(self, name)
        data_type = from_numpy(dtype)
        if value is None or data_type is None:
            return None
        where = f"{path}.configuration.{name}"
        found = data_type.parse_fill(value, where, problems)
        if found is not None and not np.isfinite(wide(found)):
            problems.expected(where, "a finite number", value)
        return found


class _Steps:
    """What is done to flat arrays; ValueError for the first number of which the type cannot hold what becomes of it."""

    __slots__ = ("offset", "scale")

    def __init__(self, offset: Elements | None, scale: Elements | None) -> None:
        self.offset = offset
        self.scale = scale

    def encode(self, array: Elements) -> Elements:
        raise NotImplementedError

    def decode(self, array: Elements) -> Elements:
        raise NotImplementedError


class _OfIntegers(_Steps):
    """Which numbers come through is a range that is known beforehand; for those in it, arithmetic that wraps around
    gives the right results, and no wider type is needed."""

    __slots__ = ("_decodes", "_encodes")

    def __init__(self, number: Integers, offset: Elements | None, scale: Elements | None) -> None:
        super().__init__(*(None if one is None else wide(one) for one in (offset, scale)))
        low, high = number.low, number.high
        move = 0 if offset is None else int(wide(offset))
        factor = 1 if scale is None else int(wide(scale))
        # What x - offset may be, so that it and its product are in the type; then what x may be.
        ends = sorted((_inner(low, factor), _inner(high, factor)))
        first, last = max(low, ends[0]), min(high, ends[1])
        self._encodes = max(low, first + move), min(high, last + move)
        # What x / scale may be, so that it and the sum are in the type; then what x may be.
        first, last = max(low, low - move), min(high, high - move)
        products = sorted((first * factor, last * factor))
        self._decodes = max(low, products[0]), min(high, products[1])

    def encode(self, array: Elements) -> Elements:
        numbers = wide(array)
        _check(array, numbers, *self._encodes)
        if self.offset is not None:
            numbers = numbers - self.offset
        if self.scale is not None:
            numbers = numbers * self.scale
        return numbers.astype(array.dtype, copy=False)

    def decode(self, array: Elements) -> Elements:
        numbers = wide(array)
        _check(array, numbers, *self._decodes)
        if self.scale is not None:
            wrong = numbers % self.scale != 0
            if wrong.any():
                raise ValueError(f"{numbers[wrong][0]} cannot be divided by {self.scale} without a rest")
            numbers = numbers // self.scale
        if self.offset is not None:
            numbers = numbers + self.offset
        return numbers.astype(array.dtype, copy=False)


def _inner(limit: int, factor: int) -> int:
    """The last integer, seen from zero, whose product with `factor` does not pass the limit."""
    found = abs(limit) // abs(factor)
    return found if (limit < 0) == (factor < 0) else -found


def _check(array: Elements, numbers: Elements, low: int, high: int) -> None:
    if numbers.size and (int(numbers.min()) < low or int(numbers.max()) > high):
        _refuse(array, (numbers < low) | (numbers > high))


def _refuse(array: Elements, wrong: Elements) -> None:
    if wrong.any():
        raise ValueError(f"of {array[wrong][0]} it would make a number that {array.dtype} does not have")


class _OfFloats(_Steps):
    """NumPy's own floats, which round as they should."""

    __slots__ = ()

    def encode(self, array: Elements) -> Elements:
        found = array
        with np.errstate(all="ignore"):
            if self.offset is not None:
                found = found - self.offset
            if self.scale is not None:
                found = found * self.scale
        return _checked(array, found)

    def decode(self, array: Elements) -> Elements:
        found = array
        with np.errstate(all="ignore"):
            if self.scale is not None:
                found = found / self.scale
            if self.offset is not None:
                found = found + self.offset
        return _checked(array, found)


def _checked(array: Elements, found: Elements) -> Elements:
    """A number that became infinite was too large for the type; an infinity may stay what it is."""
    _refuse(array, ~np.isfinite(found) & np.isfinite(array))
    return found


class _OfSmallFloats(_Steps):
    """Computed in doubles and rounded after each step. Doubles have more than twice the digits, so that this is the
    same as if every step were exact and rounded once."""

    __slots__ = ("_floats",)

    def __init__(self, floats: Floats, offset: Elements | None, scale: Elements | None) -> None:
        super().__init__(*(None if one is None else wide(one) for one in (offset, scale)))
        self._floats = floats

    def encode(self, array: Elements) -> Elements:
        numbers = wide(array)
        with np.errstate(all="ignore"):
            if self.offset is not None:
                numbers = self._rounded(array, numbers - self.offset)
            if self.scale is not None:
                numbers = self._rounded(array, numbers * self.scale)
            return numbers.astype(array.dtype)

    def decode(self, array: Elements) -> Elements:
        numbers = wide(array)
        with np.errstate(all="ignore"):
            if self.scale is not None:
                numbers = self._rounded(array, numbers / self.scale)
            if self.offset is not None:
                numbers = self._rounded(array, numbers + self.offset)
            return numbers.astype(array.dtype)

    def _rounded(self, array: Elements, numbers: Elements) -> Elements:
        floats = self._floats
        numbers = to_grid(numbers, floats, "nearest-even")
        _refuse(array, np.isfinite(wide(array)) & ((numbers < floats.low) | (numbers > floats.high)))
        return numbers


def _of(floats: Floats, offset: Elements | None, scale: Elements | None) -> _Steps:
    """The steps for floats; those of ml_dtypes round some numbers twice, and some to NaN."""
    operand = offset if scale is None else scale
    if operand is not None and is_ml_dtype(operand.dtype):
        return _OfSmallFloats(floats, offset, scale)
    return _OfFloats(offset, scale)


class BoundScaleOffset(BoundArrayCodec):
    """Arithmetic in the type of the array."""

    __slots__ = ("_steps", "encoded")

    def __init__(self, encoded: ChunkSpec, steps: _Steps) -> None:
        self.encoded = encoded
        self._steps = steps

    def encode(self, array: Elements) -> Elements:
        return self._done(self._steps.encode, array)

    def decode(self, array: Elements) -> Elements:
        return self._done(self._steps.decode, array)

    @staticmethod
    def _done(step: Any, array: Elements) -> Elements:
        try:
            return by_blocks(step, array, array.dtype)
        except ValueError as error:
            raise CodecError(ScaleOffset.name, str(error)) from None
