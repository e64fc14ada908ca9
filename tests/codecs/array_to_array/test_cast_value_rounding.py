"""Rounding and range rules of the codec `cast_value`, against an oracle that computes with fractions."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.codecs.array_to_array.casts import FLOATS, INTEGERS, codec, dtype_of, encoded

from omnizarr.errors import CodecError

ROUNDINGS = ("nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away")
SMALL_INTEGERS = ("int2", "int4", "uint2", "uint4")
SMALL_FLOATS = (
    *("bfloat16", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3"),
    *("float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
ALL = (*INTEGERS, *FLOATS, *SMALL_INTEGERS, *SMALL_FLOATS)


@lru_cache(None)
def numbers_of(name: str) -> list[Fraction]:
    """All finite numbers of a small type, from the lowest to the highest."""
    width = 16 if name in ("bfloat16", "float16") else 8
    patterns = np.arange(2**width, dtype=f"u{width // 8}")
    if name in ("int2", "uint2", "int4", "uint4"):
        patterns = patterns[: 2 ** int(name[-1])]
    elif name.startswith(("float4", "float6")):
        patterns = patterns[: 2 ** int(name[5])]
    with np.errstate(invalid="ignore"):
        values = patterns.view(dtype_of(name)).astype("f8")
    return [Fraction(value) for value in sorted({value for value in values.tolist() if math.isfinite(value)})]


def whole(value: Fraction, rounding: str) -> int:
    lower = math.floor(value)
    rest = value - lower
    if rounding == "towards-negative" or not rest:
        return lower
    if rounding == "towards-positive":
        return lower + 1
    if rounding == "towards-zero":
        return lower if value > 0 else lower + 1
    if rest == Fraction(1, 2):
        return lower + (lower % 2 if rounding == "nearest-even" else value > 0)
    return lower + (rest > Fraction(1, 2))


def on_grid(value: Fraction, digits: int, step: int, rounding: str) -> Fraction:
    """Rounded to `digits` binary digits, and to multiples of 2 ** `step`."""
    if not value:
        return value
    exponent = math.floor(math.log2(abs(value))) - 2
    while Fraction(2) ** (exponent + 1) <= abs(value):
        exponent += 1
    unit = Fraction(2) ** max(exponent + 1 - digits, step)
    return whole(value / unit, rounding) * unit


TIES = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5]


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("nearest-even", [0, 2, 2, 0, -2, -2]),
        ("towards-zero", [0, 1, 2, 0, -1, -2]),
        ("towards-positive", [1, 2, 3, 0, -1, -2]),
        ("towards-negative", [0, 1, 2, -1, -2, -3]),
        ("nearest-away", [1, 2, 3, -1, -2, -3]),
    ],
)
def test_R128_rounding_modes(rounding: str, expected: list[int]) -> None:
    assert encoded(TIES, "float64", "int8", rounding=rounding) == expected


def test_R128_nearest_away_does_not_add_a_half() -> None:
    below = np.nextafter(0.5, 0)
    assert encoded([below, -below, 2.0**52 + 1], "float64", "int64", rounding="nearest-away") == [0, 0, 2**52 + 1]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("target", INTEGERS)
@given(data=st.data())
def test_R129_floats_to_integers_match_the_oracle(rounding: str, target: str, data: st.DataObject) -> None:
    info = np.iinfo(target)
    around = st.sampled_from([info.min, info.max, 2**53, 2**24, 0]).flatmap(
        lambda middle: st.floats(float(middle) - 4, float(middle) + 4)
    )
    values = data.draw(arrays.arrays("f8", 20, elements=around | st.floats(-1e30, 1e30)))
    exact = [whole(Fraction(value), rounding) for value in values.tolist()]
    clamped = [min(max(value, info.min), info.max) for value in exact]
    assert encoded(values, "float64", target, rounding=rounding, out_of_range="clamp") == clamped
    inside = np.array([value == limited for value, limited in zip(exact, clamped, strict=True)])
    assert encoded(values[inside], "float64", target, rounding=rounding) == np.array(clamped, object)[inside].tolist()
    for value in values[~inside]:
        with pytest.raises(CodecError):
            encoded([value], "float64", target, rounding=rounding)
    wrapped = [(value - info.min) % 2**info.bits + info.min for value in exact]
    assert encoded(values, "float64", target, rounding=rounding, out_of_range="wrap") == wrapped


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("source", ["int64", "uint64", "int32"])
@pytest.mark.parametrize(("target", "digits"), [("float64", 53), ("float32", 24), ("float16", 11)])
@given(data=st.data())
def test_R129_integers_are_rounded_once(
    rounding: str, source: str, target: str, digits: int, data: st.DataObject
) -> None:
    info = np.iinfo(source)
    near = st.integers(1, 63).flatmap(lambda bit: st.integers((1 << bit) - 3, (1 << bit) + 3))
    drawn = near | near.map(lambda value: -value) | st.integers(info.min, info.max)
    limited = drawn.map(lambda value: max(info.min, min(info.max, value)))
    values = data.draw(st.lists(limited, min_size=1, max_size=20))
    largest = float(np.finfo(target).max)
    for value in [*values, info.min, info.max]:
        exact = on_grid(Fraction(value), digits, -2000, rounding)
        if abs(exact) <= Fraction(largest):
            result = codec(source, target, rounding=rounding).encode(np.array([value], source))
            assert Fraction(float(result[0])) == exact
        else:
            with pytest.raises(CodecError, match="out of the range"):
                encoded([value], source, target, rounding=rounding)
            infinite = encoded([value], source, target, rounding=rounding, out_of_range="clamp")
            assert infinite == [math.copysign(math.inf, value)]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(("target", "digits", "step"), [("float32", 24, -149), ("float16", 11, -24)])
@given(data=st.data())
def test_R129_floats_are_rounded_to_shorter_ones(
    rounding: str, target: str, digits: int, step: int, data: st.DataObject
) -> None:
    info = np.finfo(target)
    edge = st.sampled_from([float(info.max), float(info.tiny), float(info.smallest_subnormal), 1.0])
    near = st.tuples(edge, st.floats(-3, 3)).map(lambda pair: pair[0] * pair[1])
    values = data.draw(st.lists(near | st.floats(-1e5, 1e5), min_size=1, max_size=20))
    for value in values:
        exact = on_grid(Fraction(value), digits, step, rounding)
        if abs(exact) <= Fraction(float(info.max)):
            (result,) = encoded([value], "float64", target, rounding=rounding)
            assert Fraction(result) == exact
            assert math.copysign(1, result) == math.copysign(1, value)
        else:
            with pytest.raises(CodecError, match="out of the range"):
                encoded([value], "float64", target, rounding=rounding)
            infinite = encoded([value], "float64", target, rounding=rounding, out_of_range="clamp")
            assert infinite == [math.copysign(math.inf, value)]


@pytest.mark.parametrize("target", ["float32", "float16"])
def test_R128_nearest_even_is_what_numpy_does(target: str) -> None:
    values = np.random.default_rng(3).normal(size=1000) * 10.0 ** np.random.default_rng(4).integers(-9, 4, 1000)
    encoded = codec("float64", target).encode(values)
    assert encoded.tobytes() == values.astype(target).tobytes()


# -- the small types: every number of each, against every number of the other


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("target", [*SMALL_INTEGERS, *SMALL_FLOATS])
def test_R130_doubles_become_small_numbers(target: str, rounding: str) -> None:
    pytest.importorskip("ml_dtypes")
    numbers = numbers_of(target)
    low, high = numbers[0], numbers[-1]
    some = numbers[:: max(1, len(numbers) // 200)]
    middles = [(numbers[bisect_right(numbers, a) : 1 + bisect_right(numbers, a)] or [a])[0] / 2 + a / 2 for a in some]
    exact = [*some, *middles, *(m + Fraction(1, 2**40) * abs(m) for m in middles)]
    values = [float(number) for number in exact if low <= Fraction(float(number)) <= high]
    encoded = codec("float64", target, rounding=rounding).encode(np.array(values))
    for value, got in zip(values, map(Fraction, map(float, encoded)), strict=True):
        below = numbers[bisect_right(numbers, Fraction(value)) - 1]
        above = numbers[bisect_left(numbers, Fraction(value))]
        if rounding == "towards-positive":
            assert got == above
        elif rounding == "towards-negative":
            assert got == below
        elif rounding == "towards-zero":
            assert got == (below if value > 0 else above)
        else:
            best = min(abs(Fraction(value) - below), abs(Fraction(value) - above))
            assert abs(Fraction(value) - got) == best
            if rounding == "nearest-away" and below != above and 2 * Fraction(value) == below + above:
                assert got == (above if value > 0 else below)


@pytest.mark.parametrize("target", SMALL_FLOATS)
def test_R130_ties_go_to_the_even_small_float(target: str) -> None:
    pytest.importorskip("ml_dtypes")
    numbers = [number for number in numbers_of(target) if number > 0][:200]
    for lower, upper in pairwise(numbers):
        (encoded,) = codec("float64", target).encode(np.array([float((lower + upper) / 2)]))
        bits = int(encoded.view(f"u{encoded.dtype.itemsize}"))
        if target == "float8_e8m0fnu":
            assert Fraction(float(encoded)) == upper  # its numbers are powers of two; no stored digit could be even
        else:
            assert bits % 2 == 0


@pytest.mark.parametrize("target", [*SMALL_INTEGERS, *SMALL_FLOATS])
def test_R130_numbers_out_of_the_range_of_small_types(target: str) -> None:
    pytest.importorskip("ml_dtypes")
    numbers = numbers_of(target)
    low, high = float(numbers[0]), float(numbers[-1])
    beyond = [4 * high, -4 * high if low < 0 else -high]
    for value in beyond:
        with pytest.raises(CodecError, match="out of the range"):
            encoded([value], "float64", target)
    infinite = target in ("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e5m2")
    assert encoded(beyond, "float64", target, out_of_range="clamp") == (
        [math.inf, -math.inf] if infinite else [high, low]
    )
    for value in (math.inf, -math.inf, math.nan):
        if infinite or (math.isnan(value) and not target.startswith(("float4", "float6", "int", "uint"))):
            (result,) = encoded([value], "float64", target)
            assert result == value or (math.isnan(result) and math.isnan(value))
        else:
            for rule in ({}, {"out_of_range": "clamp"}):
                with pytest.raises(CodecError, match="cannot represent"):
                    encoded([value], "float64", target, **rule)


@pytest.mark.parametrize("target", SMALL_INTEGERS)
def test_R130_small_integers_wrap_around(target: str) -> None:
    pytest.importorskip("ml_dtypes")
    numbers = numbers_of(target)
    low, count = int(numbers[0]), len(numbers)
    values = np.arange(-40, 40)
    expected = [(value - low) % count + low for value in values.tolist()]
    for source in ("int64", "int8", "float32"):
        encoded = codec(source, target, out_of_range="wrap").encode(values.astype(source))
        assert encoded.astype(int).tolist() == expected
        assert encoded.tobytes() == np.array(expected).astype(encoded.dtype).tobytes()  # the unused bits are zero


@pytest.mark.parametrize("source", ALL)
def test_R132_every_pair_of_types(source: str) -> None:
    pytest.importorskip("ml_dtypes")
    array = np.array([1, 1, 1]).astype(dtype_of(source))
    for target in ALL:
        bound = codec(source, target, out_of_range="clamp")
        assert bound.encoded.dtype == dtype_of(target)
        assert bound.decode(bound.encode(array)).tobytes() == array.tobytes()
