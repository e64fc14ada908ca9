"""The `scale_offset` codec: stores `(x − offset) × scale`, computed in the type of the array (R133)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.array_to_array.rounding import by_blocks, round_doubles
from omnizarr.codecs.config_members import Rule, check, read, rule
from omnizarr.codecs.contract import ArrayCodec, BoundArrayCodec, ChunkSpec
from omnizarr.codecs.number_types import Elements, FloatType, IntegerType, number_type, widen
from omnizarr.dtypes import from_numpy
from omnizarr.dtypes.numbers.ml_dtypes_ import is_ml_dtype
from omnizarr.errors import CodecError

__all__ = ["BoundScaleOffset", "ScaleOffset"]


def _is_scalar(value: Json) -> bool:
    return is_integer(value) or isinstance(value, (float, str))


def _scalar() -> Rule:
    return rule("a number in the form of a fill value of the array's type", _is_scalar, optional=True)


@dataclass(frozen=True, slots=True)
class ScaleOffset(ArrayCodec):
    """`{"name": "scale_offset", "configuration": {"offset": 5, "scale": 0.1}}`: stores `(x − offset) × scale`. An
    `offset` or `scale` of None skips that step."""

    name: ClassVar[str] = "scale_offset"
    spec_rule: ClassVar[str | None] = "R133"
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
        arguments = read(cls, configuration, path, problems)
        return None if arguments is None else cls(**arguments)

    def configuration(self) -> dict[str, Json]:
        members = {"offset": self.offset, "scale": self.scale}
        return {name: value for name, value in members.items() if value is not None}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundScaleOffset | None:
        number = number_type(spec.dtype)
        if number is None:
            problems.add(path, f"codec `{self.name}`: expected integers or floats, found {spec.dtype}", rule="R133")
            return None
        before = len(problems.found)
        offset = self._operand("offset", spec.dtype, path, problems)
        scale = self._operand("scale", spec.dtype, path, problems)
        if scale is not None and not widen(scale):
            problems.add(f"{path}.configuration.scale", "expected a number other than 0, found 0", rule="R133")
        if len(problems.found) > before:
            return None
        arithmetic: _Arithmetic
        if isinstance(number, IntegerType):
            arithmetic = _IntegerArithmetic(number, offset, scale)
        else:
            arithmetic = _float_arithmetic(number, offset, scale)
        try:
            fill = arithmetic.encode(spec.fill.reshape(1)).reshape(())
            arithmetic.decode(fill.reshape(1))
        except ValueError as error:
            problems.add(path, f"codec `{self.name}` cannot encode the fill value: {error}", rule="R133")
            return None
        return BoundScaleOffset(ChunkSpec(spec.shape, spec.dtype, fill), arithmetic)

    def _operand(self, name: str, dtype: np.dtype[Any], path: str, problems: Problems) -> Elements | None:
        value = getattr(self, name)
        data_type = from_numpy(dtype)
        if value is None or data_type is None:
            return None
        where = f"{path}.configuration.{name}"
        operand = data_type.parse_fill(value, where, problems)
        if operand is not None and not np.isfinite(widen(operand)):
            problems.expected(where, "a finite number", value, rule="R133")
        return operand


class _Arithmetic:
    """The computation on flat arrays. Raises ValueError for the first number whose result the type cannot represent."""

    __slots__ = ("offset", "scale")

    def __init__(self, offset: Elements | None, scale: Elements | None) -> None:
        self.offset = offset
        self.scale = scale

    def encode(self, array: Elements) -> Elements:
        raise NotImplementedError  # each kind of number has its own arithmetic

    def decode(self, array: Elements) -> Elements:
        raise NotImplementedError  # see `encode`


class _IntegerArithmetic(_Arithmetic):
    """For integers. The range of valid inputs is computed once; inside it, arithmetic that wraps around is exact, so
    no wider type is needed."""

    __slots__ = ("_decode_range", "_encode_range")

    def __init__(self, number: IntegerType, offset: Elements | None, scale: Elements | None) -> None:
        super().__init__(*(None if one is None else widen(one) for one in (offset, scale)))
        low, high = number.low, number.high
        move = 0 if offset is None else int(widen(offset))
        factor = 1 if scale is None else int(widen(scale))
        # The range of x - offset in which it and its product fit the type, and from that the range of x.
        ends = sorted((_divide_inwards(low, factor), _divide_inwards(high, factor)))
        first, last = max(low, ends[0]), min(high, ends[1])
        self._encode_range = max(low, first + move), min(high, last + move)
        # The range of x / scale in which it and the sum fit the type, and from that the range of x.
        first, last = max(low, low - move), min(high, high - move)
        products = sorted((first * factor, last * factor))
        self._decode_range = max(low, products[0]), min(high, products[1])

    def encode(self, array: Elements) -> Elements:
        numbers = widen(array)
        _check_range(array, numbers, *self._encode_range)
        if self.offset is not None:
            numbers = numbers - self.offset
        if self.scale is not None:
            numbers = numbers * self.scale
        return numbers.astype(array.dtype, copy=False)

    def decode(self, array: Elements) -> Elements:
        numbers = widen(array)
        _check_range(array, numbers, *self._decode_range)
        if self.scale is not None:
            wrong = numbers % self.scale != 0
            if wrong.any():
                raise ValueError(f"{numbers[wrong][0]} is not a multiple of the scale {self.scale}")
            numbers = numbers // self.scale
        if self.offset is not None:
            numbers = numbers + self.offset
        return numbers.astype(array.dtype, copy=False)


def _divide_inwards(limit: int, factor: int) -> int:
    """`limit / factor`, rounded towards zero: the farthest integer whose product with `factor` stays in the limit."""
    quotient = abs(limit) // abs(factor)
    return quotient if (limit < 0) == (factor < 0) else -quotient


def _check_range(array: Elements, numbers: Elements, low: int, high: int) -> None:
    if numbers.size and (int(numbers.min()) < low or int(numbers.max()) > high):
        _raise_if_any(array, (numbers < low) | (numbers > high))


def _raise_if_any(array: Elements, wrong: Elements) -> None:
    if wrong.any():
        raise ValueError(f"the result for {array[wrong][0]} does not fit into {array.dtype}")


class _FloatArithmetic(_Arithmetic):
    """For NumPy's own floats, which round correctly."""

    __slots__ = ()

    def encode(self, array: Elements) -> Elements:
        result = array
        with np.errstate(all="ignore"):
            if self.offset is not None:
                result = result - self.offset
            if self.scale is not None:
                result = result * self.scale
        return _check_finite(array, result)

    def decode(self, array: Elements) -> Elements:
        result = array
        with np.errstate(all="ignore"):
            if self.scale is not None:
                result = result / self.scale
            if self.offset is not None:
                result = result + self.offset
        return _check_finite(array, result)


