"""Data types and fill values of the draft of December 2022 (S15–S18, S24, S25, S78–S82)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import array, dumped, entry, problem_paths, read, store_of, warning_paths

import omnizarr
from omnizarr import MemoryStore
from omnizarr.codecs import Bytes
from omnizarr.errors import ArgumentError, MetadataError, OmnizarrWarning
from omnizarr.formats import dialect_for

BIG = {"type": "https://purl.org/zarr/spec/codecs/endian/1.0", "configuration": {"endian": "big"}}
TYPES = "https://purl.org/zarr/spec/extensions/data-types"
UNKNOWN = {"extension": "https://example.org/colour", "type": "rgb"}


def grid(**changes: Any) -> dict[str, Any]:
    return {"type": "regular", "chunk_shape": [4, 3], "separator": "/"} | changes


def create(**options: Any) -> omnizarr.Array:
    return omnizarr.create_array(MemoryStore(), zarr_format="3-draft-2022", **options)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("bool", "?"),
        *((f"int{8 * size}", f"i{size}") for size in (1, 2, 4, 8)),
        *((f"uint{8 * size}", f"u{size}") for size in (1, 2, 4, 8)),
        *((f"float{8 * size}", f"f{size}") for size in (2, 4, 8)),
        ("complex64", "c8"),
        ("complex128", "c16"),
        ("r8", "V1"),
        ("r16", "V2"),
        ("r24", "V3"),
    ],
)
def test_S15_S17_A7_core_data_types(name: str, dtype: str) -> None:
    fill: Any = {"?": True, "V1": "0x01", "V2": "0x0102", "V3": "0x010203", "c8": 0, "c16": 0}.get(dtype, 7)
    model = read(array(2022, data_type=name, fill_value=fill), 2022)
    assert model.dtype == np.dtype(dtype)
    assert dumped(model, 2022)["data_type"] == name
    assert dumped(create(shape=3, dtype=dtype).metadata, 2022)["data_type"] == name


@pytest.mark.parametrize("name", ["int17", "r12", "r0", "r", "float128", "string", "object", 3, None, []])
def test_S15_other_names_are_errors(name: Any) -> None:
    assert problem_paths(array(2022, data_type=name), 2022) == ["$.data_type"]


@pytest.mark.parametrize(
    ("dtype", "values", "stored"),
    [
        ("?", [True, False], "0100"),
        ("i2", [1, -2], "0100feff"),
        ("f4", [1, -2], "0000803f000000c0"),
        ("c8", [1 - 2j], "0000803f000000c0"),
        ("V2", [b"ab"], "6162"),
    ],
)
def test_S16_S35_stored_bytes_without_codecs(dtype: str, values: list[Any], stored: str) -> None:
    z = create(data=np.array(values, dtype), compressors=None)
    assert bytes(z.store.get("data/c0") or b"").hex() == stored
    assert dumped(z.metadata, 2022)["codecs"] == []


@pytest.mark.parametrize("fallback", ["int16", ["nothing", "int16", "r16"], "<i2", ["<i2"]])
def test_S18_the_first_known_fallback_is_used_with_a_warning(fallback: Any) -> None:
    document = array(2022, data_type=UNKNOWN | {"fallback": fallback})
    assert read(document, 2022).dtype == np.dtype("i2")
    assert warning_paths(document, 2022) == ["$.data_type"]
    assert dumped(read(document, 2022), 2022)["data_type"] == document["data_type"]


def test_S18_no_known_fallback_is_an_error() -> None:
    for data_type in (UNKNOWN, UNKNOWN | {"fallback": "nothing"}, UNKNOWN | {"fallback": []}):
        assert problem_paths(array(2022, data_type=data_type), 2022) == ["$.data_type.extension"]
    known = {"extension": f"{TYPES}/datetime/1.0", "type": "<M8[fortnight]", "fallback": "int64"}
    assert warning_paths(array(2022, data_type=known), 2022) == ["$.data_type"]
    assert problem_paths(array(2022, data_type={"type": "x"}), 2022) == ["$.data_type.extension"]
    assert problem_paths(array(2022, data_type={"extension": "x:y"}), 2022) == ["$.data_type.type"]


def test_S18_use_fallback_false_rejects_a_fallback() -> None:
    document = array(2022, data_type=UNKNOWN | {"fallback": "int16"})
    assert problem_paths(document, 2022, use_fallback=False) == ["$.data_type"]
    store = store_of({"zarr.json": entry(2022), "meta/a.array.json": document})
    with pytest.warns(OmnizarrWarning, match="fallback") as seen:
        z = omnizarr.open_array(store, path="a")
    assert len(seen) == 1
    assert z[0, 0] == 7
    with pytest.raises(MetadataError, match="use_fallback"):
        omnizarr.open_array(store, path="a", use_fallback=False)


@pytest.mark.parametrize("year", [2020, 2022])
def test_S18_S24_the_fill_value_of_an_unknown_type_need_not_fit_the_fallback(year: Any) -> None:
    """Only the extension can interpret it."""
    document = array(year, data_type=UNKNOWN | {"fallback": "r24"}, fill_value="#ff8000")
    assert warning_paths(document, year) == ["$.data_type", "$.fill_value"]
    model = read(document, year)
    assert bytes(model.filler) == bytes(3)
    assert dumped(model, year)["fill_value"] == "#ff8000"
    assert bytes(read(document | {"fill_value": "0xff8000"}, year).filler) == b"\xff\x80\0"


@pytest.mark.parametrize(
    ("draft", "dtype", "given", "written"),
    [
        ("3-draft-2022", "<M8[ns]", "int64", "int64"),
        ("3-draft-2022", "<M8[ns]", ["<i8", "r64"], ["int64", "r64"]),
        ("3-draft-2022", "S3", "r24", "r24"),
        ("3-draft-2022", [("x", "<i2"), ("y", "<i2")], "uint32", "uint32"),
        ("3-draft-2020", "<M8[ns]", "int64", "<i8"),
        ("3-draft-2020", ">m8[s]", "<i8", ">i8"),
        ("3-draft-2020", "<c8", ["r64"], "r64"),
    ],
)
def test_S18_T8_A1_a_fallback_is_written_in_the_form_of_the_draft(
    draft: Any, dtype: Any, given: Any, written: Any
) -> None:
    z = omnizarr.create_array(MemoryStore(), shape=3, dtype=np.dtype(dtype), fallback=given, zarr_format=draft)
    assert dumped(z.metadata, 2022 if "2022" in draft else 2020)["data_type"]["fallback"] == written
    is_default = draft == "3-draft-2022" and written in ("int64", "r24")
    assert omnizarr.open_array(z.store).metadata.fallback == (None if is_default else written)


@pytest.mark.parametrize(
    ("dtype", "fallback"),
    [
        ("M8[s]", "int32"),
        ("M8[s]", "nothing"),
        ("M8[s]", {"x": 1}),
        ("M8[s]", []),
        ("M8[s]", ["r64", 5]),
        ("i4", "r32"),
    ],
)
@pytest.mark.parametrize("draft", ["3-draft-2020", "3-draft-2022"])
def test_S18_an_invalid_fallback_is_rejected(draft: Any, dtype: str, fallback: Any) -> None:
    store = MemoryStore()
    with pytest.raises(ArgumentError, match="fallback"):
        omnizarr.create_array(store, shape=3, dtype=dtype, fallback=fallback, zarr_format=draft)
    assert list(store.list()) == []


@pytest.mark.parametrize("dtype", ["int4", "bfloat16", "complex_bfloat16", "float8_e5m2"])
@pytest.mark.parametrize("draft", ["3-draft-2020", "3-draft-2022"])
def test_S15_a_type_of_version_3_is_not_written_as_another(draft: Any, dtype: str) -> None:
    with pytest.raises(ArgumentError, match=dtype):
        omnizarr.create_array(MemoryStore(), shape=3, dtype=dtype, zarr_format=draft)


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        ("bool", True, True),
        ("int16", -5, -5),
        ("uint8", 255, 255),
        ("float32", 1.5, 1.5),
        ("float32", 2, 2.0),
        ("float32", "NaN", np.nan),
        ("float64", "+Infinity", np.inf),
        ("float64", "Infinity", np.inf),
        ("float64", "-Infinity", -np.inf),
        ("float32", "0x3f800000", 1.0),
        ("float16", "0b0011110000000000", 1.0),
        ("int16", "0xffff", -1),
        ("complex64", [1, "-Infinity"], complex(1, -np.inf)),
        ("complex64", 2.5, 2.5),
        ("complex64", "0x3f80000040000000", 1 + 2j),
        ("r16", "0x0102", b"\1\2"),
        ("r16", "0b0000000100000010", b"\1\2"),
    ],
)
def test_S24_A9_A62_A63_fill_values(data_type: str, value: Any, expected: Any) -> None:
    model = read(array(2022, data_type=data_type, fill_value=value), 2022)
    assert model.fill is not None
    fill = model.fill.tobytes() if model.dtype.kind == "V" else model.fill[()]
    assert fill == expected or fill != fill
    assert dumped(model, 2022)["fill_value"] == value  # in the same form


@pytest.mark.parametrize(
    ("dtype", "value", "written"),
    [
        ("?", True, True),
        ("i2", -5, -5),
        ("f4", np.nan, "NaN"),
        ("f8", np.inf, "+Infinity"),
        ("f8", -np.inf, "-Infinity"),
        ("f4", np.array(0x7FC00001, "u4").view("f4")[()], "0x7fc00001"),
        ("c8", 1 + 2j, "0x3f80000040000000"),
        ("V2", np.void(b"\1\2"), "0x0102"),
    ],
)
def test_S24_T12_A9_A62_A63_written_fill_values(dtype: str, value: Any, written: Any) -> None:
    assert dumped(create(shape=3, dtype=dtype, fill_value=value).metadata, 2022)["fill_value"] == written
    z = omnizarr.create_array(MemoryStore(), shape=3, dtype=dtype, fill_value=value, zarr_format="3-draft-2020")
    written = [1.0, 2.0] if dtype == "c8" else written  # not a core type in 2020: the form of zarr-python 2
    assert dumped(z.metadata, 2020)["fill_value"] == written


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        ("bool", 0),
        ("int16", 1.0),
        ("int16", 70000),
        ("int16", "7"),
        ("int16", True),
        ("uint8", -1),
        ("float32", "0x3f8000"),
        ("float32", "nan"),
        ("float32", None),
        ("int16", None),
        ("complex64", [1]),
        ("complex64", "NaN"),
        ("r16", "0x01"),
        ("r16", 0),
    ],
)
def test_S24_invalid_fill_values(data_type: str, value: Any) -> None:
    assert problem_paths(array(2022, data_type=data_type, fill_value=value), 2022) == ["$.fill_value"]


def test_S24_A6_null_is_the_default_for_extension_types() -> None:
    kind = {"extension": f"{TYPES}/datetime/1.0", "type": "<M8[ns]"}
    document = array(2022, data_type=kind, fill_value=None)
    assert warning_paths(document, 2022) == ["$.fill_value"]
    assert read(document, 2022).fill is not None
    undefined = replace(read(array(2022), 2022), fill=None)
    assert dialect_for("3-draft-2022").losses("a", undefined) == ["the draft of 2022 has no undefined fill value"]


def test_S25_a_default_is_recorded() -> None:
    assert dumped(create(shape=3, dtype="f8").metadata, 2022)["fill_value"] == 0.0
    assert dumped(create(shape=3, dtype="f8", fill_value=None).metadata, 2022)["fill_value"] == 0.0


@pytest.mark.parametrize("kind", ["complex64", "<c8"])
def test_S78_complex_numbers(kind: str) -> None:
    """The extension defines no types, so those of the core apply."""
    document = array(2022, data_type={"extension": f"{TYPES}/complex/1.0", "type": kind}, fill_value=[0, 1])
    assert read(document, 2022).dtype == np.dtype("c8")


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"])
def test_S79_datetimes(unit: str) -> None:
    for kind in "Mm":
        for order in "<>":
            data_type = {"extension": f"{TYPES}/datetime/1.0", "type": f"{order}{kind}8[{unit}]"}
            model = read(array(2022, data_type=data_type, fill_value=-5), 2022)
            assert model.dtype == np.dtype(f"{kind}8[{unit}]")
            assert model.codecs == (Bytes("little" if order == "<" else "big"),)
            assert model.fill is not None
            assert model.fill == np.array(-5).astype(model.dtype)  # counted from 1970


@pytest.mark.parametrize("draft", ["3-draft-2020", "3-draft-2022"])
def test_S79_multiples_of_units_are_read_and_not_written(draft: Any) -> None:
    data_type = {"extension": f"{TYPES}/datetime/1.0", "type": "<M8[10us]"}
    assert read(array(2022, data_type=data_type), 2022).dtype == np.dtype("M8[10us]")
    with pytest.raises(ArgumentError, match=r"no multiples of a unit of time, such as in `M8\[10us\]`"):
        omnizarr.create_array(MemoryStore(), shape=3, dtype="<M8[10us]", zarr_format=draft)


@pytest.mark.parametrize("kind", ["M8[ns]", "<M8", "<M8[x]", "M8", 8, ["<M8[ns]"], "<i8"])
def test_S79_byte_order_and_unit_are_mandatory(kind: Any) -> None:
    assert problem_paths(array(2022, data_type={"extension": f"{TYPES}/datetime/1.0", "type": kind}), 2022) != []


@pytest.mark.parametrize(("kind", "dtype"), [("S3", "S3"), ("<U2", "U2"), (">U2", "U2"), ("|S3", "S3")])
def test_S80_strings(kind: str, dtype: str) -> None:
    document = array(2022, data_type={"extension": f"{TYPES}/string/1.0", "type": kind}, fill_value="ab")
    model = read(document, 2022)
    assert model.dtype == np.dtype(dtype)
    assert model.fill is not None
    assert model.fill[()] == np.array("ab", dtype)[()]
    assert problem_paths(document | {"fill_value": "too long"}, 2022) == ["$.fill_value"]
    written = dumped(create(shape=3, dtype=np.dtype(dtype)).metadata, 2022)
    assert written["data_type"]["type"] == kind.replace(">", "<").removeprefix("|")
    assert written["fill_value"] == ""


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("S3", b"a\0\0bcd"),
        ("<U2", "a\0bc".encode("utf-32-le")),
        (">U2", "a\0bc".encode("utf-32-be")),
    ],
)
def test_S80_strings_are_padded_with_zeros(kind: str, stored: bytes) -> None:
    document = array(
        2022,
        shape=[2],
        chunk_grid=grid(chunk_shape=[2]),
        data_type={"extension": f"{TYPES}/string/1.0", "type": kind},
        fill_value="",
    )
    store = store_of({"zarr.json": entry(2022), "meta/a.array.json": document, "data/a/c0": stored})
    z = omnizarr.open_array(store, path="a")
    texts = [b"a", b"bcd"] if kind == "S3" else ["a", "bc"]
    assert z[...].tolist() == texts
    store.erase("data/a/c0")
    z[...] = texts
    assert store.get("data/a/c0") == stored


def test_S81_structs() -> None:
    fields = [["x", "<i2"], ["y", ">f4"], ["z", "S2"], ["b", "bool"]]
    document = array(
        2022, data_type={"extension": f"{TYPES}/struct/1.0", "type": fields}, fill_value=[1, "NaN", "ab", True]
    )
    model = read(document, 2022)
    assert model.dtype == np.dtype([("x", "i2"), ("y", "f4"), ("z", "S2"), ("b", "?")])
    assert model.dtype.itemsize == 9
    assert problem_paths(document | {"fill_value": [1, 2]}, 2022) == ["$.fill_value"]
    assert problem_paths(document | {"fill_value": [1, 2, "abc", True]}, 2022) == ["$.fill_value[2]"]
    written = dumped(create(shape=3, dtype=[("x", "<i2"), ("z", "S2")], fill_value=(3, b"q")).metadata, 2022)
    data_type = {"extension": f"{TYPES}/struct/1.0", "type": [["x", "<i2"], ["z", "|S2"]], "fallback": "r32"}
    assert written["data_type"] == data_type
    assert written["fill_value"] == [3, "q"]


def test_S82_Z6_there_are_no_objects() -> None:
    with pytest.raises(ArgumentError):
        create(shape=3, dtype=object, serializer="vlen-utf8")
    with pytest.raises(ArgumentError):
        create(shape=3, dtype=np.dtypes.StringDType())


def test_A1_types_of_both_drafts() -> None:
    assert read(array(2022, data_type=">i2"), 2022).codecs == (Bytes("big"),)
    assert read(array(2020, data_type="int16"), 2020).dtype == np.dtype("i2")
    little = BIG | {"configuration": {"endian": "little"}}
    assert read(array(2022, data_type=">i2", codecs=[little]), 2022).codecs == (Bytes("little"),)
