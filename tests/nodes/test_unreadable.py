"""Unreadable members: they are listed with the reason, and other members stay usable."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.formats.documents import array_document

import omnizarr
from omnizarr.errors import MetadataError, NodeExistsError, NodeTypeError, OmnizarrError, StoreError
from omnizarr.testing import Fault, FaultyStore

BROKEN: dict[str, bytes] = {
    "no-json": b"{",
    "no-object": b"[]",
    "empty": b"",
    "unknown-dtype": json.dumps(array_document(data_type="float31", fill_value=0)).encode(),
    "unknown-codec": json.dumps(array_document(codecs=["mystery"])).encode(),
    "unknown-node": b'{"zarr_format": 3, "node_type": "table"}',
    "draft": b'{"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0"}',
}


@pytest.fixture
def group() -> omnizarr.Group:
    group = omnizarr.create_group(None)
    group.create_array("good", data=[1, 2])
    for name, data in BROKEN.items():
        group.store.set(f"{name}/zarr.json", data)
    return group


def test_an_unreadable_member_is_listed_with_the_reason(group: omnizarr.Group) -> None:
    assert list(group) == sorted([*BROKEN, "good"])
    assert len(group) == group.nmembers() == len(BROKEN) + 1
    for name, node in group.members():
        if name == "good":
            assert isinstance(node, omnizarr.Array)
            continue
        assert isinstance(node, omnizarr.UnreadableNode)
        assert (node.path, node.name, node.basename) == (name, f"/{name}", name)
        assert isinstance(node.error, OmnizarrError)
        assert node.reason
        assert "\n" not in node.reason
        assert node.reason in repr(node)
    assert "float31" in dict(group.items())["unknown-dtype"].reason


def test_an_unreadable_member_is_drawn_in_the_tree(group: omnizarr.Group) -> None:
    text = str(group.tree())
    assert "good (2,) int64" in text
    for name in BROKEN:
        assert f"{name} (unreadable: " in text


def test_an_unreadable_member_is_neither_an_array_nor_a_group(group: omnizarr.Group) -> None:
    assert [name for name, _ in group.arrays()] == ["good"]
    assert list(group.groups()) == []


@pytest.mark.parametrize("name", BROKEN)
def test_opening_an_unreadable_member_raises_the_reason(group: omnizarr.Group, name: str) -> None:
    assert name in group
    with pytest.raises(MetadataError):
        group[name]
    with pytest.raises(MetadataError):
        group.get(name)
    with pytest.raises(MetadataError):
        omnizarr.open(group.store, path=name, mode="r")


@pytest.mark.parametrize("name", BROKEN)
def test_an_unreadable_member_can_be_deleted_replaced_and_moved(group: omnizarr.Group, name: str) -> None:
    group.move(name, "elsewhere/other")
    assert bytes(group.store.get("elsewhere/other/zarr.json") or b"") == BROKEN[name]
    assert name not in group
    group.move("elsewhere/other", name)
    with pytest.raises(NodeExistsError, match=r"an? (node|array) exists"):
        group.create_group(name)
    group.create_array(name, data=[1], overwrite=True)
    assert isinstance(group[name], omnizarr.Array)
    group.store.set(f"{name}/zarr.json", BROKEN[name])
    del group[name]
    assert name not in group


def test_clear_erases_unreadable_members(group: omnizarr.Group) -> None:
    group.clear()
    assert list(group.store.list()) == ["zarr.json"]


@pytest.mark.parametrize("name", BROKEN)
def test_creating_below_an_unreadable_member_is_rejected(group: omnizarr.Group, name: str) -> None:
    with pytest.raises((MetadataError, NodeTypeError)):
        group.create_group(f"{name}/below")


def test_a_store_error_of_one_member_does_not_hide_the_others() -> None:
    inner = omnizarr.MemoryStore()
    group = omnizarr.create_group(inner)
    for name in ("a", "b", "c"):
        group.create_array(name, data=[1])
    faulty = omnizarr.open_group(FaultyStore(inner, [Fault("fail", keys="b/*")]))
    members: dict[str, Any] = dict(faulty.members())
    assert [type(node) for node in members.values()] == [omnizarr.Array, omnizarr.UnreadableNode, omnizarr.Array]
    assert isinstance(members["b"].error, StoreError)
    with pytest.raises(StoreError):
        faulty.create_array("b", shape=1, dtype="int8", overwrite=True)
    assert inner.exists("b/zarr.json")


def test_a_store_that_cannot_list_raises() -> None:
    inner = omnizarr.MemoryStore()
    omnizarr.create_group(inner)
    faulty = omnizarr.open_group(FaultyStore(inner, [Fault("fail", methods=["list_dir"])]))
    with pytest.raises(StoreError):
        list(faulty)