def _check_finite(array: Elements, result: Elements) -> Elements:
    """Raise ValueError if a finite number became infinite: the result was too large for the type."""
    _raise_if_any(array, ~np.isfinite(result) & np.isfinite(array))
    return result


class _SmallFloatArithmetic(_Arithmetic):
    """For the floats of ml_dtypes: computes in doubles and rounds after each step.

    Doubles have more than twice as many digits, so the result equals an exact step that is rounded once.
    """

    __slots__ = ("_floats",)

    def __init__(self, floats: FloatType, offset: Elements | None, scale: Elements | None) -> None:
        super().__init__(*(None if one is None else widen(one) for one in (offset, scale)))
        self._floats = floats

    def encode(self, array: Elements) -> Elements:
        numbers = widen(array)
        with np.errstate(all="ignore"):
            if self.offset is not None:
                numbers = self._rounded(array, numbers - self.offset)
            if self.scale is not None:
                numbers = self._rounded(array, numbers * self.scale)
            return numbers.astype(array.dtype)

    def decode(self, array: Elements) -> Elements:
        numbers = widen(array)
        with np.errstate(all="ignore"):
            if self.scale is not None:
                numbers = self._rounded(array, numbers / self.scale)
            if self.offset is not None:
                numbers = self._rounded(array, numbers + self.offset)
            return numbers.astype(array.dtype)

    def _rounded(self, array: Elements, numbers: Elements) -> Elements:
        floats = self._floats
        numbers = round_doubles(numbers, floats, "nearest-even")
        _raise_if_any(array, np.isfinite(widen(array)) & ((numbers < floats.low) | (numbers > floats.high)))
        return numbers


def _float_arithmetic(floats: FloatType, offset: Elements | None, scale: Elements | None) -> _Arithmetic:
    """The arithmetic for floats. That of ml_dtypes itself rounds some numbers twice, and some to NaN."""
    operand = offset if scale is None else scale
    if operand is not None and is_ml_dtype(operand.dtype):
        return _SmallFloatArithmetic(floats, offset, scale)
    return _FloatArithmetic(offset, scale)


class BoundScaleOffset(BoundArrayCodec):
    """A bound `ScaleOffset`."""

    __slots__ = ("_arithmetic", "encoded")

    def __init__(self, encoded: ChunkSpec, arithmetic: _Arithmetic) -> None:
        self.encoded = encoded
        self._arithmetic = arithmetic

    def encode(self, array: Elements) -> Elements:
        return self._compute(self._arithmetic.encode, array)

    def decode(self, array: Elements) -> Elements:
        return self._compute(self._arithmetic.decode, array)

    @staticmethod
    def _compute(function: Any, array: Elements) -> Elements:
        try:
            return by_blocks(function, array, array.dtype)
        except ValueError as error:
            raise CodecError(ScaleOffset.name, str(error)) from None
