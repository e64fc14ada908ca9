"""Fill values and bits of small integers and floats, `bfloat16`, and complex pairs of such floats."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr._json import Problems
from omnizarr.dtypes import DataType, Scalar, data_type_of, parse_data_type
from omnizarr.dtypes.numbers.float_layout import FLOAT_LAYOUTS
from omnizarr.errors import ArgumentError

# Name, bits of the sign, the exponent and the mantissa, bias, bits of "NaN", bits of "Infinity": the table of R143.
TABLE: list[tuple[str, int, int, int, int, int | None, int | None]] = [
    ("bfloat16", 1, 8, 7, 127, 0x7FC0, 0x7F80),
    ("float4_e2m1fn", 1, 2, 1, 1, None, None),
    ("float6_e2m3fn", 1, 2, 3, 1, None, None),
    ("float6_e3m2fn", 1, 3, 2, 3, None, None),
    ("float8_e3m4", 1, 3, 4, 3, 0x78, 0x70),
    ("float8_e4m3", 1, 4, 3, 7, 0x7C, 0x78),
    ("float8_e4m3b11fnuz", 1, 4, 3, 11, 0x80, None),
    ("float8_e4m3fnuz", 1, 4, 3, 8, 0x80, None),
    ("float8_e5m2", 1, 5, 2, 15, 0x7E, 0x7C),
    ("float8_e5m2fnuz", 1, 5, 2, 16, 0x80, None),
    ("float8_e8m0fnu", 0, 8, 0, 127, 0xFF, None),
    ("float8_e4m3fn", 1, 4, 3, 7, 0x7F, None),
]
FLOATS = {row[0]: row for row in TABLE}
INTEGERS = {"int2": (-2, 1), "uint2": (0, 3), "int4": (-8, 7), "uint4": (0, 15)}
REGISTERED = [name for name in FLOATS if name != "float8_e4m3fn"]


def of_name(name: str) -> DataType:
    problems = Problems()
    found = parse_data_type(name, "$.data_type", problems)
    assert found is not None, problems.found
    assert not problems.warnings
    return found


def accepted(name: str, value: Any, *, warning: bool = False) -> Scalar:
    problems = Problems()
    found = of_name(name).parse_fill(value, "$.fill_value", problems)
    assert found is not None, problems.found
    assert bool(problems.warnings) is warning
    return found


def rejected(name: str, value: Any) -> str:
    problems = Problems()
    assert of_name(name).parse_fill(value, "$.fill_value", problems) is None
    return problems.found[0].message


def bits(fill: Scalar) -> int:
    return int(fill.view(f"u{fill.dtype.itemsize}"))


def from_bits(name: str, number: int) -> Scalar:
    dtype = of_name(name).dtype
    return np.array(number, f"u{dtype.itemsize}").view(dtype)


def value_of(name: str, number: int) -> float:
    """The value of bits, computed from the table."""
    _, sign, exponent, mantissa, bias, nan, infinity = FLOATS[name]
    negative = sign and number >> (exponent + mantissa)
    magnitude = number & ((1 << (exponent + mantissa)) - 1)
    if number == nan or (infinity is not None and magnitude > infinity) or (name.endswith("fn") and magnitude == nan):
        return math.nan
    raised, rest = magnitude >> mantissa, magnitude & ((1 << mantissa) - 1)
    if magnitude == infinity:
        found = math.inf
    elif raised or not mantissa:
        found = (1 + rest / 2**mantissa) * 2.0 ** (raised - bias)
    else:
        found = rest / 2**mantissa * 2.0 ** (1 - bias)
    return -found if negative else found


def width(name: str) -> int:
    return sum(FLOATS[name][1:4])


# -- names


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_R141_R142_R143_names(name: str) -> None:
    found = of_name(name)
    assert found.name == found.to_json() == name
    assert found.dtype == np.dtype(getattr(ml_dtypes, name))
    assert found.dtype.itemsize == (2 if name == "bfloat16" else 1)
    assert parse_data_type({"name": name}, "$", Problems()) == found


@pytest.mark.parametrize("name", ["float16", *REGISTERED])
def test_R144_A23_complex_types_are_named_after_their_parts(name: str) -> None:
    """The schemas of the registry name other types than the documents of the registry."""
    found = of_name(f"complex_{name}")
    part = data_type_of(name).dtype
    assert found.name == found.to_json() == f"complex_{name}"
    assert found.dtype == np.dtype([("real", part), ("imag", part)])


def test_R151_they_have_no_configuration() -> None:
    for name in ("int4", "bfloat16", "complex_bfloat16"):
        problems = Problems()
        assert parse_data_type({"name": name, "configuration": {"bits": 4}}, "$", problems) is None
        assert problems.found[0].path == "$.configuration.bits"


@pytest.mark.parametrize("name", [*INTEGERS, *REGISTERED])
def test_a_type_of_ml_dtypes_is_a_type(name: str) -> None:
    kind = getattr(ml_dtypes, name)
    for given_type in (kind, np.dtype(kind), np.dtype(kind).newbyteorder(), name):
        assert data_type_of(given_type) == of_name(name)


def test_unregistered_types_are_rejected() -> None:
    """A24: arrays of TensorStore's type can be read but not created."""
    for given_type in (
        "float8_e4m3fn",
        ml_dtypes.float8_e4m3fn,
        {"name": "float8_e4m3fn"},
        [("a", ml_dtypes.float8_e4m3fn)],
    ):
        with pytest.raises(ArgumentError, match="not registered") as caught:
            data_type_of(given_type)
        assert caught.value.argument == "dtype"  # type: ignore[attr-defined]


