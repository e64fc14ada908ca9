"""Text of fixed and of variable length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omnizarr._json import Problems
from omnizarr.dtypes import DataType, FixedUnicode, String, data_type_of, parse_data_type
from omnizarr.errors import ArgumentError

TEXT = np.dtypes.StringDType()


def read(value: Any) -> tuple[DataType | None, Problems]:
    problems = Problems()
    return parse_data_type(value, "$.data_type", problems), problems


def fixed(size: Any) -> Any:
    return {"name": "fixed_length_utf32", "configuration": {"length_bytes": size}}


# -- fixed length


def test_R147_the_length_counts_bytes() -> None:
    found, problems = read(fixed(48))
    assert found == FixedUnicode(12) == data_type_of("U12") == data_type_of(">U12")
    assert found.dtype == np.dtype("U12")
    assert found.to_json() == fixed(48)
    assert not problems.warnings


@pytest.mark.parametrize("size", [0, -4, 3, 6, 2**27 + 4, 4.0, "4", None, True])
def test_R147_other_lengths_are_rejected(size: Any) -> None:
    found, problems = read(fixed(size))
    assert found is None
    assert problems.found[0].path == "$.data_type.configuration.length_bytes"
    assert read("fixed_length_utf32")[0] is None
    assert read({"name": "fixed_length_utf32", "configuration": {"length_bytes": 4, "x": 1}})[0] is None


@pytest.mark.parametrize("length", [0, -1, 2**25 + 1])
def test_invalid_lengths_are_rejected(length: int) -> None:
    with pytest.raises(ArgumentError):
        FixedUnicode(length)


def test_R147_a_fill_is_text_that_fits() -> None:
    kind, problems = FixedUnicode(3), Problems()
    fill = kind.parse_fill("añ\U0001f600", "$", problems)
    assert fill is not None
    assert kind.dump_fill(fill) == "añ\U0001f600"
    for value in ("abcd", 0, None, ["a"], True):
        assert kind.parse_fill(value, "$", problems) is None
        with pytest.raises(ArgumentError):
            kind.cast_fill(value)
    assert len(problems.found) == 5


def test_a_lone_surrogate_is_kept() -> None:
    kind = FixedUnicode(2)
    fill = kind.cast_fill("\ud800")
    assert kind.dump_fill(fill) == "\ud800"


@pytest.mark.parametrize("value", [np.str_("ab"), np.array("ab"), np.array("ab", ">U9"), np.array("ab", TEXT)])
def test_fills_from_numpy(value: Any) -> None:
    for kind in (FixedUnicode(3), String()):
        fill = kind.cast_fill(value)
        assert fill.dtype == kind.dtype
        assert fill[()] == "ab"


# -- variable length


@pytest.mark.parametrize("value", ["string", {"name": "string"}, {"name": "string", "configuration": {}}])
def test_R145_without_configuration(value: Any) -> None:
    found, problems = read(value)
    assert found == String()
    assert found.dtype == TEXT
    assert not found.fixed_size
    assert found.to_json() == "string"
    assert not problems.warnings


def test_R145_a_fill_is_text() -> None:
    kind, problems = String(), Problems()
    fill = kind.parse_fill("any length, \0 and \U0001f600\0", "$", problems)
    assert fill is not None
    assert type(fill[()]) is str
    assert kind.dump_fill(fill) == "any length, \0 and \U0001f600\0"
    for value in (0, None, ["a"], b"a", "\ud800"):
        assert kind.parse_fill(value, "$", problems) is None
        with pytest.raises(ArgumentError):
            kind.cast_fill(value)
    assert len(problems.found) == 5


@pytest.mark.parametrize(
    "value",
    [
        [["a", "ñ"], ["", "\0b\0"]],
        np.array([["a", "ñ"], ["", "\0b\0"]], object),
        np.array([["a", "ñ"], ["", "\0b\0"]], TEXT),
        np.array([["a", "ñ"], ["", "\0b\0"]], np.dtypes.StringDType(coerce=False)),
        np.array([["a", "ñ"], ["", "\0b\0"]], np.dtypes.StringDType(na_object=None)),
        (("a", np.str_("ñ")), ("", "\0b\0")),
    ],
)
def test_elements_from_text_of_any_kind(value: Any) -> None:
    found = String().elements(value)
    assert found.dtype == TEXT
    assert found.tolist() == [["a", "ñ"], ["", "\0b\0"]]


@pytest.mark.parametrize("value", [np.array(["a", "ñ"]), np.array(["a", "ñ"], ">U7"), np.array([b"a", "ñ".encode()])])
def test_elements_from_text_of_fixed_length(value: Any) -> None:
    found = String().elements(value)
    assert found.dtype == TEXT
    assert found.tolist() == ["a", "ñ"]


def test_a_single_element() -> None:
    for value in ("x", np.str_("x"), np.array("x"), np.array("x", object)):
        found = String().elements(value)
        assert found.shape == ()
        assert found[()] == "x"


@pytest.mark.parametrize(
    "value",
    [
        *[None, 1, 1.5, b"a", True, {"a": 1}, [1, 2], ["a", 1], ["a", None], ["a", b"b"], [["a"], ["b", "c"]]],
        *[np.array([1, 2]), np.array([None, "a"], object), np.array(["a", 3], object), np.array([True])],
        np.array(["a", None], np.dtypes.StringDType(na_object=None)),
        np.array(["a", np.nan], np.dtypes.StringDType(na_object=np.nan)),
        np.array(["2020"], "M8[D]"),
    ],
)
def test_values_other_than_text_are_rejected(value: Any) -> None:
    """NumPy would convert them to text such as "None" and "1"."""
    with pytest.raises(ArgumentError, match="accepts text only"):
        String().elements(value)


@pytest.mark.parametrize("value", ["\ud800", ["a", "\ud800"], np.array(["\ud800"]), np.array([b"\xff"])])
def test_text_that_utf8_cannot_encode_is_rejected(value: Any) -> None:
    with pytest.raises(ArgumentError, match="cannot be stored as UTF-8"):
        String().elements(value)
