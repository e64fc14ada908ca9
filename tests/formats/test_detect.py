"""Detection of the generation from the documents at a path."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.formats.documents import array_document
from tests.formats.old_documents import array_v1, array_v2

import omnizarr
from omnizarr.errors import ArgumentError, MetadataError, NodeNotFoundError
from omnizarr.formats import DetectedNode, PossibleNode, ReadOptions, candidate_keys, confirm_node, detect
from omnizarr.testing import RecordingStore

GROUP = {"zarr_format": 2}


def filled(documents: dict[str, Any]) -> omnizarr.MemoryStore:
    store = omnizarr.MemoryStore()
    for key, document in documents.items():
        store.set(key, json.dumps(document).encode())
    return store


def generation(documents: dict[str, Any], path: str = "", zarr_format: Any = None) -> Any:
    """The `zarr_format` that is detected at `path`, or None."""
    detection = detect(path, documents, ReadOptions(), zarr_format)
    if isinstance(detection, PossibleNode):
        detection = confirm_node(detection, path, {key: documents[key] for key in detection.keys if key in documents})
    return detection.dialect.zarr_format if isinstance(detection, DetectedNode) else None


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ({"zarr.json": array_document()}, 3),
        ({".zarray": array_v2()}, 2),
        ({".zgroup": GROUP}, 2),
        ({"meta": array_v1()}, 1),
        ({"meta": array_v1(), "attrs": {}}, 1),
        ({".zattrs": {"a": 1}}, None),
        ({"meta": {"zarr_format": 2}}, None),
        ({"meta": "text"}, None),
        ({}, None),
        ({"zarr.json": array_document(), ".zarray": array_v2(), "meta": array_v1()}, 3),
        ({".zarray": array_v2(), "meta": array_v1()}, 2),
        ({".zgroup": GROUP, "meta": array_v1()}, 2),
    ],
)
def test_newer_generations_take_precedence(documents: dict[str, Any], expected: Any) -> None:
    assert generation(documents) == expected
    assert generation({f"a/b/{key}": value for key, value in documents.items()}, "a/b") == expected


@pytest.mark.parametrize(("zarr_format", "expected"), [(3, 3), (2, 2), (1, 1)])
def test_zarr_format_selects_a_generation(zarr_format: Any, expected: Any) -> None:
    documents = {"zarr.json": array_document(), ".zarray": array_v2(), "meta": array_v1()}
    assert generation(documents, zarr_format=zarr_format) == expected
    assert omnizarr.open_array(filled(documents), zarr_format=zarr_format).zarr_format == expected


def test_two_generations_at_one_path_cause_a_warning() -> None:
    store = filled({"zarr.json": array_document(), ".zarray": array_v2()})
    with pytest.warns(omnizarr.OmnizarrWarning, match="both Zarr v3 and Zarr v2") as caught:
        assert omnizarr.open(store).zarr_format == 3
    assert len(caught) == 1
    assert omnizarr.open(store, zarr_format=2).zarr_format == 2


def test_an_array_takes_precedence_over_a_group_with_a_warning() -> None:
    store = filled({".zarray": array_v2(), ".zgroup": GROUP})
    with pytest.warns(omnizarr.OmnizarrWarning, match="also a `.zgroup`") as caught:
        assert isinstance(omnizarr.open(store), omnizarr.Array)
    assert len(caught) == 1


def test_A51_the_root_of_version_2_is_an_array_or_a_group() -> None:
    assert isinstance(omnizarr.open(filled({".zarray": array_v2()})), omnizarr.Array)
    assert isinstance(omnizarr.open(filled({".zgroup": GROUP})), omnizarr.Group)
    omnizarr.create_array(store := omnizarr.MemoryStore(), shape=3, dtype="i1", zarr_format=2)
    assert sorted(store.list()) == [".zarray"]


@pytest.mark.parametrize("draft", ["3-draft-2020", "3-draft-2022"])
@pytest.mark.parametrize("key", [".zarray", ".zgroup"])
def test_an_entry_point_takes_precedence_over_v2_with_a_warning(draft: Any, key: str) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store, zarr_format=draft).create_group("a")
    store.set(key, json.dumps(array_v2() if key == ".zarray" else GROUP).encode())
    with pytest.warns(omnizarr.OmnizarrWarning, match="`zarr_format=2` reads the other") as caught:
        assert omnizarr.open(store).zarr_format == draft
    assert len(caught) == 1
    assert omnizarr.open(store, zarr_format=2).zarr_format == 2
    assert omnizarr.open(store, zarr_format=draft).zarr_format == draft
    assert omnizarr.open(store, path="a").zarr_format == draft


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b'"https://purl.org/zarr/spec/core/3.0"', b"{}", b"[]"])
def test_an_invalid_entry_point_is_an_error(data: bytes) -> None:
    store = omnizarr.MemoryStore()
    store.set("zarr.json", data)
    with pytest.raises(MetadataError, match=r"zarr\.json"):
        omnizarr.open(store)


@pytest.mark.parametrize("value", [0, 4, "2", 2.0, True, "v2", [2]])
def test_an_unknown_generation_is_an_error(value: Any) -> None:
    with pytest.raises(ArgumentError, match="zarr_format"):
        omnizarr.open(omnizarr.MemoryStore(), zarr_format=value)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[1]", b"null", b"\x89PNG"])
def test_an_unrelated_file_named_meta_is_not_a_node(data: bytes) -> None:
    store = omnizarr.MemoryStore()
    store.set("meta", data)
    with pytest.raises(NodeNotFoundError):
        omnizarr.open(store)


@pytest.mark.parametrize("key", [".zarray", ".zgroup"])
@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"{}"])
def test_damaged_v2_documents_are_an_error(key: str, data: bytes) -> None:
    store = omnizarr.MemoryStore()
    store.set(key, data)
    with pytest.raises(MetadataError, match=key):
        omnizarr.open(store)


def test_a_directory_named_meta_is_not_a_document(tmp_path: Any) -> None:
    (tmp_path / "meta" / "root").mkdir(parents=True)
    with pytest.raises(NodeNotFoundError):
        omnizarr.open(tmp_path)


def test_candidate_keys() -> None:
    assert candidate_keys("") == ("zarr.json", ".zarray", ".zgroup", ".zattrs")
    assert candidate_keys("a", 2) == ("a/.zarray", "a/.zgroup", "a/.zattrs")
    assert candidate_keys("a", 1) == ("a/meta", "a/attrs")


@pytest.mark.parametrize("path", ["", "a/b"])
@pytest.mark.parametrize("zarr_format", [None, 2])
def test_opening_a_v2_array_needs_one_batch(path: str, zarr_format: Any) -> None:
    start = f"{path}/" if path else ""
    store = RecordingStore(filled({f"{start}.zarray": array_v2()}))
    omnizarr.open_array(store, path=path, zarr_format=zarr_format, mode="r")
    assert store.methods() == ["get_partial_values"]
    assert store.requests == (3 if zarr_format else 4 + bool(path))


def test_opening_a_v2_group_needs_one_batch() -> None:
    for mode in ("r", "r+"):
        store = RecordingStore(filled({".zgroup": GROUP}))
        omnizarr.open_group(store, mode=mode)  # type: ignore[arg-type]
        assert store.methods() == ["get_partial_values"]
        assert store.requests == 5  # with consolidated metadata


def test_opening_v1_needs_two_batches_or_one_with_zarr_format() -> None:
    store = RecordingStore(filled({"meta": array_v1()}))
    omnizarr.open_array(store, mode="r")
    assert store.methods() == ["get_partial_values"] * 2
    store.reset()
    omnizarr.open_array(store, mode="r", zarr_format=1)
    assert store.methods() == ["get_partial_values"]
    assert store.requests == 2
