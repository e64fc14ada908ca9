"""Data types under zarr-python's own names: `structured`, before `struct` was registered, and `raw_bytes`."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.documents import LITTLE, array_document, dumped, parsed, sharding

import omnizarr
from omnizarr.codecs import Bytes, Sharding
from omnizarr.dtypes import data_type_of
from omnizarr.errors import ArgumentError
from omnizarr.model import ArrayModel

BIG = {"name": "bytes", "configuration": {"endian": "big"}}
BARE = {"name": "bytes"}
PAIRS = {"name": "structured", "configuration": {"fields": [["x", "float32"], ["y", "int16"]]}}
OBJECTS = {
    "name": "structured",
    "configuration": {"fields": [{"name": "x", "data_type": "float32"}, {"name": "y", "data_type": "int16"}]},
}
MODERN = {**OBJECTS, "name": "struct"}
ZEROS = base64.b64encode(bytes(6)).decode()
RAW = {"name": "raw_bytes", "configuration": {"length_bytes": 3}}


def structured(**changes: Any) -> dict[str, Any]:
    return array_document(**{"data_type": PAIRS, "fill_value": ZEROS, "codecs": [LITTLE], **changes})


def read(document: Any) -> ArrayModel:
    node, problems = parsed(document)
    assert isinstance(node, ArrayModel), problems.found
    return node


def warnings_of(document: Any) -> list[tuple[str, str]]:
    _, problems = parsed(document)
    return [(problem.path, problem.message) for problem in problems.warnings]


@pytest.mark.parametrize("data_type", [PAIRS, OBJECTS])
def test_R150_structured_is_read_as_a_struct(data_type: Any) -> None:
    model = read(structured(data_type=data_type))
    assert model.data_type == data_type_of([("x", "f4"), ("y", "i2")])
    assert warnings_of(structured(data_type=data_type)) == []


def test_R150_the_examples_of_the_registry() -> None:
    fields = {"fields": [["x", "float32"], ["y", "float32"]]}
    document = structured(data_type={"name": "structured", "configuration": fields}, fill_value="AAAAAAAAAAA=")
    model = read(document)
    assert model.dtype == np.dtype([("x", "f4"), ("y", "f4")])
    assert model.fill is not None
    assert model.fill.tobytes() == bytes(8)


def test_R150_pairs_may_be_nested() -> None:
    inner = {"name": "structured", "configuration": {"fields": [["z", RAW]]}}
    outer = {"name": "structured", "configuration": {"fields": [["a", "bool"], ["b", inner]]}}
    model = read(structured(data_type=outer, fill_value=base64.b64encode(b"\1abc").decode(), codecs=[BARE]))
    assert model.dtype == np.dtype([("a", "?"), ("b", [("z", "V3")])])
    assert model.fill is not None
    assert model.fill["a"]
    assert bytes(model.fill["b"]["z"]) == b"abc"


@pytest.mark.parametrize("codec", [BARE, sharding(codecs=[BARE]), sharding(codecs=[sharding(codecs=[BARE])])])
def test_R150_a_missing_byte_order_is_little_with_a_warning(codec: dict[str, Any]) -> None:
    model = read(structured(codecs=[codec]))
    inner = model.codecs[0]
    while isinstance(inner, Sharding):
        inner = inner.codecs[0]
    assert inner == Bytes("little")
    assert warnings_of(structured(codecs=[codec])) == [
        ("$.codecs", "`bytes` has no byte order for `structured` elements: little-endian is assumed")
    ]


def test_R150_types_without_byte_order_cause_no_warning() -> None:
    single = {"name": "structured", "configuration": {"fields": [["a", "uint8"], ["b", "bool"]]}}
    document = structured(data_type=single, fill_value="AAA=", codecs=[BARE])
    assert read(document).codecs == (Bytes(),)
    assert warnings_of(document) == []


def test_R149_struct_requires_endian_and_allows_neither_pairs_nor_base64() -> None:
    fill = {"x": 0.0, "y": 0}
    for changes in (
        {"codecs": [BARE], "fill_value": fill},
        {"data_type": {**PAIRS, "name": "struct"}, "fill_value": fill},
        {"fill_value": ZEROS},
    ):
        node, problems = parsed(structured(**{"data_type": MODERN, **changes}))
        assert node is None
        assert problems.found


@pytest.mark.parametrize(("codec", "order"), [(LITTLE, "<"), (BIG, ">"), (BARE, "<"), (sharding(codecs=[BIG]), ">")])
def test_R150_a_base64_fill_value_has_the_byte_order_of_chunks(codec: Any, order: str) -> None:
    packed = np.array((1.5, -2), np.dtype([("x", f"{order}f4"), ("y", f"{order}i2")])).tobytes()
    model = read(structured(fill_value=base64.b64encode(packed).decode(), codecs=[codec]))
    assert model.fill is not None
    assert model.fill.dtype == model.dtype
    assert model.fill.tolist() == (1.5, -2)


def test_R150_the_fill_value_may_be_an_object() -> None:
    model = read(structured(fill_value={"x": "NaN", "y": -3}))
    assert model.fill is not None
    assert np.isnan(model.fill["x"])
    assert model.fill["y"] == -3


@pytest.mark.parametrize("fill", ["AAAA", "no base64", "AAAAAAAAAAAAAAAA", 0, [0, 0]])
def test_R150_other_fill_values_are_rejected(fill: Any) -> None:
    node, problems = parsed(structured(fill_value=fill))
    assert node is None
    assert [problem.path for problem in problems.found] == ["$.fill_value"]


@pytest.mark.parametrize(
    "fields",
    [[["x"]], [["x", "float32", 1]], [[1, "float32"]], [["x", "string"]], ["x"], [], [["x", "int8"], ["x", "int8"]]],
)
def test_R150_other_fields_are_rejected(fields: Any) -> None:
    node, problems = parsed(structured(data_type={"name": "structured", "configuration": {"fields": fields}}))
    assert node is None
    assert problems.found[0].path.startswith("$.data_type")


@pytest.mark.parametrize("codecs", [[LITTLE], [BARE], [BIG]])
def test_R150_existing_documents_are_written_back_unchanged(codecs: list[Any]) -> None:
    document = structured(codecs=codecs)
    assert dumped(read(document)) == document


def test_R150_new_arrays_have_the_type_struct(tmp_path: Path) -> None:
    for place, dtype in (("a", PAIRS), ("b", OBJECTS)):
        omnizarr.create_array(tmp_path / place, shape=2, dtype=dtype)
        assert json.loads((tmp_path / place / "zarr.json").read_text())["data_type"] == MODERN


@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")
def test_R150_copies_of_old_arrays_have_the_type_struct(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/zarr.json").write_text(json.dumps(structured(codecs=[BARE])))
    old = omnizarr.open_array(tmp_path / "old", mode="r+")
    old[0, 0] = (1.5, 2)
    old.attrs["b"] = 2
    assert json.loads((tmp_path / "old/zarr.json").read_text()) == structured(
        codecs=[BARE], attributes={"a": 1, "b": 2}
    )
    omnizarr.empty_like(old, store=tmp_path / "new")
    new = json.loads((tmp_path / "new/zarr.json").read_text())
    assert new["data_type"] == MODERN
    assert new["fill_value"] == {"x": 0.0, "y": 0}
    assert (tmp_path / "old/c/0/0").read_bytes()[:6].hex() == "0000c03f0200"


# -- raw bits


def test_A47_raw_bytes_are_raw_bits() -> None:
    document = array_document(data_type=RAW, fill_value="AQL/", codecs=[BARE])
    model = read(document)
    assert model.data_type == data_type_of("r24")
    assert model.fill is not None
    assert model.fill.tobytes() == b"\1\2\xff"
    assert dumped(model) == document
    assert data_type_of(RAW).to_json() == "r24"


@pytest.mark.parametrize(
    "configuration",
    [{}, {"length_bytes": 0}, {"length_bytes": 2**40}, {"length_bytes": "3"}, {"length_bytes": 3, "x": 1}],
)
def test_A47_raw_bytes_need_a_length(configuration: Any) -> None:
    node, problems = parsed(array_document(data_type={"name": "raw_bytes", "configuration": configuration}))
    assert node is None
    assert problems.found[0].path.startswith("$.data_type.configuration")
    with pytest.raises(ArgumentError, match="length_bytes"):
        data_type_of("raw_bytes")


def test_A47_raw_bytes_within_a_struct_are_written_back_unchanged() -> None:
    data_type = {"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": RAW}]}}
    document = array_document(data_type=data_type, fill_value={"a": "AAAA"}, codecs=[BARE])
    model = read(document)
    assert model.dtype == np.dtype([("a", "V3")])
    assert dumped(model) == document
