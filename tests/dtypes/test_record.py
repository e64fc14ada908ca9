"""Records in NumPy's memory layout: padding, arrays as fields, mixed byte orders."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr._json import Problems
from omnizarr.dtypes import (
    Record,
    data_type_of,
    data_type_of_stored,
    dump_typestr,
    fill_from_bytes,
    fill_to_bytes,
    is_fill,
    same_bits,
)
from omnizarr.dtypes.record_padding import has_padding, without_padding, zeroed_padding
from omnizarr.dtypes.sanitize import Sanitizer
from omnizarr.dtypes.struct_ import Struct
from omnizarr.errors import ArgumentError

ALIGNED = np.dtype([("a", "u1"), ("b", "f8")], align=True)
ARRAYS = np.dtype([("a", "i2", (2, 3)), ("b", "S3")])
DEEP = np.dtype({"names": ["x", "y"], "formats": [(ALIGNED, (2,)), "?"], "offsets": [3, 40], "itemsize": 50})
MIXED = np.dtype([("a", ">i4"), ("b", "<i4"), ("c", [("d", ">U2", (2,)), ("e", "?")])])


@pytest.mark.parametrize("dtype", [ALIGNED, ARRAYS, DEEP, MIXED])
def test_offsets_and_size_are_kept_and_the_byte_order_is_native(dtype: np.dtype[Any]) -> None:
    found = Record(dtype)
    assert found.private
    assert found.dtype.isnative
    assert found.dtype.itemsize == dtype.itemsize
    assert found.dtype.fields is not None
    assert dtype.fields is not None
    assert {name: entry[1] for name, entry in found.dtype.fields.items()} == {
        name: entry[1] for name, entry in dtype.fields.items()
    }
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert hash(again) == hash(found)
    assert Record(found.dtype) == found


def test_new_arrays_have_no_padding_and_stored_ones_keep_it() -> None:
    assert isinstance(data_type_of(ALIGNED), Struct)
    assert data_type_of_stored(ALIGNED) == Record(ALIGNED)
    assert data_type_of(ARRAYS) == data_type_of_stored(ARRAYS) == Record(ARRAYS)
    assert data_type_of_stored(np.dtype([("a", ">i4"), ("b", "<i4")])) == data_type_of([("a", "i4"), ("b", "i4")])
    assert data_type_of_stored(np.dtype("<f8")) == data_type_of("float64")
    assert data_type_of_stored(np.dtype([("a", "O")])) is None


@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        ({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [0, 2]}, "overlap"),
        ({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [4, 0]}, "overlap"),
        ([("a", "O")], "field `a`"),
        ([("a", [("b", "O")])], "field `a.b`"),
        ("i4", "at least one field"),
        ([("a", "V1", (2**27 + 1,))], "more than"),
    ],
)
def test_invalid_records_are_rejected(dtype: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Record(np.dtype(dtype))


def filled(dtype: np.dtype[Any], byte: int) -> np.ndarray[Any, Any]:
    """Three elements with every byte the same, including padding."""
    return np.frombuffer(bytes([byte]) * (3 * dtype.itemsize), dtype).copy()


@pytest.mark.parametrize("dtype", [ALIGNED, DEEP])
def test_padding_is_ignored_and_stored_as_zeros(dtype: np.dtype[Any]) -> None:
    assert has_padding(dtype)
    array, other = filled(dtype, 0), filled(dtype, 0)
    memory = other.view("u1").reshape(3, -1)
    used = np.zeros(dtype.itemsize, bool)
    for offset in range(dtype.itemsize):  # a byte is padding if changing it changes no field
        probe = np.zeros(1, dtype)
        probe.view("u1")[offset] = 1
        used[offset] = probe.astype(without_padding(dtype)).tobytes() != bytes(without_padding(dtype).itemsize)
    assert 0 < used.sum() < dtype.itemsize
    memory[:, ~used] = 7
    assert is_fill(other, array[0:1].reshape(()))
    assert same_bits(other[0:1].reshape(()), array[0:1].reshape(()))
    assert zeroed_padding(other, dtype).tobytes() == bytes(3 * dtype.itemsize)
    memory[1, np.flatnonzero(used)[-1]] = 1
    assert not is_fill(other, array[0:1].reshape(()))


@given(st.binary(min_size=MIXED.itemsize, max_size=MIXED.itemsize))
def test_any_bytes_give_a_fill_or_a_problem(data: bytes) -> None:
    problems = Problems()
    fill = fill_from_bytes(data, MIXED, "$.fill_value", problems)
    assert (fill is None) == bool(problems)
    if fill is not None:
        assert fill.dtype == Record(MIXED).dtype
        assert fill["c"]["e"].tobytes() in (b"\0", b"\1")
        assert str(fill)  # its characters are valid
        again = fill_to_bytes(fill, MIXED)
        assert again[:-1] == data[:-1]


def test_fills_in_other_byte_orders() -> None:
    data = bytes([0, 0, 0, 5, 6, 0, 0, 0]) + "abcd".encode("utf-32-be") + b"\1"
    fill = fill_from_bytes(data, MIXED, "$", Problems())
    assert fill is not None
    assert fill["a"] == 5
    assert fill["b"] == 6
    assert fill["c"]["d"].tolist() == ["ab", "cd"]
    assert fill_to_bytes(fill, MIXED) == data
    kind = Record(MIXED)
    parsed = kind.parse_fill(kind.dump_fill(fill), "$", Problems())
    assert parsed is not None
    assert same_bits(parsed, fill)
    assert kind.dump_fill(fill).startswith("BQAAAAYAAABh")


@pytest.mark.parametrize("value", [None, 0, "", "AAAA", "no base64", [0]])
def test_other_fills_of_a_document_are_rejected(value: Any) -> None:
    problems = Problems()
    assert Record(ARRAYS).parse_fill(value, "$", problems) is None
    assert problems


@pytest.mark.parametrize(
    "value",
    [
        (np.arange(6).reshape(2, 3), b"ab"),
        ([[0, 1, 2], [3, 4, 5]], b"ab"),
        {"a": [[0, 1, 2], [3, 4, 5]], "b": b"ab"},
        np.array([([[0, 1, 2], [3, 4, 5]], b"ab")], ARRAYS)[0],
        np.array(([[0, 1, 2], [3, 4, 5]], b"ab"), [("a", ">i8", (2, 3)), ("b", "S9")]),
    ],
)
def test_cast_fill(value: Any) -> None:
    fill = Record(ARRAYS).cast_fill(value)
    assert fill["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert fill["b"] == b"ab"


@pytest.mark.parametrize("value", [None, 5, (1,), {"a": 1}, "text", ("x", "y"), (np.arange(5), b"")])
def test_fills_that_do_not_fit_are_rejected(value: Any) -> None:
    with pytest.raises(ArgumentError, match="fill value of `record`"):
        Record(ARRAYS).cast_fill(value)


def test_the_json_form_for_display() -> None:
    assert Record(ALIGNED).to_json()["configuration"]["dtype"] == [
        ["a", "|u1"],
        ["", "|V7"],
        ["b", dump_typestr(np.dtype("f8"))],
    ]


def test_R87_booleans_and_R147_characters_inside_records() -> None:
    array = np.zeros(2, MIXED)
    sound = Sanitizer(MIXED)
    assert sound
    assert sound.sanitize(array) is array
    array["c"]["e"].view("u1")[1] = 7
    sanitize = sound.sanitize(array)
    assert sanitize["c"]["e"].view("u1").tolist() == [0, 1]
    assert array["c"]["e"].view("u1")[1] == 7
    array["c"]["d"].view((np.dtype(">u4"), (2,)))[1, 1, 1] = 0x110000
    with pytest.raises(ValueError, match="no character 0x110000"):
        sound.sanitize(array)
    assert not Sanitizer(ALIGNED)