@pytest.mark.skipif(not hasattr(ml_dtypes, "complex32"), reason="ml_dtypes has complex types since 0.6")
def test_complex_types_of_ml_dtypes_are_accepted() -> None:
    assert data_type_of(ml_dtypes.complex32).name == "complex_float16"
    found = data_type_of(ml_dtypes.bcomplex32)
    assert found.name == "complex_bfloat16"
    assert found.elements(np.array([1 - 2.5j], ml_dtypes.bcomplex32)).tobytes().hex() == "803f20c0"
    assert found.cast_fill(ml_dtypes.bcomplex32(1 - 2.5j)).tobytes().hex() == "803f20c0"
    with pytest.raises(ArgumentError, match="cannot be stored"):
        data_type_of(ml_dtypes.int1)


# -- integers


@pytest.mark.parametrize("name", INTEGERS)
def test_R141_fill_values_are_the_integers_of_the_type(name: str) -> None:
    low, high = INTEGERS[name]
    for number in range(low, high + 1):
        fill = accepted(name, number)
        assert int(fill) == number
        assert of_name(name).dump_fill(fill) == number
    for value in (low - 1, high + 1, 255, 0.5, "1", True, None, "0x01", [1]):
        assert rejected(name, value).startswith(f"expected an integer from {low} to {high}")


@pytest.mark.parametrize("name", INTEGERS)
def test_R141_cast_fill_accepts_all_integer_types(name: str) -> None:
    kind = of_name(name)
    for value in (1, 1.0, np.int64(1), np.array(1, ">i4"), getattr(ml_dtypes, name)(1), ml_dtypes.bfloat16(1)):
        assert bits(kind.cast_fill(value)) == 1
    assert bits(kind.cast_fill(from_bits(name, 0b11110001))) == 1  # higher bits are ignored
    with pytest.raises(ArgumentError, match="expected an integer from"):
        kind.cast_fill(16)


# -- floats


@pytest.mark.parametrize("name", FLOATS)
def test_R142_R143_every_bit_pattern_has_the_value_of_the_table(name: str) -> None:
    """In ml_dtypes, in written fill values and in parsed ones."""
    kind = of_name(name)
    for number in range(2 ** width(name)) if width(name) <= 8 else range(0, 2**16, 7):
        expected, fill = value_of(name, number), from_bits(name, number)
        found = float(fill)
        assert (found == expected and math.copysign(1, found) == math.copysign(1, expected)) or (
            math.isnan(found) and math.isnan(expected)
        )
        assert bits(accepted(name, kind.dump_fill(fill))) == number
        if math.isfinite(expected):
            assert kind.dump_fill(fill) == expected
        elif number == FLOATS[name][5]:
            assert kind.dump_fill(fill) == "NaN"
        digits = 2 * fill.dtype.itemsize
        assert (
            bits(accepted(name, f"0x{number:0{digits}x}")) == bits(accepted(name, f"0x{number:0{digits}X}")) == number
        )


