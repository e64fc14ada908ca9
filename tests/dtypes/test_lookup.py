"""Lookup of data types by name, by JSON object and by NumPy dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omnizarr._json import Problems
from omnizarr.dtypes import DataType, data_type_of, data_types, parse_data_type
from omnizarr.errors import ArgumentError

CORE = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


def read(value: Any) -> tuple[DataType | None, Problems]:
    problems = Problems()
    return parse_data_type(value, "$.data_type", problems), problems


@pytest.mark.parametrize("name", CORE)
def test_R52_core_types(name: str) -> None:
    found, problems = read(name)
    assert found is not None
    assert found.name == name
    assert found.dtype == np.dtype(name)
    assert found.dtype.isnative
    assert found.to_json() == name
    assert not problems.warnings


@pytest.mark.parametrize("value", [{"name": "int8"}, {"name": "int8", "configuration": {}}])
def test_R151_object_form_of_a_type_without_configuration_is_read(value: Any) -> None:
    """R12: a core type must be written as a string, hence the warning."""
    found, problems = read(value)
    assert found == data_type_of("int8")
    assert problems.warnings[0].path == "$.data_type"


def test_R151_such_a_type_rejects_a_configuration() -> None:
    for name in ("int8", "r8"):
        found, problems = read({"name": name, "configuration": {"endian": "little"}})
        assert found is None
        assert problems.found[0].path == "$.data_type.configuration.endian"


def test_R144_aliases_of_complex_types_are_read() -> None:
    for alias, name in (("complex_float32", "complex64"), ("complex_float64", "complex128")):
        found, _ = read(alias)
        assert found == data_type_of(name) == data_type_of(alias)
        assert found.to_json() == name


@pytest.mark.parametrize("value", ["floot32", {"name": "floot32"}])
def test_R37_unknown_types_are_rejected_and_the_nearest_is_named(value: Any) -> None:
    found, problems = read(value)
    assert found is None
    assert problems.found[0].message == "unknown data type `floot32`"
    assert problems.found[0].hint == "did you mean `float32`?"


def test_R36_a_data_type_cannot_be_ignored() -> None:
    found, problems = read({"name": "int8", "must_understand": False})
    assert found is None
    assert problems.found[0].path == "$.data_type.must_understand"


@pytest.mark.parametrize(
    "value", [None, 8, [], [["a", "<i4"]], {}, "", "<f8", "Int8", "int8 ", {"name": "int8", "x": 1}]
)
def test_A30_other_values_are_rejected(value: Any) -> None:
    found, problems = read(value)
    assert found is None
    assert problems.found


def test_fallback_of_drafts_is_skipped() -> None:
    found, problems = read({"name": "int8", "fallback": "r8"})
    assert found == data_type_of("int8")
    assert problems.warnings[0].path == "$.data_type.fallback"


@pytest.mark.parametrize("bits", [8, 16, 24, 1024, 2**30])
def test_R59_raw_types(bits: int) -> None:
    found, _ = read(f"r{bits}")
    assert found is not None
    assert found.dtype == np.dtype(f"V{bits // 8}")
    assert found.to_json() == f"r{bits}"


@pytest.mark.parametrize(
    "name", ["r0", "r7", "r12", "r08", "r008", f"r{2**30 + 8}", f"r{8 * 10**20}", "r" + "8" * 9999]
)
def test_R59_raw_types_have_a_positive_multiple_of_8_bits(name: str) -> None:
    found, problems = read(name)
    assert found is None
    assert "multiple of 8" in problems.found[0].message


@pytest.mark.parametrize("name", ["r", "r-8", "r+8", "r8.0", "r\uff18", "raw", "r8 "])
def test_R59_other_names_are_not_raw_types(name: str) -> None:
    found, problems = read(name)
    assert found is None
    assert problems.found[0].message.startswith("unknown data type")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        *[(bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128"), (np.uint8, "uint8")],
        *[("<i2", "int16"), (">i2", "int16"), (np.dtype(">c8"), "complex64"), ("longlong", "int64")],
        *[("V3", "r24"), ("r24", "r24"), (np.dtype("V5"), "r40"), ("f4", "float32"), ({"name": "int8"}, "int8")],
        *[("M8[ns]", "numpy.datetime64"), (">m8[3h]", "numpy.timedelta64"), ("M8", "numpy.datetime64")],
        *[("U5", "fixed_length_utf32"), (">U5", "fixed_length_utf32"), ("S5", "null_terminated_bytes")],
        *[(str, "string"), ("U", "string"), (np.dtypes.StringDType(), "string"), ("string", "string")],
        *[(np.dtypes.StringDType(na_object=None, coerce=False), "string"), (np.str_, "string")],
        *[
            (bytes, "bytes"),
            ("S", "bytes"),
            ("bytes", "bytes"),
            ("variable_length_bytes", "bytes"),
            ("binary", "bytes"),
        ],
        *[([("a", "U1"), ("b", "M8[D]")], "struct"), ([("a", "i4", (2,))], "record")],
    ],
)
def test_lookup_accepts_what_numpy_accepts(given: Any, name: str) -> None:
    found = data_type_of(given)
    assert found.name == name
    assert found.dtype.isnative
    assert data_type_of(found) is found


@pytest.mark.parametrize(
    "given",
    [
        *["V", "3i4", "struct", "r9"],
        *[None, 3.5, [], {}, "nothing", "i4,,", {"name": "nothing"}, {"names": 1}],
        *[np.ones(3), b"\xff", {"name": "struct"}, {"name": None}, {"name": "string", "configuration": {"x": 1}}],
    ],
)
def test_the_error_for_unsupported_types_lists_the_supported_ones(given: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        data_type_of(given)
    assert caught.value.argument == "dtype"  # type: ignore[attr-defined]
    if not isinstance(given, str) or given != "V":
        assert "float32" in str(caught.value)


@pytest.mark.parametrize("given", [object, "O", "object", np.dtype(object)])
def test_object_alone_is_rejected(given: Any) -> None:
    with pytest.raises(ArgumentError, match="`object` does not define") as caught:
        data_type_of(given)
    assert caught.value.hint is not None
    for choice in ('"string"', '"bytes"', "v2 stores"):
        assert choice in caught.value.hint


@pytest.mark.parametrize("given", [[("a", "O")], [("a", "i4"), ("b", "f8", (2,)), ("c", "O")], [("a", "O", (2,))]])
def test_records_whose_fields_cannot_be_stored(given: Any) -> None:
    with pytest.raises(ArgumentError, match="field `[ac]` of a record cannot be of type"):
        data_type_of(given)


def test_fields_of_no_length_are_rejected() -> None:
    with pytest.raises(ArgumentError, match="fixed size"):
        data_type_of([("a", [("b", "U")])])


def test_names_that_are_registered() -> None:
    assert set(data_types.names()) >= {*CORE, "struct", "string", "bytes", "numpy.datetime64", "numpy.timedelta64"}
    assert not {"object", "record"} & set(data_types.names())
