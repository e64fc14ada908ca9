"""Bytes of fixed and of variable length, and objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omnizarr._json import Problems
from omnizarr.dtypes import DataType, FixedBytes, Objects, VariableBytes, data_type_of, parse_data_type, same_bits
from omnizarr.errors import ArgumentError


def read(value: Any) -> tuple[DataType | None, Problems]:
    problems = Problems()
    return parse_data_type(value, "$.data_type", problems), problems


def fixed(size: Any) -> Any:
    return {"name": "null_terminated_bytes", "configuration": {"length_bytes": size}}


# -- fixed length


def test_A47_zarr_pythons_name_is_read_and_written() -> None:
    found, problems = read(fixed(12))
    assert found == FixedBytes(12) == data_type_of("S12")
    assert found.dtype == np.dtype("S12")
    assert found.to_json() == fixed(12)
    assert not problems.warnings


@pytest.mark.parametrize("size", [0, -1, 2**27 + 1, 4.0, "4", None, True])
def test_other_lengths_are_rejected(size: Any) -> None:
    found, problems = read(fixed(size))
    assert found is None
    assert problems.found[0].path == "$.data_type.configuration.length_bytes"


def test_A47_a_fill_is_base64() -> None:
    kind, problems = FixedBytes(4), Problems()
    for text, data in (("", b""), ("YWI=", b"ab"), ("YQBi", b"a\0b"), ("YWIAAA==", b"ab")):
        fill = kind.parse_fill(text, "$", problems)
        assert fill is not None
        assert fill[()] == data
    assert kind.dump_fill(kind.cast_fill(b"a\0b")) == "YQBi"
    assert not problems.found
    for value in ("YWJjZGU=", "a", "ü", 0, None, [97]):  # the first one is too long
        assert kind.parse_fill(value, "$", problems) is None
    assert len(problems.found) == 6


@pytest.mark.parametrize("kind", [FixedBytes(4), VariableBytes()])
def test_cast_fill_accepts_bytes_and_no_text(kind: DataType) -> None:
    """`YWI=` could mean itself, or `ab`."""
    for value in (b"ab", bytearray(b"ab"), memoryview(b"ab"), np.bytes_(b"ab"), np.array(b"ab")):
        assert kind.cast_fill(value)[()] == b"ab"
    for wrong in ("YWI=", "ab", 3, None, [b"ab"], np.array([b"ab"])):
        with pytest.raises(ArgumentError, match="bytes"):
            kind.cast_fill(wrong)
    with pytest.raises(ArgumentError):
        FixedBytes(4).cast_fill(b"abcde")


# -- variable length


@pytest.mark.parametrize("name", ["bytes", "variable_length_bytes", "binary"])
def test_R146_all_names_are_read(name: str) -> None:
    found, problems = read(name)
    assert found == VariableBytes() == read({"name": name, "configuration": {}})[0]
    assert found.to_json() == "bytes"
    assert not found.fixed_size
    assert not problems.warnings
    assert read({"name": name, "configuration": {"length_bytes": 4}})[0] is None


def test_R146_a_fill_is_base64_or_a_list() -> None:
    kind, problems = VariableBytes(), Problems()
    for value, data in (("", b""), ("AGEA", b"\0a\0"), ([], b""), ([0, 97, 0], b"\0a\0")):
        fill = kind.parse_fill(value, "$", problems)
        assert fill is not None
        assert type(fill[()]) is bytes
        assert fill[()] == data
    assert kind.dump_fill(kind.cast_fill(b"\0a\0")) == "AGEA"
    for wrong in ("a", 0, None, [256], [-1], [True], [1.0], {}):
        assert kind.parse_fill(wrong, "$", problems) is None
    assert len(problems.found) == 8


@pytest.mark.parametrize(
    "value",
    [
        [[b"a", b"\0b\0"], [b"", b"c"]],
        np.array([[b"a", b"\0b\0"], [b"", b"c"]], object),
    ],
)
def test_elements_keep_trailing_zeros(value: Any) -> None:
    found = VariableBytes().elements(value)
    assert found.dtype == object
    assert found.tolist() == [[b"a", b"\0b\0"], [b"", b"c"]]


def test_elements_from_other_bytes() -> None:
    kind = VariableBytes()
    assert kind.elements(np.array([b"a", b"bc"])).tolist() == [b"a", b"bc"]
    mixed = np.empty(2, object)
    mixed[:] = [bytearray(b"a"), memoryview(b"bc")]
    found = kind.elements(mixed)
    assert found.tolist() == [b"a", b"bc"]
    assert {type(item) for item in found} == {bytes}
    assert kind.elements(bytearray(b"ab"))[()] == b"ab"


@pytest.mark.parametrize(
    "value", [None, "a", 1, ["a"], [b"a", None], [[b"a"], [b"b", b"c"]], np.array([1, 2]), np.array(["a"]), {}]
)
def test_values_other_than_bytes_are_rejected(value: Any) -> None:
    with pytest.raises(ArgumentError, match="accepts bytes only"):
        VariableBytes().elements(value)


# -- objects


def test_objects_have_no_name_in_version_3() -> None:
    assert Objects().private
    assert read("object")[0] is None
    assert not VariableBytes.private


@pytest.mark.parametrize("value", [None, 0, "", "a", [1, [2, "b"]], {"a": [None]}, 1.5, True])
def test_any_json_value_can_be_a_fill(value: Any) -> None:
    kind = Objects()
    fill = kind.parse_fill(value, "$", Problems())
    assert fill is not None
    assert fill.shape == ()
    assert fill[()] == value
    assert kind.dump_fill(fill) == value
    assert same_bits(kind.cast_fill(value), fill)


def test_values_outside_json_cannot_be_a_fill() -> None:
    with pytest.raises(ArgumentError, match="JSON"):
        Objects().cast_fill(object())


def test_a_single_element_may_be_a_list() -> None:
    kind = Objects()
    assert kind.element([1, 2])[()] == [1, 2]
    assert kind.element(np.arange(3))[()].tolist() == [0, 1, 2]
    assert kind.element(np.array(5, object))[()] == 5
    assert kind.elements([1, "a", None]).tolist() == [1, "a", None]
