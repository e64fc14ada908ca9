"""The `cast_value` codec."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.codecs.binding import bind, bind_problems, parse_problems, parse_valid, paths_of, spec_of

import omnizarr
from omnizarr.codecs import CastValue, Sharding
from omnizarr.dtypes import data_type_of
from omnizarr.errors import ArgumentError, ChunkError, CodecError, MetadataError

ROUNDINGS = ("nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
SMALL_INTEGERS = ("int2", "int4", "uint2", "uint4")
SMALL_FLOATS = (
    *("bfloat16", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3"),
    *("float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
ALL = (*INTEGERS, *FLOATS, *SMALL_INTEGERS, *SMALL_FLOATS)


def dtype_of(name: str) -> np.dtype[Any]:
    return data_type_of(name).dtype


def one(name: str) -> npt.NDArray[Any]:
    """The number 1, which all types can represent."""
    return np.array(1).astype(dtype_of(name))


def codec(source: str, target: str, scalar_map: Any = None, **options: Any) -> Any:
    if scalar_map is None:
        return plain(source, target, **options)
    return bind(CastValue(target, scalar_map=scalar_map, **options), spec_of(one(source).reshape(1), 1))


@lru_cache(None)
def plain(source: str, target: str, **options: Any) -> Any:
    return bind(CastValue(target, **options), spec_of(one(source).reshape(1), 1))


def encoded(values: Any, source: str, target: str, **options: Any) -> list[Any]:
    encoded = codec(source, target, **options).encode(np.array(values).astype(dtype_of(source)))
    assert encoded.dtype == dtype_of(target)
    return encoded.tolist() if target in (*INTEGERS, *FLOATS) else [float(value) for value in encoded]


# -- an oracle that lists all numbers of a type, or computes with fractions


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


# -- the examples of the registry


@pytest.mark.smoke
def test_R128_examples_of_the_registry() -> None:
    assert encoded([127.0], "float64", "int8") == [127]
    assert encoded([128.0], "float64", "int8", out_of_range="clamp") == [127]
    assert encoded([128.0], "float64", "int8", out_of_range="wrap") == [-128]
    wrapped = encoded([32768, 32769, -32769], "int32", "int16", out_of_range="wrap")
    assert wrapped == [-32768, -32767, 32767]


def test_R131_out_of_range_is_an_error_without_a_rule() -> None:
    with pytest.raises(CodecError, match=r"codec `cast_value`: 128\.0 is out of the range of int8"):
        encoded([1, 128.0], "float64", "int8")
    with pytest.raises(CodecError, match="32768 is out of the range of int16"):
        encoded([32768], "int32", "int16")


def test_A21_numpy_casts_as_the_registry_writes_them() -> None:
    codec = parse_valid(
        "cast_value",
        data_type="uint8",
        rounding="towards-zero",
        out_of_range="wrap",
        scalar_map={"encode": [["NaN", 0], ["+Infinity", 0], ["-Infinity", 0]]},
    )
    array = np.array([1.9, -1.9, 300.5, np.nan, np.inf, -np.inf, -0.0])
    assert bind(codec, array).encode(array).tolist() == [1, 255, 44, 0, 0, 0, 0]


# -- rounding

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


# -- special values


def test_R130_floats_keep_nan_and_infinities() -> None:
    result = encoded([np.nan, np.inf, -np.inf], "float64", "float32")
    assert math.isnan(result[0])
    assert result[1:] == [math.inf, -math.inf]
    assert math.isnan(encoded([np.nan], "float32", "float64")[0])


@pytest.mark.parametrize(("source", "target"), [("float64", "float32"), ("float16", "float64"), ("float32", "float16")])
def test_R130_zeros_keep_their_sign(source: str, target: str) -> None:
    assert [math.copysign(1, value) for value in encoded([0.0, -0.0], source, target)] == [1, -1]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rule", [{}, {"out_of_range": "clamp"}, {"out_of_range": "wrap"}])
def test_R130_integers_cannot_represent_nan_and_infinities(value: float, rule: dict[str, Any]) -> None:
    with pytest.raises(CodecError, match="int32 cannot represent"):
        encoded([value], "float64", "int32", **rule)


def test_R130_int64_has_more_digits_than_a_double() -> None:
    values = [2**53 + 1, 2**63 - 1, -(2**63), 2**62 + 1]
    assert encoded(values, "int64", "int64") == values
    assert encoded([2**64 - 1], "uint64", "uint64") == [2**64 - 1]
    with pytest.raises(CodecError):  # this double is 2^63, which int64 cannot represent
        encoded([float(2**63)], "float64", "int64")
    assert encoded([float(2**63)], "float64", "int64", out_of_range="clamp") == [2**63 - 1]
    assert encoded([float(2**64)], "float64", "uint64", out_of_range="clamp") == [2**64 - 1]
    assert encoded([float(2**63)], "float64", "int64", out_of_range="wrap") == [-(2**63)]
    assert encoded([-1], "int64", "uint64", out_of_range="wrap") == [2**64 - 1]
    assert encoded([-1], "int64", "uint64", out_of_range="clamp") == [0]
    assert encoded([2**64 - 1], "uint64", "int64", out_of_range="clamp") == [2**63 - 1]


# -- the scalar map


def test_R129_the_scalar_map_precedes_other_rules() -> None:
    rules: dict[str, Any] = {"scalar_map": {"encode": [[300, 7], [1, 2]], "decode": [[2, 1]]}, "out_of_range": "clamp"}
    assert encoded([300, 1, 5, 301], "float64", "uint8", **rules) == [7, 2, 5, 255]


def test_R131_the_first_of_equal_keys_counts() -> None:
    rules = {"scalar_map": {"encode": [["NaN", 1], [5, 2], ["NaN", 3], [5, 4]], "decode": []}}
    assert encoded([np.nan, 5], "float64", "uint8", **rules) == [1, 2]


def test_R131_all_nans_are_equal_and_both_zeros_too() -> None:
    payload = np.array([0x7FF8000000000001, 0xFFF8000000000000], "u8").view("f8")
    rules = {"scalar_map": {"encode": [["NaN", 9], [0, 8]]}}
    encoded = codec("float64", "uint8", **rules).encode(np.concatenate([payload, [0.0, -0.0]]))
    assert encoded.tolist() == [9, 9, 8, 8]


def test_R131_keys_of_64_bits_are_exact() -> None:
    rules = {"scalar_map": {"encode": [[2**53, 1.5], [2**63 - 1, -1.5]]}}
    result = encoded([2**53, 2**53 + 2, 2**63 - 1], "int64", "float64", **rules)
    assert result == [1.5, float(2**53 + 2), -1.5]


def test_R131_the_map_may_contain_python_objects() -> None:
    one = CastValue("uint8", scalar_map={"encode": {math.nan: 0, math.inf: np.uint8(1), -math.inf: 2}})
    other = CastValue("uint8", scalar_map={"encode": [["NaN", 0], ("Infinity", 1), ["-Infinity", 2]]})
    assert one == other
    assert hash(one) == hash(other)
    assert one.configuration()["scalar_map"] == {"encode": [["NaN", 0], ["Infinity", 1], ["-Infinity", 2]]}


def test_R131_many_keys_take_little_time() -> None:
    pairs = [[key, key % 256] for key in range(5000)]
    result = codec("int32", "uint8", scalar_map={"encode": pairs, "decode": [[1, 1]]})
    assert result.encode(np.arange(5000, dtype="i4")).tolist() == [key % 256 for key in range(5000)]


# -- configurations


@pytest.mark.parametrize(
    ("configuration", "places"),
    [
        ({}, [".configuration"]),
        ({"data_type": "uint8", "rounding": "up"}, [".configuration.rounding"]),
        ({"data_type": "uint8", "out_of_range": "ignore"}, [".configuration.out_of_range"]),
        ({"data_type": "uint8", "scale": 1}, [".configuration.scale"]),
        ({"data_type": "no such type"}, [".configuration.data_type"]),
        ({"data_type": "bool"}, [".configuration.data_type"]),
        ({"data_type": "complex64"}, [".configuration.data_type"]),
        ({"data_type": "string"}, [".configuration.data_type"]),
        ({"data_type": "r8"}, [".configuration.data_type"]),
        ({"data_type": "float32", "out_of_range": "wrap"}, [".configuration.out_of_range"]),
        ({"data_type": "uint8", "scalar_map": [1]}, [".configuration.scalar_map"]),
        ({"data_type": "uint8", "scalar_map": {"encode": [[1, 2, 3]]}}, [".configuration.scalar_map"]),
        ({"data_type": "uint8", "scalar_map": {"encode": {"1": 2}}}, [".configuration.scalar_map"]),
        ({"data_type": "uint8", "scalar_map": {"both": []}}, [".configuration.scalar_map.both"]),
    ],
)
def test_R128_invalid_configurations(configuration: dict[str, Any], places: list[str]) -> None:
    assert paths_of(parse_problems("cast_value", configuration)) == places


@pytest.mark.parametrize(
    "arguments",
    [
        {"data_type": "uint8", "rounding": "up"},
        {"data_type": "bool"},
        {"data_type": "float64", "out_of_range": "wrap"},
        {"data_type": "uint8", "scalar_map": {"both": []}},
        {"data_type": "uint8", "scalar_map": 3},
    ],
)
def test_R128_invalid_arguments(arguments: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="cast_value"):
        CastValue(**arguments)


@pytest.mark.parametrize("dtype", ["?", "c8", "M8[s]", "S2", "V3", [("a", "i4")]])
def test_R132_other_types_than_real_numbers_are_rejected(dtype: Any) -> None:
    assert paths_of(bind_problems(CastValue("uint8"), np.zeros(3, dtype))) == [""]


@pytest.mark.parametrize(
    ("scalar_map", "place"),
    [
        ({"encode": [[300, 0], ["zero", 0]]}, "encode[1][0]"),
        ({"encode": [[1, 256]]}, "encode[0][1]"),
        ({"decode": [[0.5, 1]]}, "decode[0][0]"),
        ({"decode": [[0, None]]}, "decode[0][1]"),
        ({"decode": [[0, [1]]]}, "decode[0][1]"),
    ],
)
def test_R131_scalars_have_the_form_of_fill_values(scalar_map: dict[str, Any], place: str) -> None:
    problems = bind_problems(CastValue("uint8", scalar_map=scalar_map), np.zeros(3, "f4"))
    assert paths_of(problems) == [f".configuration.scalar_map.{place}"]


# -- the fill value


def test_R83_the_fill_value_is_cast() -> None:
    bound = bind(CastValue("uint8", rounding="towards-zero"), spec_of(np.zeros(3), 7))
    assert bound.encoded.fill == np.uint8(7)
    assert bound.encoded.fill.dtype == np.uint8


@pytest.mark.parametrize(
    ("fill", "target"), [(0.5, "uint8"), (300, "uint8"), (np.nan, "int8"), (0.1, "float32"), (-1, "uint16")]
)
def test_R132_a_fill_value_that_changes_is_rejected(fill: float, target: str, tmp_path: Path) -> None:
    assert "fill value" in bind_problems(CastValue(target), spec_of(np.zeros(3), fill))[0][1]
    with pytest.raises(MetadataError, match=r"\$\.codecs\[0\]: codec `cast_value`"):
        omnizarr.create_array(tmp_path, shape=(3,), dtype="f8", fill_value=fill, filters=[CastValue(target)])
    assert not list(tmp_path.iterdir())


def test_R132_the_scalar_map_may_restore_the_fill_value() -> None:
    rules = {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}
    bound = bind(CastValue("uint8", scalar_map=rules), spec_of(np.zeros(3), np.nan))
    assert bound.encoded.fill == 0
    one_way = CastValue("uint8", scalar_map={"encode": [["NaN", 0]]})
    assert "does not keep the fill value" in bind_problems(one_way, spec_of(np.zeros(3), np.nan))[0][1]


def test_A37_a_sharding_codec_after_it_uses_the_encoded_fill_value() -> None:
    store = omnizarr.MemoryStore()
    cast = CastValue("uint8", scalar_map={"encode": [["NaN", 255]], "decode": [[255, "NaN"]]})
    array = omnizarr.create_array(
        store,
        shape=(8,),
        chunks=(8,),
        dtype="f4",
        fill_value=np.nan,
        filters=[cast],
        serializer=Sharding((4,), ["bytes"]),
        compressors=None,
    )
    array[:4] = [1, np.nan, 3, 4]
    shard = bytes(store.get("c/0") or b"")
    assert shard[:4] == bytes([1, 255, 3, 4])
    assert shard[20:36] == b"\xff" * 16  # the other half of the shard is empty
    values = omnizarr.open_array(store)[...]
    assert values[[0, 2, 3]].tolist() == [1, 3, 4]
    assert np.isnan(values[[1, 4, 5, 6, 7]]).all()
    array[:4] = np.nan
    assert store.get("c/0") is None  # a chunk of fill values is not stored


def test_errors_name_the_array_and_the_chunk(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path, shape=(4,), chunks=(2,), dtype="f8", filters=[CastValue("uint8")])
    with pytest.raises(ChunkError, match=r"chunk \(1,\) of array `/` .*codec `cast_value`: 256\.0 is out of the range"):
        array[...] = [1, 2, 3, 256]


def test_damaged_data_that_cannot_be_cast_back() -> None:
    bound = codec("int8", "float32")
    for value in (1e9, np.nan, np.inf):
        with pytest.raises(CodecError, match="cast_value"):
            bound.decode(np.array([value], "f4"))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_shapes_and_memory_orders(shape: tuple[int, ...], order: Any) -> None:
    array = np.asarray(np.arange(math.prod(shape), dtype="f8").reshape(shape), order=order)
    bound = bind(CastValue("int16"), array)
    encoded = bound.encode(array)
    assert encoded.shape == bound.encoded.shape == shape
    assert bound.decode(encoded).tolist() == array.tolist()


@given(arrays.arrays("i2", (5, 7)))
def test_lossless_casts_roundtrip(array: npt.NDArray[Any]) -> None:
    for target in ("int32", "int64", "float32", "float64"):
        bound = bind(CastValue(target), array)
        assert bound.decode(bound.encode(array)).tobytes() == array.tobytes()


def test_arrays_larger_than_a_block() -> None:
    array = np.arange(200_000, dtype="f8").reshape(400, 500)
    bound = bind(CastValue("uint16", out_of_range="wrap"), array)
    assert bound.encode(array).tobytes() == (np.arange(200_000) % 65536).astype("u2").tobytes()