@pytest.mark.parametrize("name", FLOATS)
def test_R143_words_for_nan_and_infinities(name: str) -> None:
    *_, nan, infinity = FLOATS[name]
    if nan is None:
        assert '"NaN"' not in rejected(name, "NaN").partition(", found")[0]
    else:
        assert bits(accepted(name, "NaN")) == nan
        assert bits(of_name(name).cast_fill(math.nan)) == nan
    if infinity is None:
        for word in ("Infinity", "-Infinity", "+Infinity", math.inf):
            assert "Infinity" not in rejected(name, word).partition(", found")[0]
    else:
        assert bits(accepted(name, "Infinity")) == infinity
        assert bits(accepted(name, "-Infinity")) == infinity | (1 << (width(name) - 1))
        assert bits(accepted(name, "+Infinity", warning=True)) == infinity  # A9


def test_R57_other_nans_are_written_in_hexadecimal() -> None:
    for name, number, text in (
        ("bfloat16", 0x7FC1, "0x7fc1"),
        ("bfloat16", 0xFFC0, "0xffc0"),
        ("float8_e5m2", 0xFD, "0xfd"),
        ("float8_e3m4", 0x7F, "0x7f"),
        ("float8_e4m3fn", 0xFF, "0xff"),
    ):
        assert of_name(name).dump_fill(from_bits(name, number)) == text


def test_A48_fewer_digits_suffice_for_fewer_bits() -> None:
    assert bits(accepted("float4_e2m1fn", "0x7")) == bits(accepted("float4_e2m1fn", "0x07")) == 7
    assert bits(accepted("float6_e3m2fn", "0x3F")) == 63
    assert bits(accepted("float4_e2m1fn", "0xf7", warning=True)) == 7  # higher bits are ignored, as in chunks
    for name, text in (
        ("float8_e5m2", "0x7"),
        ("bfloat16", "0x7f"),
        ("float4_e2m1fn", "0x007"),
        ("float4_e2m1fn", "0x"),
    ):
        assert "hexadecimal digits" in rejected(name, text)


def nearest(name: str, value: Fraction) -> set[int]:
    """The bits of the numbers of a type that are nearest to a value, found by trying all of them."""
    distances: dict[Fraction, set[int]] = {}
    for number in range(2 ** width(name)):
        found = value_of(name, number)
        if math.isfinite(found):
            distances.setdefault(abs(Fraction(found) - value), set()).add(number)
    return distances[min(distances)]


@pytest.mark.parametrize("name", [name for name in FLOATS if name not in ("bfloat16", "float8_e8m0fnu")])
@given(st.floats(0, 1), st.integers(0, 30))
def test_R55_numbers_are_rounded_to_the_nearest(name: str, share: float, exponent: int) -> None:
    largest = max(value for number in range(2 ** width(name)) if math.isfinite(value := value_of(name, number)))
    value = share * largest * 2.0**-exponent
    for signed in (value, -value):
        assert bits(accepted(name, signed)) in nearest(name, Fraction(signed))


@pytest.mark.parametrize("name", [name for name in FLOATS if name not in ("bfloat16", "float8_e8m0fnu")])
def test_R55_ties_go_to_the_even_one_and_rounding_happens_once(name: str) -> None:
    finite = [number for number in range(2 ** (width(name) - 1)) if math.isfinite(value_of(name, number))]
    for lower, upper in itertools.pairwise(finite):
        middle = (value_of(name, lower) + value_of(name, upper)) / 2
        assert bits(accepted(name, middle)) == (lower if lower % 2 == 0 else upper)
        assert bits(accepted(name, math.nextafter(middle, 0))) == lower
        assert bits(accepted(name, math.nextafter(middle, math.inf))) == upper


def test_R55_bfloat16_is_rounded_once() -> None:
    """ml_dtypes rounds to 32 bits first, where a value just above a tie becomes a tie."""
    assert bits(accepted("bfloat16", 1 + 2.0**-8)) == 0x3F80
    assert bits(accepted("bfloat16", 1 + 2.0**-8 + 2.0**-40)) == 0x3F81
    assert bits(accepted("bfloat16", 2**60 + 2**52)) == bits(accepted("bfloat16", 2.0**60))
    assert bits(accepted("bfloat16", 2**60 + 2**52 + 1)) == bits(accepted("bfloat16", 2.0**60)) + 1


