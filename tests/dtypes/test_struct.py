"""Structs: named fields without padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omnizarr._json import Problems
from omnizarr.codecs.array_to_bytes.bytes_ import has_byte_order
from omnizarr.dtypes import DataType, Scalar, data_type_of, parse_data_type
from omnizarr.dtypes.struct_ import Struct
from omnizarr.errors import ArgumentError


def document(*fields: tuple[Any, Any]) -> dict[str, Any]:
    listed = [{"name": name, "data_type": data_type} for name, data_type in fields]
    return {"name": "struct", "configuration": {"fields": listed}}


def read(value: Any) -> tuple[DataType | None, Problems]:
    problems = Problems()
    return parse_data_type(value, "$.data_type", problems), problems


POINT = document(("x", "uint8"), ("y", "float32"))
NESTED = document(("id", "r24"), ("point", POINT))


def fill_of(data_type: Any, value: Any) -> tuple[Scalar | None, Problems]:
    problems = Problems()
    return data_type_of(data_type).parse_fill(value, "$.fill_value", problems), problems


def test_R149_fields_are_packed_in_their_order() -> None:
    found, problems = read(NESTED)
    assert isinstance(found, Struct)
    assert found.dtype == np.dtype([("id", "V3"), ("point", [("x", "u1"), ("y", "=f4")])])
    assert found.dtype.itemsize == 8
    assert found.to_json() == NESTED
    assert not problems.warnings


def test_R149_order_of_fields_is_part_of_the_type() -> None:
    assert data_type_of(document(("a", "int8"), ("b", "int8"))) != data_type_of(document(("b", "int8"), ("a", "int8")))


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("struct", ".configuration.fields"),
        ({"name": "struct", "configuration": {"fields": []}}, ".configuration.fields"),
        ({"name": "struct", "configuration": {"fields": {}}}, ".configuration.fields"),
        ({"name": "struct", "configuration": {"fields": [["x", "int8"]]}}, ".configuration.fields[0]"),
        ({"name": "struct", "configuration": {"fields": [{"name": "x"}]}}, ".configuration.fields[0].data_type"),
        ({"name": "struct", "configuration": {**POINT["configuration"], "align": 1}}, ".configuration.align"),
        (document((3, "int8")), ".configuration.fields[0].name"),
        (document((None, "int8")), ".configuration.fields[0].name"),
        (document(("", "int8")), ".configuration.fields[0].name"),
        (document(("x", "int8"), ("x", "int16")), ".configuration.fields[1].name"),
        (document(("x", "int9")), ".configuration.fields[0].data_type"),
        (
            document(("x", document(("y", "int9")))),
            ".configuration.fields[0].data_type.configuration.fields[0].data_type",
        ),
    ],
)
def test_R149_invalid_fields_are_problems_with_their_path(value: Any, path: str) -> None:
    found, problems = read(value)
    assert found is None
    assert [problem.path for problem in problems.found] == ["$.data_type" + path]


def test_all_problems_of_a_struct_are_found_at_once() -> None:
    _, problems = read(document(("", "int9"), ("x", "int8"), ("x", "r7"), ("x", "int8")))
    assert len(problems.found) == 5


def test_unknown_members_of_a_field_are_problems() -> None:
    value = document(("x", "int8"))
    value["configuration"]["fields"][0]["offset"] = 0
    found, problems = read(value)
    assert found is None
    assert problems.found[0].path == "$.data_type.configuration.fields[0].offset"


def test_R149_variable_length_fields_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    class Text(type(data_type_of("int8"))):  # type: ignore[misc]
        """A type of variable length."""

    from omnizarr.dtypes.contract import data_types

    text = Text("text", np.dtype(object))
    monkeypatch.setitem(data_types._items, "text", lambda *_: text)
    found, problems = read(document(("x", "text")))
    assert found is None
    assert "fixed size" in problems.found[0].message
    with pytest.raises(ArgumentError, match="fixed size"):
        Struct((("x", text),))


def test_R149_core_fields_in_object_form_are_read_and_written_as_strings() -> None:
    found, problems = read(document(("x", {"name": "int8"})))
    assert found is not None
    assert problems.warnings
    assert found.to_json() == document(("x", "int8"))


def nested(levels: int) -> Any:
    value: Any = "int8"
    for _ in range(levels):
        value = document(("x", value))
    return value


def test_nesting_is_bounded() -> None:
    assert read(nested(32))[0] is not None
    for levels in (33, 300):
        found, problems = read(nested(levels))
        assert found is None
        assert "levels deep" in problems.found[0].message
    deepest = data_type_of(nested(32))
    with pytest.raises(ArgumentError, match="levels deep"):
        Struct((("x", deepest),))


def test_size_is_bounded() -> None:
    found, problems = read(document(("x", f"r{2**29}"), ("y", f"r{2**29}"), ("z", "int8")))
    assert found is None
    assert "bytes" in problems.found[0].message


def test_R149_fill_is_an_object_with_every_field() -> None:
    fill, problems = fill_of(NESTED, {"id": [1, 2, 3], "point": {"x": 4, "y": "NaN"}})
    assert fill is not None
    assert not problems.warnings
    assert fill.tobytes() == b"\1\2\3\4" + np.array(0x7FC00000, "u4").tobytes()
    assert data_type_of(NESTED).dump_fill(fill) == {"id": [1, 2, 3], "point": {"x": 4, "y": "NaN"}}


def test_A46_missing_fields_are_filled_with_their_default_and_a_warning() -> None:
    fill, problems = fill_of(NESTED, {"point": {"y": 1.0}})
    assert fill is not None
    assert fill.tolist() == (b"\0\0\0", (0, 1.0))
    assert [warning.path for warning in problems.warnings] == ["$.fill_value.id", "$.fill_value.point.x"]


def test_A6_null_is_read_as_the_default_with_a_warning() -> None:
    fill, problems = fill_of(NESTED, None)
    assert fill is not None
    assert fill.tobytes() == bytes(8)
    assert problems.warnings


@pytest.mark.parametrize(
    "value", [0, [], [1, 2.0], "AAAAAAAA", {"x": 1, "y": 2.0, "z": 3}, {"x": 1.5, "y": 2}, {"x": None}]
)
def test_R149_other_fills_are_rejected(value: Any) -> None:
    fill, problems = fill_of(POINT, value)
    assert fill is None
    assert problems.found


@pytest.mark.parametrize(
    "value",
    [
        *[(1, 2.0), [1, 2.0], {"y": 2.0, "x": 1}],
        np.array((2.0, 1), [("y", ">f8"), ("x", "i8")]),
        np.array((2.0, 1), [("y", ">f8"), ("x", "i8")])[()],
        np.array((1, 2.0), np.dtype([("x", "u1"), ("y", "f4")], align=True)),
    ],
)
def test_cast_fill_accepts_tuples_dicts_and_records(value: Any) -> None:
    fill = data_type_of(POINT).cast_fill(value)
    assert fill.dtype == data_type_of(POINT).dtype
    assert fill.tolist() == (1, 2.0)


@pytest.mark.parametrize(
    "value",
    [
        0,
        (1,),
        (1, 2, 3),
        {"x": 1},
        {"x": 1, "y": 2, "z": 3},
        "AAAA",
        b"\0" * 5,
        np.void(b"\0" * 5),
        np.array((1, 2.0), "u1,f4"),
    ],
)
def test_cast_fill_needs_every_field(value: Any) -> None:
    with pytest.raises(ArgumentError, match="fields x, y"):
        data_type_of(POINT).cast_fill(value)


def test_the_error_names_the_field() -> None:
    with pytest.raises(ArgumentError, match="field `point`: field `x`: fill value of `uint8`"):
        data_type_of(NESTED).cast_fill((b"abc", (300, 0.0)))


@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype([("x", "u1"), ("y", "f4")], align=True),
        np.dtype([("x", "u1"), ("y", ">f4")]),
        np.dtype({"names": ["x", "y"], "formats": ["u1", "f4"], "offsets": [8, 0], "itemsize": 32}),
        {"names": ["x", "y"], "formats": ["u1", "<f4"]},
        POINT,
    ],
)
def test_numpy_records_become_packed_and_native(dtype: Any) -> None:
    assert data_type_of(dtype) == Struct((("x", data_type_of("uint8")), ("y", data_type_of("float32"))))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((), "at least one"),
        ((("", "int8"),), "needs a name"),
        ((("a", "int8"), ("a", "int8")), "`a` appears twice"),
        ((("a", f"r{2**30}"), ("b", "int8")), "bytes"),
    ],
)
def test_invalid_structs_are_rejected(fields: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Struct(tuple((name, data_type_of(kind)) for name, kind in fields))


def test_R85_multibyte_if_a_field_is() -> None:
    assert has_byte_order(data_type_of(NESTED).dtype)
    assert not has_byte_order(data_type_of(document(("a", "int8"), ("b", "r64"))).dtype)
