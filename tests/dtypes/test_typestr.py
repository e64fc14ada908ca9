"""Type strings and records of v2."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from omnizarr._json import Problems
from omnizarr.dtypes import dump_typestr, parse_typestr
from omnizarr.dtypes.record_padding import native_layout
from omnizarr.errors import ArgumentError, MissingDependencyError


def read(value: Any) -> tuple[np.dtype[Any] | None, Problems]:
    problems = Problems()
    return parse_typestr(value, "$.dtype", problems), problems


SIMPLE = [
    *["|b1", "|i1", "|u1", "<i2", ">i4", "<i8", "<u2", ">u8", "<f2", ">f4", "<f8", "<c8", ">c16"],
    *["|S1", "|S12", "<U3", ">U3", "|V1", "|V16", "<M8[ns]", ">M8[10us]", "<m8[D]", "<m8[2147483647as]"],
]


@pytest.mark.parametrize("text", SIMPLE)
def test_V7_simple_types(text: str) -> None:
    found, problems = read(text)
    assert found == np.dtype(text)
    assert dump_typestr(np.dtype(text)) == text
    assert not problems.warnings


@pytest.mark.parametrize("text", ["|O", "O", "|O8", "|O4"])
def test_V7_objects(text: str) -> None:
    found, _ = read(text)
    assert found == np.dtype(object)
    assert dump_typestr(np.dtype(object)) == "|O"


@pytest.mark.parametrize(
    ("text", "meant"), [("i4", "<i4"), ("f8", "<f8"), ("=u2", "<u2"), ("|i8", "<i8"), ("b1", "|b1")]
)
def test_V7_a_missing_byte_order_is_little_with_a_warning(text: str, meant: str) -> None:
    found, problems = read(text)
    assert found is not None
    assert found.str == np.dtype(meant).str
    assert problems.warnings[0].path == "$.dtype"


def test_A52_text_without_byte_order_is_little() -> None:
    found, problems = read("|U12")
    assert found is not None
    assert found.str == "<U12"
    assert not problems.warnings


@pytest.mark.parametrize("text", ["<i1", ">b1", "<S3", ">V4"])
def test_V7_a_byte_order_without_meaning_is_accepted(text: str) -> None:
    found, problems = read(text)
    assert found is not None
    assert found.str == "|" + text[1:]
    assert not problems.warnings


@pytest.mark.parametrize(
    "text",
    [
        *["", "<", "i", "<i", "<i3", "<i16", "<f1", "<f12", "<f32", "<c4", "<c64", "|b2", "<b", "|S0", "|S", "|S01"],
        *["<U0", "|V0", "<U33554433", "|S134217729", "|V99999999999", "<i4 ", " <i4", "<I4", "!i4", "<<i4", "|O2"],
        *[
            "<i4,<i4",
            "i4,f8",
            "(2,)i4",
            "2i4",
            "float64",
            "bool",
            "a5",
            "O[ns]",
            "<f8[ns]",
            "|S3[s]",
            "<i\uff14",
            "S" * 99,
        ],
        *["<g16", "|T16", "p", "d", "int", "object", "<i4\n", "datetime64[ns]", "{'names': ['a']}", "[('a', 'i4')]"],
    ],
)
def test_V7_other_texts_are_rejected(text: str) -> None:
    found, problems = read(text)
    assert found is None
    assert problems.found[0].path == "$.dtype"


@pytest.mark.parametrize(
    "text", ["<M8", "<m8[]", "<M8[10]", "<M8[B]", "<M8[generic]", "<M8[0s]", "<M8[2147483648s]", "<M8[s/2]", "<M4[s]"]
)
def test_V8_times_need_a_unit(text: str) -> None:
    found, problems = read(text)
    assert found is None
    assert problems.found


@pytest.mark.parametrize("text", ["<M8[\u03bcs]", "<M8[\u00b5s]"])
def test_A41_microseconds(text: str) -> None:
    assert read(text)[0] == np.dtype("<M8[us]")


def test_V8_a_time_without_unit_cannot_be_written() -> None:
    with pytest.raises(ArgumentError, match="without a unit"):
        dump_typestr(np.dtype("M8[generic]"))
    assert dump_typestr(np.dtype("M8[generic]"), units=False) == np.dtype("M8[generic]").str


NESTED = [
    ["a", "<i4"],
    ["", "|V4"],
    ["b", [["x", ">f8"], ["y", "|S3", [2, 2]]], [3]],
    ["ü c", ">U2"],
    ["", "|V1"],
]


def test_V9_records() -> None:
    found, problems = read(NESTED)
    assert found is not None, problems.found
    assert found.names == ("a", "b", "ü c")
    assert found.itemsize == 4 + 4 + 3 * (8 + 12) + 8 + 1
    assert found.fields is not None
    assert found.fields["b"][1] == 8
    assert found["b"].shape == (3,)
    assert found["b"].base["y"].shape == (2, 2)
    assert dump_typestr(found) == NESTED
    assert not problems.warnings


def test_V9_a_shape_of_one_number_or_none() -> None:
    assert read([["a", "<i4", 3]])[0] == np.dtype([("a", "<i4", (3,))])
    assert read([["a", "<i4", []]])[0] == np.dtype([("a", "<i4")])


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([], "$.dtype"),
        ([["", "|V4"]], "$.dtype"),
        (["<i4"], "$.dtype[0]"),
        ([["a"]], "$.dtype[0]"),
        ([["a", "<i4", [2], 1]], "$.dtype[0]"),
        ([[["title", "a"], "<i4"]], "$.dtype[0]"),
        ([[None, "<i4"]], "$.dtype[0]"),
        ([{"a": "<i4"}], "$.dtype[0]"),
        ([["a", "<i4"], ["a", "<f8"]], "$.dtype[1][0]"),
        ([["a", "<i3"]], "$.dtype[0][1]"),
        ([["a", None]], "$.dtype[0][1]"),
        ([["a", [["b", "<i3"]]]], "$.dtype[0][1][0][1]"),
        ([["a", "|O2"]], "$.dtype[0][1]"),
        ([["a", [["b", "|O2"]]]], "$.dtype[0][1][0][1]"),
        ([["a", "<i4"], ["", "<i4"]], "$.dtype[1][1]"),
        ([["a", "<i4", [0]]], "$.dtype[0][2]"),
        ([["a", "<i4", [-1]]], "$.dtype[0][2]"),
        ([["a", "<i4", "2"]], "$.dtype[0][2]"),
        ([["a", "<i4", [True]]], "$.dtype[0][2]"),
        ([["a", "<i4", [1] * 33]], "$.dtype[0][2]"),
        ([["a", "<i4", [2**26]]], "$.dtype[0][2]"),
        ([["a", "|V100000000"], ["b", "|V100000000"]], "$.dtype[1]"),
        (None, "$.dtype"),
        (5, "$.dtype"),
        ({"names": ["a"]}, "$.dtype"),
    ],
)
def test_V9_other_records_are_rejected(value: Any, path: str) -> None:
    found, problems = read(value)
    assert found is None
    assert problems.found[0].path == path


def test_objects_may_be_fields_of_records() -> None:
    found, _ = read([["a", "<i4"], ["b", "|O"], ["c", [["d", "|O", [2]]]]])
    assert found is not None
    assert found == np.dtype([("a", "<i4"), ("b", "O"), ("c", [("d", "O", (2,))])])


def test_every_problem_of_a_record_is_found() -> None:
    _, problems = read([["a", "<i3"], ["b", "|O2"], "c", ["d", "<f8", "x"]])
    assert len(problems.found) == 4


def test_the_nesting_of_records_is_limited() -> None:
    value: Any = "<i4"
    for _ in range(40):
        value = [["a", value]]
    found, problems = read(value)
    assert found is None
    assert "nested" in problems.found[0].message


@pytest.mark.parametrize("name", ["bfloat16", "int4", "float8_e5m2", "float8_e4m3fn"])
def test_small_numbers_as_tensorstore_writes_them(name: str) -> None:
    found, _ = read(name)
    assert found == np.dtype(getattr(ml_dtypes, name))
    assert dump_typestr(found) == name


def test_the_error_for_small_numbers_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(MissingDependencyError, match="data type `bfloat16` needs the package `ml_dtypes`") as caught:
        read("bfloat16")
    assert caught.value.hint == "run `pip install ml_dtypes`"


@pytest.mark.parametrize(
    "dtype",
    [
        *[np.dtypes.StringDType(), "S0", "V0", "U0", ("i4", (2,))],
        {"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [0, 2]},
        [("a", "V0")],
    ],
)
def test_types_that_version_2_cannot_express(dtype: Any) -> None:
    with pytest.raises(ArgumentError):
        dump_typestr(np.dtype(dtype))


FIELDS = st.one_of(
    npst.boolean_dtypes(),
    npst.integer_dtypes(endianness="?"),
    npst.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    npst.complex_number_dtypes(endianness="?", sizes=(64, 128)),
    npst.datetime64_dtypes(endianness="?"),
    npst.byte_string_dtypes(min_len=1, max_len=5),
    npst.unicode_string_dtypes(endianness="?", min_len=1, max_len=5),
)


@given(npst.array_dtypes(FIELDS, allow_subarrays=True) | npst.nested_dtypes(FIELDS) | FIELDS)
def test_parsing_what_was_dumped_gives_the_same(dtype: np.dtype[Any]) -> None:
    if dtype.subdtype is not None:
        return  # the shape of an array expresses it
    spelled = dump_typestr(dtype)
    found, problems = read(spelled)
    assert found is not None
    assert native_layout(found) == native_layout(dtype)  # except titles
    assert dump_typestr(found) == spelled
    assert not problems.warnings


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.text(max_size=5) | st.sampled_from([*SIMPLE, "|O", "bfloat16"]),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(st.sampled_from(["a", "", "b"]), inner).map(list),
    max_leaves=20,
)


@given(anything)
@example("<M8[" + "9" * 10 + "s]")
@example([["a", "|V1", [2**27, 2**27, 2**27]]])
def test_any_json_gives_a_type_or_a_problem(value: Any) -> None:
    found, problems = read(value)
    assert (found is None) == bool(problems.found)
    if found is not None:
        assert np.zeros((), found).nbytes == found.itemsize


def test_numpy_agrees_about_padding() -> None:
    dtype = np.dtype([("a", "u1"), ("b", "<f8"), ("c", "|S3")], align=True)
    description = [list(entry) for entry in dtype.descr]
    assert dump_typestr(dtype) == description
    assert read(description)[0] == dtype
