"""Consolidated metadata in each generation that has it; the copies may be stale, damaged or malicious."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import omnizarr
from omnizarr.errors import ArgumentError, MetadataError, NodeNotFoundError, NodeTypeError, OmnizarrWarning
from omnizarr.testing import RecordingStore

KEYS: dict[Any, str] = {2: ".zmetadata", "3-draft-2020": "meta/root/consolidated/.zmetadata", 3: "zarr.json"}
GENERATIONS = list(KEYS)
BESIDE = GENERATIONS[:2]  # it is a separate document


def key_of(zarr_format: Any, path: str) -> str:
    """The key of an array in the consolidated metadata."""
    return {2: f"{path}/.zarray", "3-draft-2020": f"meta/root/{path}.array.json", 3: path}[zarr_format]


def make_store(zarr_format: Any) -> RecordingStore:
    store = RecordingStore(omnizarr.MemoryStore())
    root = omnizarr.create_group(store, attributes={"root": True}, zarr_format=zarr_format)
    root.create_array("g/y", data=[1.5])
    root.create_array("x", data=[1, 2])
    omnizarr.consolidate_metadata(store)
    store.reset()
    return store


def read_consolidated(store: omnizarr.Store, zarr_format: Any) -> tuple[Any, dict[str, Any]]:
    document = json.loads(bytes(store.get(KEYS[zarr_format]) or b""))
    return document, (document["consolidated_metadata"] if zarr_format == 3 else document)["metadata"]


def change(store: omnizarr.Store, zarr_format: Any, how: Callable[[dict[str, Any]], object]) -> None:
    document, documents = read_consolidated(store, zarr_format)
    how(documents)
    store.set(KEYS[zarr_format], json.dumps(document).encode())


def paths(group: omnizarr.Group) -> list[str]:
    return [path for path, _ in group.members(max_depth=None)]


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_readers_and_writers_see_the_same_nodes(zarr_format: Any) -> None:
    store = make_store(zarr_format)
    reader = omnizarr.open_group(store, mode="r")
    store.reset()
    seen = paths(reader)
    assert store.calls == []
    assert seen == paths(omnizarr.open_group(store, mode="r+"))
    assert {"g", "x", "g/y"} == set(seen) - {"consolidated"}  # zarr-python 2 makes this group in the draft


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_a_group_without_a_document_gets_one_with_its_attributes(zarr_format: Any) -> None:
    store = make_store(zarr_format)
    omnizarr.open_group(store, mode="r+")["g"].attrs["a"] = 1
    assert omnizarr.open_group(store, mode="r")["g"].attrs == {"a": 1}


@pytest.mark.parametrize("zarr_format", BESIDE)
@pytest.mark.parametrize("value", [b"", b"\xff", b"[1]", b"{}", b'{"zarr_consolidated_format": 9, "metadata": {}}'])
def test_A58_damaged_consolidated_metadata_is_ignored_with_a_warning(zarr_format: Any, value: bytes) -> None:
    store = make_store(zarr_format)
    store.set(KEYS[zarr_format], value)
    with pytest.warns(OmnizarrWarning, match="reading the documents of the nodes instead"):
        reader = omnizarr.open_group(store, mode="r")
    assert {"g", "x", "g/y"} <= set(paths(reader))
    with pytest.raises(MetadataError):
        omnizarr.open_group(store, mode="r", use_consolidated=True)
    writer = omnizarr.open_group(store, mode="r+")
    with pytest.warns(OmnizarrWarning, match="`consolidate_metadata` writes it anew"):
        writer.create_group("new")
    omnizarr.consolidate_metadata(store)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "new" in omnizarr.open_group(store, mode="r")


def test_A34_consolidated_metadata_of_other_writers_is_replaced() -> None:
    store = make_store(3)
    document = json.loads(bytes(store.get("zarr.json") or b""))
    document["consolidated_metadata"] = {"kind": "outline", "must_understand": False}
    store.set("zarr.json", json.dumps(document).encode())
    assert paths(omnizarr.consolidate_metadata(store)) == ["g", "x", "g/y"]


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_keys_that_lead_back_to_themselves_are_ignored(zarr_format: Any) -> None:
    store = make_store(zarr_format)
    odd = ["", "/", "//", "g//y", "../up", "g/../x", "g/./y", "x\0", "a/" * 5000 + "z"]
    keys = [key for path in odd for key in (key_of(zarr_format, path), path)]
    if zarr_format != 3:
        keys += ["/.zgroup", "g//.zgroup", "meta/root/g//z.array.json", "meta/root//.group.json"]
    change(store, zarr_format, lambda documents: documents.update({key: {"zarr_format": 2} for key in keys}))
    reader = omnizarr.open_group(store, mode="r")
    assert set(paths(reader)) - {"consolidated"} == {"g", "x", "g/y"}
    assert len(str(reader.tree()).splitlines()) == 1 + len(paths(reader))


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_a_trusting_reader_finds_only_consolidated_nodes(zarr_format: Any) -> None:
    store = make_store(zarr_format)
    change(store, zarr_format, lambda documents: documents.pop(key_of(zarr_format, "x")))
    reader = omnizarr.open_group(store, mode="r")
    assert "x" not in reader
    assert "x" not in list(reader)
    assert reader.get("x") is None
    assert "x" in omnizarr.open_group(store, mode="r", use_consolidated=False)


@pytest.mark.parametrize("zarr_format", GENERATIONS)
@pytest.mark.parametrize("document", [None, "text", [], {"shape": 3}])
def test_an_invalid_copy_does_not_hide_other_nodes(zarr_format: Any, document: Any) -> None:
    store = make_store(zarr_format)
    change(store, zarr_format, lambda documents: documents.update({key_of(zarr_format, "x"): document}))
    members = dict(omnizarr.open_group(store, mode="r").members())
    assert isinstance(members["x"], omnizarr.UnreadableNode)
    assert isinstance(members["g"], omnizarr.Group)


def test_the_draft_of_2020_needs_a_group_for_it() -> None:
    root = omnizarr.create_group(None, zarr_format="3-draft-2020")
    root.create_array("consolidated", data=[1])
    before = sorted(root.store.list())
    with pytest.raises(NodeTypeError, match="`consolidated`"):
        omnizarr.consolidate_metadata(root.store)
    assert sorted(root.store.list()) == before


@pytest.mark.parametrize("zarr_format", [1, "3-draft-2022", "n5"])
def test_other_generations_cannot_be_consolidated(zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, data=[1], zarr_format=zarr_format)
    with pytest.raises((ArgumentError, NodeTypeError)):
        omnizarr.consolidate_metadata(store)
    if zarr_format != 1:
        group = omnizarr.create_group(None, zarr_format=zarr_format)
        with pytest.raises(ArgumentError, match="has no consolidated metadata"):
            omnizarr.consolidate_metadata(group.store)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_erasing_the_group_while_a_handle_is_open(zarr_format: Any) -> None:
    store = make_store(zarr_format)
    array = omnizarr.open_group(store, mode="r+")["x"]
    store.erase_values(["zarr.json", ".zgroup", ".zmetadata"])
    array.attrs["a"] = 1
    assert array.attrs == {"a": 1}


def without_documents(zarr_format: Any) -> RecordingStore:
    """A v2 hierarchy with only its consolidated metadata and chunks."""
    store = make_store(zarr_format)
    for key in list(store.list()):
        if key.rpartition("/")[2] in (".zgroup", ".zarray", ".zattrs"):
            store.erase(key)
    store.reset()
    return store


@pytest.mark.parametrize("options", [{"mode": "r"}, {"use_consolidated": True}, {"mode": "r", "zarr_format": 2}])
def test_a_hierarchy_with_only_consolidated_metadata(options: dict[str, Any]) -> None:
    root = omnizarr.open_group(without_documents(2), **options)
    assert paths(root) == ["g", "x", "g/y"]
    assert root.attrs.asdict() == {"root": True}
    assert root["g/y"][...].tolist() == [1.5]


@pytest.mark.parametrize("options", [{"mode": "r+"}, {"mode": "r", "use_consolidated": False}, {"zarr_format": 3}])
def test_consolidated_metadata_alone_is_not_found_by_distrusting_readers(options: dict[str, Any]) -> None:
    with pytest.raises(NodeNotFoundError):
        omnizarr.open(without_documents(2), **options)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (b"{", MetadataError),
        (b"[]", NodeNotFoundError),
        (b'{"zarr_consolidated_format": 1, "metadata": {"x/.zgroup": {"zarr_format": 2}}}', NodeNotFoundError),
        (b'{"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 3}}}', MetadataError),
    ],
)
def test_invalid_consolidated_metadata_alone(value: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        omnizarr.open({".zmetadata": value}, mode="r")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_are_copied_past_a_cache(zarr_format: int) -> None:
    inner = omnizarr.MemoryStore()
    omnizarr.create_array(inner, name="a", shape=2, dtype="i4", zarr_format=zarr_format)
    cached = omnizarr.store.CacheStore(inner, max_age=None)
    assert list(omnizarr.open_group(cached).members())
    other = omnizarr.open_array(inner, path="a")
    other.resize(5)
    group = omnizarr.consolidate_metadata(cached)
    assert group["a"].shape == (5,)
    assert omnizarr.open_array(cached, path="a").shape == (5,)
    other.attrs["unit"] = "m"
    group["a"].attrs["other"] = 1
    assert dict(omnizarr.open_group(inner, use_consolidated=True)["a"].attrs) == {"unit": "m", "other": 1}
