"""Forms before version 3.0 (§1.7), which are read with a warning and never written."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.formats.documents import (
    LITTLE,
    array_document,
    dumped,
    group_document,
    parsed,
    problem_paths,
    sharding,
    warning_paths,
)

import omnizarr
from omnizarr.codecs import Bytes, Transpose
from omnizarr.errors import ChunkError, OmnizarrWarning, ReadOnlyError
from omnizarr.model import ArrayModel


def read(document: Any) -> ArrayModel:
    node, problems = parsed(document)
    assert isinstance(node, ArrayModel), problems.found
    return node


def test_codec_endian_is_bytes() -> None:
    document = array_document(codecs=[{"name": "endian", "configuration": {"endian": "big"}}])
    assert dumped(read(document))["codecs"] == [{"name": "bytes", "configuration": {"endian": "big"}}]


def test_type_instead_of_name() -> None:
    document = array_document(codecs=[LITTLE, {"type": "gzip", "configuration": {"level": 1}}])
    assert warning_paths(document) == ["$.codecs[1].type"]
    assert dumped(read(document)) == array_document()


@pytest.mark.parametrize(("order", "permutation"), [("C", [0, 1]), ("F", [1, 0])])
def test_transpose_orders_as_letters(order: str, permutation: list[int]) -> None:
    transpose = {"name": "transpose", "configuration": {"order": order}}
    document = array_document(codecs=[transpose, LITTLE])
    assert read(document).codecs == (Transpose(permutation), Bytes("little"))
    assert warning_paths(document) == ["$.codecs[0].configuration.order"]
    inner = dumped(read(array_document(codecs=[sharding(codecs=[transpose, LITTLE])])))
    assert inner["codecs"][0]["configuration"]["codecs"][0]["configuration"] == {"order": permutation}


@pytest.mark.parametrize(
    ("codecs", "written"),
    [
        (["gzip"], ["bytes", "gzip"]),
        ([{"name": "transpose", "configuration": {"order": [1, 0]}}], ["transpose", "bytes"]),
        ([{"name": "transpose", "configuration": {"order": [1, 0]}}, "gzip"], ["transpose", "bytes", "gzip"]),
    ],
)
def test_no_array_to_bytes_codec_means_bytes(codecs: Any, written: list[str]) -> None:
    codecs = [{"name": "gzip", "configuration": {"level": 1}} if codec == "gzip" else codec for codec in codecs]
    document = array_document(codecs=codecs)
    assert warning_paths(document) == ["$.codecs"]
    assert [codec["name"] for codec in dumped(read(document))["codecs"]] == written


def test_bytes_is_not_added_if_another_codec_is_invalid() -> None:
    assert problem_paths(array_document(codecs=[{"name": "bytes", "configuration": {"endian": "x"}}])) == [
        "$.codecs[0].configuration.endian"
    ]


def test_a_wrong_order_is_reported_even_without_an_array_to_bytes_codec() -> None:
    gzip = {"name": "gzip", "configuration": {"level": 1}}
    transpose = {"name": "transpose", "configuration": {"order": [1, 0]}}
    assert problem_paths(array_document(codecs=[gzip, transpose])) == ["$.codecs[2]"]


def test_plus_infinity_and_fallback_and_extensions() -> None:
    document = array_document(data_type={"name": "float32", "fallback": "int32"}, fill_value="+Infinity", extensions=[])
    assert set(warning_paths(document)) == {"$.data_type", "$.data_type.fallback", "$.fill_value", "$.extensions"}
    written = dumped(read(document))
    assert written["fill_value"] == "Infinity"
    assert "extensions" not in written


def test_nonempty_extensions_are_an_error() -> None:
    assert problem_paths(array_document(extensions=[{"extension": "x"}])) == ["$.extensions"]


@pytest.mark.parametrize("document", [array_document("codecs"), array_document(codecs=[]), array_document(codecs=None)])
def test_without_codecs_elements_are_stored_plainly(document: dict[str, Any]) -> None:
    assert warning_paths(document) == ["$.codecs"]
    assert dumped(read(document))["codecs"] == [LITTLE]


def test_elements_of_variable_size_need_a_codec() -> None:
    assert problem_paths(array_document("codecs", data_type="string", fill_value="")) == ["$.codecs[0]"]


@pytest.mark.parametrize("member", ["dimension_names", "attributes", "storage_transformers"])
def test_null_means_absent(member: str) -> None:
    assert read(array_document(**{member: None})) == read(array_document(member))


def test_null_in_groups() -> None:
    assert problem_paths(group_document(attributes=None, consolidated_metadata=None)) == []


def without_index_codecs(checksum: bool) -> tuple[omnizarr.MemoryStore, np.ndarray]:
    """A sharded array of early 2023, whose document does not have the codecs of the index."""
    store = omnizarr.MemoryStore()
    values = np.arange(60, dtype="int16").reshape(10, 6)
    codec = sharding(index_codecs=[LITTLE, {"name": "crc32c"}] if checksum else [LITTLE])
    z = omnizarr.create_array(store, shape=(10, 6), dtype="int16", chunks=(4, 3), serializer=codec)
    z[...] = values
    document = json.loads(bytes(store.get("zarr.json") or b""))
    del document["codecs"][0]["configuration"]["index_codecs"]
    store.set("zarr.json", json.dumps(document).encode())
    return store, values


@pytest.mark.parametrize("checksum", [True, False])
def test_shards_without_index_codecs_are_read_with_a_checksum_or_without(checksum: bool) -> None:
    store, values = without_index_codecs(checksum)
    with pytest.warns(OmnizarrWarning, match="index_codecs: is missing"):
        z = omnizarr.open_array(store)
    np.testing.assert_array_equal(z[...], values)
    assert z[9, 5] == 59
    assert z[0, 0] == 0
    assert z.nchunks_initialized == z.nchunks


def test_shards_without_index_codecs_are_not_written_and_their_document_is_kept() -> None:
    store, _ = without_index_codecs(True)
    with pytest.warns(OmnizarrWarning):
        z = omnizarr.open_array(store)
    with pytest.raises(ReadOnlyError, match="index"):
        z[0, 0] = 5
    z.attrs["x"] = 1
    assert "index_codecs" not in json.loads(bytes(store.get("zarr.json") or b""))["codecs"][0]["configuration"]


def test_a_copy_of_such_an_array_has_index_codecs() -> None:
    store, values = without_index_codecs(False)
    with pytest.warns(OmnizarrWarning):
        copy = omnizarr.from_array(None, data=omnizarr.open_array(store))
    np.testing.assert_array_equal(copy[...], values)
    assert [codec["name"] for codec in dumped(copy.metadata)["codecs"][0]["configuration"]["index_codecs"]] == [
        "bytes",
        "crc32c",
    ]


def test_a_shard_that_is_too_short_raises_our_error() -> None:
    store, _ = without_index_codecs(False)
    store.set("c/0/0", b"short")
    with pytest.warns(OmnizarrWarning):
        z = omnizarr.open_array(store)
    with pytest.raises(ChunkError, match="too short"):
        z[0, 0]
