"""Fallback types and fields of structs, of the core and of extensions (S17, S18, S81)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.extending.test_generations import URI, Switch
from tests.formats.draft.documents import array, both, entry, problem_paths, read, store_of, warning_paths
from tests.registries import restoring_all

import omnizarr
from omnizarr.dtypes import DataType
from omnizarr.dtypes.struct_ import Struct
from omnizarr.errors import ArgumentError, OmnizarrWarning

STRUCT = "https://purl.org/zarr/spec/extensions/data-types/struct/1.0"
SWITCH = {"extension": f"{URI}/switch", "type": "switch"}
UNKNOWN = {"extension": "https://example.org/unknown", "type": "x"}


@pytest.fixture(autouse=True)
def _register_switch() -> Iterator[None]:
    with restoring_all():

        @omnizarr.register_data_type(f"{URI}/switch")
        def parse(name: str, configuration: Any, path: str, problems: Any) -> DataType | None:
            if configuration == {"type": "switch"}:
                return Switch(name)
            problems.add(path, f"expected a switch, found {configuration}")
            return None

        yield


def document(store: Any) -> Any:
    (key,) = (key for key in store.list() if "array.json" in key)
    return json.loads(bytes(store.get(key) or b""))


# -- fallbacks that are written


@pytest.mark.parametrize(
    ("dtype", "fallback"),
    [
        *(("<M8[ns]", "int64"), (">m8[s]", "int64"), ("S3", "r24"), ("<U2", "r64")),
        ([("x", "<i2"), ("y", ">f4")], "r48"),
        ({"name": f"{URI}/switch", "configuration": {"type": "switch"}}, "r8"),
    ],
)
def test_S18_types_of_extensions_have_a_fallback_by_default(dtype: Any, fallback: str) -> None:
    z = omnizarr.create_array({}, shape=3, dtype=dtype, zarr_format="3-draft-2022")
    assert document(z.store)["data_type"]["fallback"] == fallback
    # It does not count as the user's own, which other generations could not express.
    assert omnizarr.open_array(z.store).metadata.fallback is None
    z.attrs["a"] = 1
    assert document(z.store)["data_type"]["fallback"] == fallback
    assert omnizarr.from_array({}, data=z).data_type == z.data_type


@pytest.mark.parametrize("dtype", ["<i4", "<c8", "V3", "?"])
def test_S18_core_types_have_no_fallback(dtype: str) -> None:
    z = omnizarr.create_array({}, shape=3, dtype=dtype, zarr_format="3-draft-2022")
    assert isinstance(document(z.store)["data_type"], str)


def test_T8_the_draft_of_2020_has_no_default_fallback() -> None:
    z = omnizarr.create_array({}, shape=3, dtype="<M8[ns]", zarr_format="3-draft-2020")
    assert "fallback" not in document(z.store)["data_type"]


@pytest.mark.parametrize("order", ["<", ">"])
def test_S18_readers_that_do_not_know_the_type_read_the_fallback(order: str) -> None:
    data = np.array([0, 5, -7], f"{order}M8[s]")
    z = omnizarr.create_array({}, data=data, zarr_format="3-draft-2022")
    stored = document(z.store)
    stored["data_type"] |= {"extension": UNKNOWN["extension"]}
    z.store.set("meta/array.json", json.dumps(stored).encode())
    with pytest.warns(OmnizarrWarning, match="fallback `int64`"):
        assert omnizarr.open_array(z.store)[...].tolist() == [0, 5, -7]


def test_S18_an_extension_defines_its_default_fallback() -> None:
    class Toggle(Switch):
        fallback: ClassVar[Any] = ["bool", "r8"]

    with restoring_all():
        omnizarr.register_data_type(f"{URI}/toggle")(lambda name, configuration, path, problems: Toggle(name))
        z = omnizarr.create_array({}, shape=3, dtype=Toggle(f"{URI}/toggle"), zarr_format="3-draft-2022")
        assert document(z.store)["data_type"]["fallback"] == ["bool", "r8"]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        *(("<M8[s]", "<M8[s]"), ("S8", "S8"), (["<U2", "float64", "r64"], ["<U2", "float64", "r64"])),
        ([["x", "<i4"], ["y", "<f4"]], [[["x", "<i4"], ["y", "<f4"]]]),
        ([[["x", "<i4"], ["y", "<f4"]], "r64"], [[["x", "<i4"], ["y", "<f4"]], "r64"]),
        ({"extension": STRUCT, "type": [["x", "r64"]]}, [[["x", "|V8"]]]),
    ],
)
def test_S18_types_of_extensions_as_fallbacks(given: Any, written: Any) -> None:
    z = omnizarr.create_array({}, shape=3, dtype="<m8[ns]", fallback=given, zarr_format="3-draft-2022")
    assert document(z.store)["data_type"]["fallback"] == written
    assert omnizarr.open_array(z.store).metadata.fallback == written
    unknown = array(2022, data_type=UNKNOWN | {"fallback": written}, fill_value=0)
    assert read(unknown, 2022).dtype.itemsize == 8
    assert "$.data_type" in warning_paths(unknown, 2022)
    with pytest.raises(ArgumentError, match="`fallback`: expected a core data type of 8 bytes"):
        omnizarr.create_array({}, shape=3, dtype="<m8[ns]", fallback=given, zarr_format="3-draft-2020")


def test_S18_a_third_party_type_as_fallback() -> None:
    z = omnizarr.create_array({}, shape=3, dtype="S1", fallback=SWITCH, zarr_format="3-draft-2022")
    assert document(z.store)["data_type"]["fallback"] == SWITCH
    fallbacks = [UNKNOWN, {"extension": f"{URI}/switch", "type": "other"}, SWITCH, "r8"]
    unknown = array(2022, data_type=UNKNOWN | {"fallback": fallbacks}, fill_value="on")
    model = read(unknown, 2022)
    assert model.data_type == Switch(f"{URI}/switch")
    assert model.filler == 1


# -- fields of structs


@both
def test_S17_S81_raw_bits_as_fields(draft: Any) -> None:
    year: Any = int(draft[-4:])
    fields = [["a", "r24"], ["b", "int16"], ["c", [["d", "r8"], ["e", "S1"]]]]
    model = read(array(year, data_type={"extension": STRUCT, "type": fields}, fill_value="0x" + "00" * 7), year)
    assert model.dtype == np.dtype([("a", "V3"), ("b", "<i2"), ("c", [("d", "V1"), ("e", "S1")])])
    assert problem_paths(array(year, data_type={"extension": STRUCT, "type": [["a", "r7"]]}), year) != []


@both
def test_S81_types_of_extensions_as_fields(draft: Any) -> None:
    dtype = Struct((("a", Switch(f"{URI}/switch")), ("b", omnizarr.create_array(shape=1, dtype="<f4").data_type)))
    data = np.array([(1, 2.5), (0, -1)], dtype.dtype)
    z = omnizarr.create_array({}, data=data, dtype=dtype, fill_value=("on", 3), zarr_format=draft)
    assert document(z.store)["data_type"]["type"] == [["a", SWITCH], ["b", "<f4"]]
    again = omnizarr.open_array(z.store)
    assert again.data_type == dtype
    assert again[...].tolist() == data.tolist()
    again.resize(3)
    assert omnizarr.open_array(z.store)[2].tolist() == (1, 3.0)
    if draft == "3-draft-2022":
        assert document(z.store)["fill_value"] == ["on", 3.0]


def test_S81_fields_of_mixed_byte_orders_and_nested_structs() -> None:
    inner = [["s", SWITCH], ["t", {"extension": STRUCT.replace("struct", "datetime"), "type": ">M8[s]"}]]
    fields = [["a", ">i2"], ["b", inner], ["c", "r16"]]
    document_ = array(
        2022,
        shape=[2],
        chunk_grid={"type": "regular", "chunk_shape": [2], "separator": "/"},
        data_type={"extension": STRUCT, "type": fields},
        fill_value=[1, ["on", 5], "0x0102"],
    )
    raw = bytes.fromhex("0102010000000000000007aabb") + bytes.fromhex("00030000000000000000000000")
    store = store_of({"zarr.json": entry(2022), "meta/a.array.json": document_, "data/a/c0": raw})
    z = omnizarr.open_array(store, path="a")
    assert z["a"].tolist() == [0x0102, 3]
    assert z["b"]["t"].astype("i8").tolist() == [7, 0]
    assert z["b"]["s"].tolist() == [1, 0]
    z[...] = z[...]
    assert store.get("data/a/c0") == raw
    store.erase("data/a/c0")
    assert z[0]["a"] == 1
    assert z[0]["b"]["s"] == 1


def test_S81_an_unknown_type_of_a_field() -> None:
    fields = [["a", UNKNOWN], ["b", "<i2"]]
    paths = problem_paths(array(2022, data_type={"extension": STRUCT, "type": fields}), 2022)
    assert paths == ["$.data_type.type[0][1].extension"]
    known = [["a", UNKNOWN | {"fallback": "int16"}], ["b", "<i2"]]
    document_ = array(2022, data_type={"extension": STRUCT, "type": known}, fill_value=[1, 2])
    assert read(document_, 2022).dtype == np.dtype([("a", "<i2"), ("b", "<i2")])
    assert warning_paths(document_, 2022) == ["$.data_type.type[0][1]"]
    whole = array(2022, data_type={"extension": STRUCT, "type": fields, "fallback": "r32"}, fill_value="0x00000000")
    assert read(whole, 2022).dtype == np.dtype("V4")


@pytest.mark.parametrize("field", [["", SWITCH], ["a"], ["a", SWITCH, [2]], 5, ["a", SWITCH, 1], ["a", None]])
def test_S81_invalid_fields(field: Any) -> None:
    data_type = {"extension": STRUCT, "type": [field, ["b", SWITCH]]}
    assert problem_paths(array(2022, data_type=data_type), 2022) != []
    deep: Any = SWITCH
    for _ in range(100):
        deep = [["x", deep]]
    assert problem_paths(array(2022, data_type={"extension": STRUCT, "type": deep}), 2022) != []
