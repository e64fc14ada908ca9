"""Fill values of booleans, integers, floats, complex numbers and raw bits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr._json import Problems
from omnizarr.dtypes import Scalar, data_type_of
from omnizarr.dtypes.raw import Raw
from omnizarr.errors import ArgumentError


def read(name: str, value: Any) -> tuple[Scalar | None, Problems]:
    problems = Problems()
    return data_type_of(name).parse_fill(value, "$.fill_value", problems), problems


def accepted(name: str, value: Any, *, warning: bool = False) -> Scalar:
    found, problems = read(name, value)
    assert found is not None, problems.found
    assert bool(problems.warnings) is warning
    return found


def rejected(name: str, value: Any) -> str:
    found, problems = read(name, value)
    assert found is None
    assert problems.found
    return problems.found[0].message


def bits(fill: Scalar) -> int:
    return int(fill.view(f"u{fill.dtype.itemsize}"))


# -- bool


def test_R53_bool_fill_is_a_json_boolean() -> None:
    assert accepted("bool", True)
    assert not accepted("bool", False)
    values: list[Any] = ["true", 2, -1, 0.0, [True], {}]
    for value in values:
        assert rejected("bool", value).startswith("expected true or false")


def test_A40_bool_fill_0_or_1_is_read_with_a_warning() -> None:
    assert accepted("bool", 1, warning=True)
    assert not accepted("bool", 0, warning=True)


# -- integers


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_R54_integer_fill_must_be_in_range(name: str) -> None:
    info = np.iinfo(name)
    assert accepted(name, int(info.max)) == info.max
    assert accepted(name, int(info.min)) == info.min
    for value in (int(info.max) + 1, int(info.min) - 1, 2.0**64, -(2.0**64)):
        assert rejected(name, value).startswith(f"expected an integer from {info.min} to {info.max}")


@pytest.mark.parametrize("value", [0.5, "1", True, False, "NaN", float("nan"), float("inf"), [1], {"x": 1}])
def test_R54_integer_fill_rejects_fractions_strings_and_booleans(value: Any) -> None:
    rejected("int16", value)


def test_A40_integral_float_is_read_as_an_integer_with_a_warning() -> None:
    assert accepted("int8", 1.0, warning=True) == 1
    assert accepted("uint8", 1e2, warning=True) == 100


@pytest.mark.parametrize(
    "value", [float("nan"), np.float32("nan"), np.inf, 0.5, 128, -129, np.int64(300), "5", True, 1j]
)
def test_cast_fill_rejects_integers_out_of_range(value: Any) -> None:
    with pytest.raises(ArgumentError, match="expected an integer from -128 to 127") as caught:
        data_type_of("int8").cast_fill(value)
    assert caught.value.argument == "fill_value"  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [7, 7.0, np.int64(7), np.uint8(7), np.float16(7), np.array(7, ">i4")])
def test_cast_fill_accepts_all_integer_types(value: Any) -> None:
    assert data_type_of("int8").cast_fill(value) == 7


# -- floats

QUIET = {"float16": 0x7E00, "float32": 0x7FC00000, "float64": 0x7FF8000000000000}


@pytest.mark.parametrize(("name", "expected"), QUIET.items())
def test_R56_nan_has_the_canonical_bits(name: str, expected: int) -> None:
    assert bits(accepted(name, "NaN")) == expected
    assert bits(data_type_of(name).cast_fill(float("nan"))) == expected
    assert data_type_of(name).dump_fill(np.array(expected, f"u{np.dtype(name).itemsize}").view(name)) == "NaN"


def test_R57_other_nans_are_written_in_hexadecimal_at_full_width() -> None:
    for name, text in [("float16", "0xfe00"), ("float32", "0x7fc00001"), ("float64", "0xfff8000000000000")]:
        fill = accepted(name, text)
        assert bits(fill) == int(text, 16)
        assert data_type_of(name).dump_fill(fill) == text


def test_R57_hexadecimal_can_express_any_value() -> None:
    assert accepted("float32", "0x3F800000") == 1
    assert data_type_of("float32").cast_fill("0x3f800000") == 1


@pytest.mark.parametrize(
    "text", ["0x7e0", "0x7e000", "0x", "7e00", "0b0111111000000000", "0X7e00", "0x7g00", "0x+e00", " 0x7e00", "0x7_00"]
)
def test_R57_hexadecimal_of_another_width_or_form_is_rejected(text: str) -> None:
    assert "4 hexadecimal digits" in rejected("float16", text)


def test_R55_infinities() -> None:
    for name in QUIET:
        assert accepted(name, "Infinity") == np.inf
        assert accepted(name, "-Infinity") == -np.inf
        assert data_type_of(name).dump_fill(np.array(np.inf, name)) == "Infinity"
        assert data_type_of(name).dump_fill(np.array(-np.inf, name)) == "-Infinity"


def test_A9_plus_infinity_is_read_with_a_warning() -> None:
    assert accepted("float32", "+Infinity", warning=True) == np.inf


@pytest.mark.parametrize("value", ["inf", "nan", "1.5", "", "-NaN", True, [1.0], {}, "infinity"])
def test_R60_other_values_are_rejected(value: Any) -> None:
    rejected("float64", value)


def test_A60_bare_tokens_of_python_are_read_with_a_warning() -> None:
    assert bits(accepted("float16", float("nan"), warning=True)) == QUIET["float16"]
    assert accepted("float16", float("-inf"), warning=True) == -np.inf


def test_negative_zero_keeps_its_sign() -> None:
    for name in QUIET:
        fill = accepted(name, -0.0)
        assert np.signbit(fill)
        assert str(data_type_of(name).dump_fill(fill)) == "-0.0"


def test_R55_an_integer_is_a_number_too() -> None:
    assert accepted("float32", 3) == 3


def test_R55_ties_go_to_even() -> None:
    assert accepted("float16", 2049) == 2048
    assert accepted("float16", 2051) == 2052
    assert accepted("float32", 2**24 + 1) == 2**24
    assert accepted("float32", 2**24 + 3) == 2**24 + 4
    assert accepted("float64", 2**53 + 1) == 2**53


def test_R55_integers_are_rounded_once() -> None:
    """As a double this is 2**60 + 2**36, a tie between two float32 numbers, which would be rounded down."""
    value = 2**60 + 2**36 + 1
    assert accepted("float32", value) == 2**60 + 2**37
    assert accepted("float32", -value) == -(2**60 + 2**37)


@given(st.integers(-(2**130), 2**130) | st.integers(-(2**17), 2**17), st.sampled_from(sorted(QUIET)))
def test_R55_rounding_is_to_the_nearest(value: int, name: str) -> None:
    found, problems = read(name, value)
    info = np.finfo(name)
    if found is None:
        half_step = Fraction(2) ** (int(info.maxexp) - info.nmant - 2)
        assert abs(value) >= int(info.max) + half_step
        return
    assert not problems
    error = abs(Fraction(float(found)) - value)
    with np.errstate(over="ignore"):
        neighbours = [np.nextafter(found, np.array(end, name)) for end in (-np.inf, np.inf)]
    for neighbour in neighbours:
        if np.isfinite(neighbour):
            other = abs(Fraction(float(neighbour)) - value)
            assert error < other or (error == other and not bits(found) & 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("float16", 65520), ("float16", 65520.0), ("float16", -1e9), ("float32", 2**128), ("float32", 3.5e38)],
        *[("float32", 2**128 - 2**103), ("float64", 2**1024), ("float64", -(10**400))],
    ],
)
def test_R55_a_finite_number_beyond_the_range_is_rejected(name: str, value: Any) -> None:
    assert f"range of `{name}`" in rejected(name, value)
    with pytest.raises(ArgumentError):
        data_type_of(name).cast_fill(value)


def test_R55_the_largest_numbers_are_in_range() -> None:
    assert accepted("float16", 65519) == 65504
    assert accepted("float32", 2**128 - 2**103 - 1) == np.finfo("f4").max
    assert accepted("float64", int(np.finfo("f8").max)) == np.finfo("f8").max
    assert accepted("float32", 1e-60) == 0


def test_cast_fill_rounds_floats() -> None:
    assert data_type_of("float32").cast_fill(0.1) == np.float32(0.1)
    assert data_type_of("float64").cast_fill(np.longdouble(1.5)) == 1.5
    for value in (1j, b"\0", (1.0,), np.datetime64("NaT", "s"), "x"):
        with pytest.raises(ArgumentError):
            data_type_of("float32").cast_fill(value)


# -- complex numbers


def test_R58_complex_fill_is_a_pair_of_float_fills() -> None:
    fill = accepted("complex64", ["NaN", "-Infinity"])
    assert np.isnan(fill.real)
    assert fill.imag == -np.inf
    fill = accepted("complex128", [-0.0, "0x7ff8000000000001"])
    assert data_type_of("complex128").dump_fill(fill) == [-0.0, "0x7ff8000000000001"]
    assert accepted("complex64", [1, "+Infinity"], warning=True).imag == np.inf


@pytest.mark.parametrize("value", [0, 0.0, "NaN", [], [1.0], [1.0, 2.0, 3.0], {"re": 1}])
def test_R58_other_complex_fills_are_rejected(value: Any) -> None:
    rejected("complex64", value)


def test_R58_both_parts_are_checked() -> None:
    _, problems = read("complex64", ["x", 1e300])
    assert [problem.path for problem in problems.found] == ["$.fill_value[0]", "$.fill_value[1]"]


@pytest.mark.parametrize(
    "value", [2, 2.0, 2 + 0j, np.float32(2), np.complex128(2), np.array(2, "i1"), (2, 0), [2.0, 0]]
)
def test_cast_fill_accepts_all_complex_types(value: Any) -> None:
    fill = data_type_of("complex64").cast_fill(value)
    assert fill.dtype == "c8"
    assert fill == 2


def test_cast_fill_rejects_complex_numbers_out_of_range() -> None:
    for value in (1e300, complex(0, 1e300), True, "1", b"ab"):
        with pytest.raises(ArgumentError):
            data_type_of("complex64").cast_fill(value)


# -- raw bits


def test_R59_raw_fill_is_a_list_of_bytes() -> None:
    fill = accepted("r24", [0, 255, 7])
    assert fill.tobytes() == b"\0\xff\x07"
    assert data_type_of("r24").dump_fill(fill) == [0, 255, 7]


def test_A12_raw_fill_in_base64_is_read_with_a_warning() -> None:
    assert accepted("r24", "AP8H", warning=True).tobytes() == b"\0\xff\x07"


@pytest.mark.parametrize(
    "value", [[], [0, 0], [0] * 24, [0, 0, 256], [0, 0, -1], [0, 0, 1.0], [0, 0, True], "AP8", "AP8=", "A P8H", "é", 0]
)
def test_A12_raw_fill_of_another_length_or_form_is_rejected(value: Any) -> None:
    rejected("r24", value)


@pytest.mark.parametrize("value", [b"abc", bytearray(b"abc"), memoryview(b"abc"), [97, 98, 99], np.void(b"abc")])
def test_cast_fill_accepts_bytes_for_raw_bits(value: Any) -> None:
    assert Raw(3).cast_fill(value).tobytes() == b"abc"
    for size in (2, 4):
        with pytest.raises(ArgumentError):
            Raw(size).cast_fill(value)


def test_trailing_zeros_of_raw_bits_are_kept() -> None:
    assert Raw(3).cast_fill(b"a\0\0").tobytes() == b"a\0\0"


def test_raw_elements_have_a_bounded_size() -> None:
    for size in (0, -1, 2**31):
        with pytest.raises(ArgumentError, match="from 1 to"):
            Raw(size)