@given(st.integers(0, 0x7F7F))
def test_R142_bfloat16_is_the_upper_half_of_a_float32(number: int) -> None:
    value = float(np.array(number << 16, "u4").view("f4"))
    assert bits(accepted("bfloat16", value)) == number
    assert bits(accepted("bfloat16", -value)) == number | 0x8000


@pytest.mark.parametrize(
    ("name", "largest", "beyond"),
    [
        *[
            ("bfloat16", 3.3895313892515355e38, 2.0**127 * (2 - 2.0**-8)),
            ("float4_e2m1fn", 6, 7),
            ("float6_e2m3fn", 7.5, 7.75),
        ],
        *[("float6_e3m2fn", 28, 30), ("float8_e3m4", 15.5, 15.75), ("float8_e4m3", 240, 248)],
        *[("float8_e4m3b11fnuz", 30, 31), ("float8_e4m3fnuz", 240, 248), ("float8_e5m2", 57344, 61440)],
        *[
            ("float8_e5m2fnuz", 57344, 61440),
            ("float8_e8m0fnu", 2.0**127, 2.0**127 * 1.5),
            ("float8_e4m3fn", 448, math.nextafter(464, 465)),
        ],
    ],
)
def test_R55_numbers_out_of_range_are_rejected(name: str, largest: float, beyond: float) -> None:
    assert float(accepted(name, largest)) == largest
    assert float(accepted(name, math.nextafter(beyond, 0))) == largest
    for value in (beyond, 10**400, 1e308):
        assert rejected(name, value).startswith(f"expected a number in the range of `{name}`")
    if FLOATS[name][1]:
        assert float(accepted(name, -largest)) == -largest
        rejected(name, -beyond)


