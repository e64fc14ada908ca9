"""Consolidated metadata in each generation that has it: what lies in it may be stale, damaged or malicious."""

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
BESIDE = GENERATIONS[:2]  # where it is a document of its own


def key_of(zarr_format: Any, path: str) -> str:
    """Under what an array is found in it."""
    return {2: f"{path}/.zarray", "3-draft-2020": f"meta/root/{path}.array.json", 3: path}[zarr_format]


def made(zarr_format: Any) -> RecordingStore:
    store = RecordingStore(omnizarr.MemoryStore())
    root = omnizarr.create_group(store, attributes={"root": True}, zarr_format=zarr_format)
    root.create_array("g/y", data=[1.5])
    root.create_array("x", data=[1, 2])
    omnizarr.consolidate_metadata(store)
    store.reset()
    return store


def gathered(store: omnizarr.Store, zarr_format: Any) -> tuple[Any, dict[str, Any]]:
    document = json.loads(bytes(store.get(KEYS[zarr_format]) or b""))
    return document, (document["consolidated_metadata"] if zarr_format == 3 else document)["metadata"]


def change(store: omnizarr.Store, zarr_format: Any, how: Callable[[dict[str, Any]], object]) -> None:
    document, documents = gathered(store, zarr_format)
    how(documents)
    store.set(KEYS[zarr_format], json.dumps(document).encode())


def paths(group: omnizarr.Group) -> list[str]:
    return [path for path, _ in group.members(max_depth=None)]


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_those_who_read_and_those_who_write_see_the_same(zarr_format: Any) -> None:
    store = made(zarr_format)
    reader = omnizarr.open_group(store, mode="r")
    store.reset()
    seen = paths(reader)
    assert store.calls == []
    assert seen == paths(omnizarr.open_group(store, mode="r+"))
    assert {"g", "x", "g/y"} == set(seen) - {"consolidated"}  # that is a group of the draft, as zarr-python 2 makes it


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_a_group_without_a_document_gets_one_with_its_attributes(zarr_format: Any) -> None:
    store = made(zarr_format)
    omnizarr.open_group(store, mode="r+")["g"].attrs["a"] = 1
    assert omnizarr.open_group(store, mode="r")["g"].attrs == {"a": 1}


@pytest.mark.parametrize("zarr_format", BESIDE)
@pytest.mark.parametrize("value", [b"", b"\xff", b"[1]", b"{}", b'{"zarr_consolidated_format": 9, "metadata": {}}'])
def test_A58_what_is_damaged_is_left_aside_with_a_warning(zarr_format: Any, value: bytes) -> None:
    store = made(zarr_format)
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


def test_A34_what_another_gathered_in_its_own_way_is_replaced() -> None:
    store = made(3)
    document = json.loads(bytes(store.get("zarr.json") or b""))
    document["consolidated_metadata"] = {"kind": "outline", "must_understand": False}
    store.set("zarr.json", json.dumps(document).encode())
    assert paths(omnizarr.consolidate_metadata(store)) == ["g", "x", "g/y"]


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_paths_that_lead_back_to_themselves_are_none(zarr_format: Any) -> None:
    store = made(zarr_format)
    odd = ["", "/", "//", "g//y", "../up", "g/../x", "g/./y", "x\0", "a/" * 5000 + "z"]
    keys = [key for path in odd for key in (key_of(zarr_format, path), path)]
    if zarr_format != 3:
        keys += ["/.zgroup", "g//.zgroup", "meta/root/g//z.array.json", "meta/root//.group.json"]
    change(store, zarr_format, lambda documents: documents.update({key: {"zarr_format": 2} for key in keys}))
    reader = omnizarr.open_group(store, mode="r")
    assert set(paths(reader)) - {"consolidated"} == {"g", "x", "g/y"}
    assert len(str(reader.tree()).splitlines()) == 1 + len(paths(reader))


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_what_is_not_gathered_is_not_there_for_those_who_trust_it(zarr_format: Any) -> None:
    store = made(zarr_format)
    change(store, zarr_format, lambda documents: documents.pop(key_of(zarr_format, "x")))
    reader = omnizarr.open_group(store, mode="r")
    assert "x" not in reader
    assert "x" not in list(reader)
    assert reader.get("x") is None
    assert "x" in omnizarr.open_group(store, mode="r", use_consolidated=False)


@pytest.mark.parametrize("zarr_format", GENERATIONS)
@pytest.mark.parametrize("document", [None, "text", [], {"shape": 3}])
def test_a_gathered_document_that_is_none_hides_nobody_else(zarr_format: Any, document: Any) -> None:
    store = made(zarr_format)
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


@pytest.mark.parametrize("zarr_format", [1, "3-draft-2022"])
def test_other_generations_have_none(zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, data=[1], zarr_format=zarr_format)
    with pytest.raises((ArgumentError, NodeTypeError)):
        omnizarr.consolidate_metadata(store)
    if zarr_format != 1:
        group = omnizarr.create_group(None, zarr_format=zarr_format)
        with pytest.raises(ArgumentError, match="has no consolidated metadata"):
            omnizarr.consolidate_metadata(group.store)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_the_group_may_go_while_a_handle_is_held(zarr_format: Any) -> None:
    store = made(zarr_format)
    array = omnizarr.open_group(store, mode="r+")["x"]
    store.erase_values(["zarr.json", ".zgroup", ".zmetadata"])
    array.attrs["a"] = 1
    assert array.attrs == {"a": 1}


def without_documents(zarr_format: Any) -> RecordingStore:
    """Of a hierarchy of version 2 only the consolidated metadata and the chunks."""
    store = made(zarr_format)
    for key in list(store.list()):
        if key.rpartition("/")[2] in (".zgroup", ".zarray", ".zattrs"):
            store.erase(key)
    store.reset()
    return store


@pytest.mark.parametrize("options", [{"mode": "r"}, {"use_consolidated": True}, {"mode": "r", "zarr_format": 2}])
def test_a_hierarchy_of_which_only_consolidated_metadata_was_copied(options: dict[str, Any]) -> None:
    root = omnizarr.open_group(without_documents(2), **options)
    assert paths(root) == ["g", "x", "g/y"]
    assert root.attrs.asdict() == {"root": True}
    assert root["g/y"][...].tolist() == [1.5]


@pytest.mark.parametrize("options", [{"mode": "r+"}, {"mode": "r", "use_consolidated": False}, {"zarr_format": 3}])
def test_consolidated_metadata_alone_is_nothing_to_those_who_do_not_believe_it(options: dict[str, Any]) -> None:
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
def test_consolidated_metadata_alone_that_is_not_usable(value: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        omnizarr.open({".zmetadata": value}, mode="r")
