"""Fill values of v2."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from tests.formats.old_documents import array_v2, fill_of, model, problem_paths, warning_paths

import omnizarr
from omnizarr.errors import ArgumentError
from omnizarr.formats import dialect_for

WITH_CODEC = {"string": [{"id": "vlen-utf8"}], "bytes": [{"id": "vlen-bytes"}], "any": [{"id": "json2"}]}


def written_fill(dtype: Any, fill_value: Any, **options: Any) -> Any:
    """The member `fill_value` of a new array."""
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=3, dtype=dtype, fill_value=fill_value, zarr_format=2, **options)
    return json.loads(bytes(store.get(".zarray") or b""))["fill_value"]


@pytest.mark.parametrize("dtype", ["<i2", "|b1", "<f4", "<c8", "|S3", "<U3", "|V3", "<M8[s]", [["a", "<i2"]]])
def test_V11_V13_null_means_undefined(dtype: Any) -> None:
    node = model(array_v2(dtype=dtype, fill_value=None))
    assert node.fill is None
    assert dialect_for(2).dump("", node)[".zarray"]["fill_value"] is None


def test_fill_value_None_means_undefined() -> None:
    assert written_fill("<i2", None) is None
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=3, dtype="<i2", zarr_format=2)
    assert omnizarr.open_array(store).fill_value == 0


@pytest.mark.parametrize(("dtype", "value"), [("|i1", -128), ("<u8", 2**64 - 1), ("<i8", -(2**63)), (">i2", 258)])
def test_integers(dtype: str, value: int) -> None:
    assert fill_of(dtype, value) == value
    assert written_fill(dtype, value) == value


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("|i1", 128),
        ("<u2", -1),
        ("<i4", 1.5),
        ("<i4", "x"),
        ("<i4", "1.5"),
        ("|u1", "-1"),
        ("<i8", "9" * 500),
        ("<i4", [1]),
        ("<i4", {}),
    ],
)
def test_invalid_integers(dtype: str, value: Any) -> None:
    assert problem_paths(array_v2(dtype=dtype, fill_value=value)) == ["$.fill_value"]


@pytest.mark.parametrize(("dtype", "value"), [("<i4", "1.5"), ("|u1", "-1"), ("<i8", "9" * 500), ("<i4", "true")])
def test_invalid_integers_as_text(dtype: str, value: str) -> None:
    assert problem_paths(array_v2(dtype=dtype, fill_value=value)) == ["$.fill_value"]


def test_other_forms_of_integers() -> None:
    assert fill_of("<i4", 3.0) == 3
    assert fill_of("<i4", "0") == fill_of("<i4", "0.0") == 0  # n5-zarr
    assert fill_of("<i8", "-9223372036854775808") == -(2**63)  # as in GDAL, which cannot write all integers as numbers
    assert fill_of("<u8", "18446744073709551615") == 2**64 - 1


@pytest.mark.parametrize(
    ("text", "value"), [("NaN", np.nan), ("Infinity", np.inf), ("-Infinity", -np.inf), ("+Infinity", np.inf)]
)
@pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8"])
def test_V10_non_finite_floats_are_text(dtype: str, text: str, value: float) -> None:
    assert np.array_equal(fill_of(dtype, text), value, equal_nan=True)
    assert written_fill(dtype, value) == text.removeprefix("+")


@pytest.mark.parametrize("value", [0.1, -0.0, 1e300, 5])
def test_V10_other_floats_are_numbers(value: float) -> None:
    fill = fill_of("<f8", value)
    assert fill == value
    assert np.signbit(fill) == np.signbit(value)
    assert written_fill("<f8", value) == value


def test_V10_only_the_default_NaN_can_be_written() -> None:
    with pytest.raises(ArgumentError, match="v2 has only the default NaN"):
        written_fill("<f4", np.array(0x7FC00001, "u4").view("f4")[()])


@pytest.mark.parametrize("value", ["", "x", "1_0", "1.5.2", "0x10", "\u0661", "true", "1" * 401, [], "0x7fc00001"])
@pytest.mark.parametrize("dtype", ["<f4", "<c8"])
def test_V10_invalid_floats(dtype: str, value: Any) -> None:
    assert problem_paths(array_v2(dtype=dtype, fill_value=value)) == ["$.fill_value"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("0", 0.0), ("0.0", 0.0), ("-1", -1.0), ("+5", 5.0), ("1e3", 1e3), (" 1 ", 1.0), (".5", 0.5), ("2.", 2.0)),
        *(("nan", np.nan), ("NAN", np.nan), ("-nan", np.nan), ("inf", np.inf), ("+inf", np.inf), ("-Inf", -np.inf)),
    ],
)
@pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8", "<c8", ">c16"])
def test_V10_text_that_states_a_number_as_in_n5_zarr(dtype: str, text: str, value: float) -> None:
    assert np.array_equal(fill_of(dtype, text), value, equal_nan=True)
    assert warning_paths(array_v2(dtype=dtype, fill_value=text)) == []
    document = dialect_for(2).dump("", model(array_v2(dtype=dtype, fill_value=text)))[".zarray"]
    assert np.array_equal(fill_of(dtype, document["fill_value"]), value, equal_nan=True)


@pytest.mark.parametrize(("value", "expected"), [(1e39, np.inf), (-(10**400), -np.inf), ("1e39", np.inf)])
def test_a_number_beyond_the_range_is_an_infinity_as_in_zarr_python(value: Any, expected: float) -> None:
    assert fill_of("<f4", value) == expected
    assert fill_of("<c8", [0, value]).imag == expected
    assert warning_paths(array_v2(dtype="<f4", fill_value=value)) == ["$.fill_value"]


def test_V11_bytes_are_base64() -> None:
    assert fill_of("|S3", "YWJj") == b"abc"
    assert written_fill("|S3", b"abc") == "YWJj"
    assert fill_of("|V3", "AAEC").tobytes() == b"\0\1\2"
    assert written_fill("V3", np.void(b"\0\1\2")) == "AAEC"


def test_V11_records_are_base64_of_the_stored_bytes() -> None:
    dtype = [["a", ">i2"], ["b", "<f4"], ["c", "|S2"]]
    raw = np.array([(258, 1.5, b"x")], [("a", ">i2"), ("b", "<f4"), ("c", "S2")]).tobytes()
    text = base64.b64encode(raw).decode()
    fill = fill_of(dtype, text)
    assert fill.tolist() == (258, 1.5, b"x")
    assert dialect_for(2).dump("", model(array_v2(dtype=dtype, fill_value=text)))[".zarray"]["fill_value"] == text


@pytest.mark.parametrize(("text", "value"), [("", b"\0\0\0"), ("AQ==", b"\1\0\0"), ("AQIDAAA=", b"\1\2\3")])
def test_raw_bytes_may_lack_or_add_trailing_zeros(text: str, value: bytes) -> None:
    assert fill_of("|V3", text).tobytes() == value
    assert warning_paths(array_v2(dtype="|V3", fill_value=text)) == ["$.fill_value"]


@pytest.mark.parametrize("value", ["AAE", "AAECAw==", "!!!!", [0, 1, 2], 5, True])
@pytest.mark.parametrize("dtype", ["|V3", [["a", "|u1"], ["b", "<i2"]]])
def test_V11_invalid_base64(dtype: Any, value: Any) -> None:
    assert problem_paths(array_v2(dtype=dtype, fill_value=value)) == ["$.fill_value"]


@pytest.mark.parametrize("dtype", ["|S3", "<U3", "|V3", [["a", "|u1"], ["b", "|S2"]]])
def test_zero_is_the_default_of_old_writers_for_every_type(dtype: Any) -> None:
    fill = fill_of(dtype, 0)
    assert fill.tobytes() == bytes(len(fill.tobytes())) if dtype != "<U3" else fill == ""


@pytest.mark.parametrize(("text", "value"), [("", b""), ("YQ==", b"a"), ("YWI=", b"ab")])
def test_V27_A59_trailing_zeros_may_be_missing(text: str, value: bytes) -> None:
    assert fill_of("|S3", text) == value
    assert len(base64.b64decode(written_fill("|S3", value))) == 3  # TensorStore requires all bytes


@pytest.mark.parametrize(("text", "value"), [("no", b"no"), ("é", b"\xe9"), ("a b", b"a b")])
def test_plain_text_instead_of_base64_as_before_zarr_2_2(text: str, value: bytes) -> None:
    assert fill_of("|S3", text) == value


@pytest.mark.parametrize("text", ["-0", "-0.0"])
def test_V10_text_that_states_a_negative_zero(text: str) -> None:
    assert np.signbit(fill_of("<f8", text))
    assert np.signbit(fill_of("<c16", [text, 0]).real)
    assert fill_of("<i4", text) == 0


def test_text() -> None:
    assert fill_of("<U3", "ü🦀") == "ü🦀"
    assert written_fill("<U3", "ü🦀") == "ü🦀"
    assert fill_of("<U3", "four") == "fou"  # as in zarr-python
    assert warning_paths(array_v2(dtype="<U3", fill_value="four")) == ["$.fill_value"]
    assert problem_paths(array_v2(dtype="<U3", fill_value=5)) == ["$.fill_value"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), (False, False), (1, True), (0, False), (1.0, True), ("0", False), ("true", True), ("False", False)],
)
def test_V29_A50_booleans(value: Any, expected: bool) -> None:
    assert fill_of("|b1", value) is np.bool_(expected)
    assert written_fill("?", expected) is expected


@pytest.mark.parametrize("value", [2, -1, 0.5, float("nan")])
def test_A50_other_numbers_are_true_as_in_zarr_python(value: Any) -> None:
    assert fill_of("|b1", value) == np.True_
    assert warning_paths(array_v2(dtype="|b1", fill_value=value)) == ["$.fill_value"]


@pytest.mark.parametrize(("value", "expected"), [(float("nan"), "nan"), (-1, "-1"), (1.5, "1.5"), (0, "")])
def test_V11_a_number_is_the_fill_value_of_text_as_in_zarr_python_3(value: Any, expected: str) -> None:
    document = array_v2(dtype="|O", filters=[{"id": "vlen-utf8"}], fill_value=value)
    assert str(model(document).fill) == expected
    assert warning_paths(document) == ([] if value == 0 else ["$.fill_value"])


@pytest.mark.parametrize("value", ["yes", "", [True]])
def test_V29_A50_invalid_booleans(value: Any) -> None:
    assert problem_paths(array_v2(dtype="|b1", fill_value=value)) == ["$.fill_value"]


def test_V29_complex_numbers_are_pairs() -> None:
    assert fill_of("<c8", [1.5, -2]) == 1.5 - 2j
    assert np.isnan(fill_of("<c8", ["NaN", "-Infinity"]).real)
    assert fill_of("<c16", ["NaN", "-Infinity"]).imag == -np.inf
    assert written_fill("<c16", complex("nan+infj")) == ["NaN", "Infinity"]
    assert fill_of("<c8", 2) == 2  # a real number, as in zarr 2.1
    assert problem_paths(array_v2(dtype="<c8", fill_value=[1])) == ["$.fill_value"]


@pytest.mark.parametrize("dtype", ["<M8[s]", ">m8[10us]"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5),
        (-5, -5),
        (2**64 - 5, -5),
        (2**63, -(2**63)),
        (-(2**63), -(2**63)),
        ("NaT", -(2**63)),
        ("NaN", -(2**63)),
        (0, 0),
    ],
)
def test_V29_times_are_signed_or_unsigned_integers(dtype: str, value: Any, expected: int) -> None:
    assert fill_of(dtype, value).astype("i8") == expected


def test_V29_times_are_written_as_integers() -> None:
    assert written_fill("<M8[s]", np.datetime64(5, "s")) == 5
    assert written_fill("<M8[s]", np.datetime64("NaT", "s")) == -(2**63)


def test_V29_times_as_text() -> None:
    assert fill_of("<M8[s]", "2020-01-01") == np.datetime64("2020-01-01", "s")  # zarr 2 reads these
    assert fill_of("<M8[ns]", "2020-01-01T12:30:00.5") == np.datetime64("2020-01-01T12:30:00.5", "ns")
    assert fill_of("<m8[s]", "-5") == np.timedelta64(-5, "s")


@pytest.mark.parametrize("value", ["2020-13-01", "2020", "5", "today", 1.5, 2**64, [1]])
def test_V29_invalid_times(value: Any) -> None:
    assert problem_paths(array_v2(dtype="<M8[s]", fill_value=value)) == ["$.fill_value"]


@pytest.mark.parametrize(("value", "expected"), [("", ""), ("ü", "ü"), (0, ""), (None, None)])
def test_text_of_any_length(value: Any, expected: Any) -> None:
    assert fill_of("|O", value, filters=WITH_CODEC["string"]) == expected


@pytest.mark.parametrize(("value", "expected"), [("", b""), ("AAE=", b"\0\1"), ("plain text", b"plain text"), (0, b"")])
def test_bytes_of_any_length(value: Any, expected: Any) -> None:
    assert fill_of("|O", value, filters=WITH_CODEC["bytes"]) == expected


@pytest.mark.parametrize("value", [0, "", "x", [1, {"a": None}], {"b": 2}, True, 1.5])
def test_objects_have_any_value(value: Any) -> None:
    document = array_v2(dtype="|O", fill_value=value, filters=WITH_CODEC["any"])
    assert fill_of("|O", value, filters=WITH_CODEC["any"]) == value
    assert dialect_for(2).dump("", model(document))[".zarray"]["fill_value"] == value