@pytest.mark.parametrize("name", ["float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_R143_without_a_negative_zero_there_is_one_zero(name: str) -> None:
    assert bits(accepted(name, -0.0)) == bits(accepted(name, -1e-9)) == 0


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("value", ["inf", "nan", "1.5", "", True, None, [1.0], {}])
def test_R60_other_values_are_rejected(name: str, value: Any) -> None:
    rejected(name, value)


def test_R143_a_type_without_a_zero() -> None:
    """The default has zero bits. A document with zero means the default; `cast_fill` rejects zero."""
    kind = of_name("float8_e8m0fnu")
    assert bits(kind.default_fill()) == 0
    assert kind.dump_fill(kind.default_fill()) == 2.0**-127
    for zero in (0, 0.0, -0.0):
        assert bits(accepted("float8_e8m0fnu", zero, warning=True)) == 0
        with pytest.raises(ArgumentError, match="the type has no zero"):
            kind.cast_fill(zero)
    with pytest.raises(ArgumentError, match="the type has no zero"):
        of_name("complex_float8_e8m0fnu").cast_fill(1.0)
    assert bits(accepted("float8_e8m0fnu", 1e-300)) == 0
    rejected("float8_e8m0fnu", -1.0)
    for value, number in ((1, 127), (1.5, 128), (3, 129), (6, 130), (1.4, 127), (2.0**-127 * 1.5, 1)):
        assert bits(accepted("float8_e8m0fnu", value)) == number


@pytest.mark.parametrize("name", FLOATS)
def test_cast_fill_accepts_all_float_types(name: str) -> None:
    kind = of_name(name)
    one = bits(accepted(name, 1.0))
    for value in (1, 1.0, np.float32(1), np.array(1, ">f2"), ml_dtypes.bfloat16(1), ml_dtypes.int4(1)):
        assert bits(kind.cast_fill(value)) == one


def test_every_float_has_a_layout() -> None:
    assert set(FLOAT_LAYOUTS) == set(FLOATS)


# -- complex numbers


@pytest.mark.parametrize("name", REGISTERED)
def test_R144_fill_values_are_pairs(name: str) -> None:
    pair = f"complex_{name}"
    one, two = bits(accepted(name, 1.0)), bits(accepted(name, 2.0))
    part = of_name(name).dtype
    fill = accepted(pair, [1.0, 2.0])
    assert fill.reshape(1).view(part).view(f"u{part.itemsize}").tolist() == [one, two]
    assert of_name(pair).dump_fill(fill) == [1.0, 2.0]
    for value in (
        1 + 2j,
        np.complex64(1 + 2j),
        [1, 2.0],
        (1.0, 2),
        fill,
        fill[()],
        [f"0x{one:0{2 * part.itemsize}x}", 2],
    ):
        assert of_name(pair).cast_fill(value).tobytes() == fill.tobytes()
    values: list[Any] = [1.0, [1.0], [1.0, 2.0, 3.0], "NaN", None, {"real": 1.0, "imag": 2.0}, [[1.0], 2.0], [1.0, "x"]]
    for value in values:
        rejected(pair, value)
    if FLOATS[name][5] is None:
        rejected(pair, ["NaN", 1.0])
    else:
        assert of_name(pair).dump_fill(accepted(pair, ["NaN", 1.0])) == ["NaN", 1.0]


def test_R144_invalid_complex_fill_values_are_rejected() -> None:
    values: list[Any] = ["x", None, object(), [1], b"ab", {}]
    for value in values:
        with pytest.raises(ArgumentError):
            of_name("complex_bfloat16").cast_fill(value)
    with pytest.raises(ArgumentError, match="range of `float8_e5m2`"):
        of_name("complex_float8_e5m2").cast_fill(1e9)


# -- assignment


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_out_of_range_are_rejected_as_in_numpy(name: str) -> None:
    kind, (low, high) = of_name(name), INTEGERS[name]
    assert kind.elements([low, high]).astype("i1").tolist() == [low, high]
    values: list[Any] = [[0, high + 1], low - 1, 10**30, np.array([0, 99], object), [0.5, 1e9], math.nan]
    for value in values:
        with pytest.raises(OverflowError):
            kind.elements(value)
    with pytest.raises(TypeError):
        kind.elements(["x"])
    # An array of other integers is cast, as NumPy casts it to its own types.
    assert kind.elements(np.array([high + 1])).astype("i1").tolist() == [low]


def test_R143_nan_is_rejected_if_the_type_has_none() -> None:
    for name in ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"):
        for value in (math.nan, [1.0, math.nan], np.array([math.nan], "f4"), np.array([math.nan], ml_dtypes.bfloat16)):
            with pytest.raises(ArgumentError, match=f"`{name}` has no NaN"):
                of_name(name).elements(value)
        with pytest.raises(ArgumentError, match="has no NaN"):
            of_name(f"complex_{name}").elements([complex(0, math.nan)])


@pytest.mark.parametrize("name", [*INTEGERS, "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"])
def test_R141_R143_unused_bits_are_cleared(name: str) -> None:
    kind = of_name(name)
    every = np.arange(256, dtype="u1")
    bits_of = 2 if name.endswith("2") else 4 if "4" in name[:6] else 6
    given_array = every.view(kind.dtype)
    assert kind.elements(given_array).view("u1").tolist() == (every % 2**bits_of).tolist()
    assert given_array.tobytes() == every.tobytes()  # the caller's array is unchanged
    clean = every[: 2**bits_of].view(kind.dtype)
    assert np.shares_memory(kind.elements(clean), clean)


def test_R144_elements_are_numbers_or_records() -> None:
    kind = of_name("complex_bfloat16")
    expected = "803f20c0 00400000"
    numbers = [1 - 2.5j, 2 + 0j]
    for value in (
        numbers,
        np.array(numbers),
        np.array(numbers, "c8"),
        np.array(numbers, object),
        kind.elements(numbers),
    ):
        assert kind.elements(value).tobytes() == bytes.fromhex(expected)
    assert kind.elements([1, 2]).tobytes() == bytes.fromhex("803f0000 00400000")
    assert kind.elements(np.array([1], ml_dtypes.float8_e5m2)).tobytes() == bytes.fromhex("803f0000")
    assert kind.elements(2).shape == ()
    other = np.array([(1, -2.5)], [("real", "f4"), ("imag", "f8")])
    assert kind.elements(other).tobytes() == bytes.fromhex("803f20c0")
    with pytest.raises(ValueError, match="complex"):
        kind.elements("x")
