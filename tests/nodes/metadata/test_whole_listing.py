"""Listing a whole hierarchy of a draft: one listing, and one batch of requests for all documents."""

from __future__ import annotations

from typing import Any

import pytest

import omnizarr
from omnizarr.nodes.metadata import whole_listing
from omnizarr.store import MemoryStore
from omnizarr.testing import Fault, FaultyStore, RecordingStore

DRAFTS: Any = ["3-draft-2020", "3-draft-2022"]


def hierarchy(draft: Any) -> RecordingStore:
    """Three levels of groups, with two arrays each, and an implicit group."""
    store = RecordingStore(MemoryStore())
    root = omnizarr.create_group(store, zarr_format=draft)
    for outer in ("x", "y"):
        root.create_array(f"{outer}/implicit/deep", shape=3, dtype="u1")
        for inner in ("g", "h"):
            group = root.create_group(f"{outer}/{inner}")
            for name in ("a", "b"):
                group.create_array(name, data=range(3))
    store.reset()
    return store


def described(members: Any) -> list[tuple[str, str]]:
    return [(name, repr(node)) for name, node in members]


@pytest.mark.parametrize("draft", DRAFTS)
def test_one_listing_and_one_batch(draft: Any) -> None:
    store = hierarchy(draft)
    root = omnizarr.open_group(store)
    store.reset()
    members = dict(root.members(max_depth=None))
    assert store.methods() == ["list_prefix", "get_partial_values"]
    assert len(members) == 2 + 2 * 2 + 2 * 4 + 2 * 2
    assert members["x/h/b"][...].tolist() == [0, 1, 2]
    assert isinstance(members["y/implicit"], omnizarr.Group)
    store.reset()
    assert str(root.tree()).count("int64") == 8
    assert store.methods() == ["list_prefix", "get_partial_values"]
    store.reset()
    assert len(root["x"].members(max_depth=None)) == 8
    assert store.methods()[-2:] == ["list_prefix", "get_partial_values"]


@pytest.mark.parametrize("draft", DRAFTS)
def test_members_are_the_same_as_those_level_by_level(draft: Any) -> None:
    root = omnizarr.open_group(hierarchy(draft))
    assert described(root.members(max_depth=None)) == described(root.members(max_depth=99))


def test_many_documents_take_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_listing, "_BATCH", 5)
    store = hierarchy("3-draft-2022")
    root = omnizarr.open_group(store)
    expected = described(root.members(max_depth=99))
    store.reset()
    assert described(root.members(max_depth=None)) == expected
    batches = store.of("get_partial_values")
    assert all(len(call.key) <= 5 for call in batches)
    assert len(batches) == -(-sum(len(call.key) for call in batches) // 5)


def test_nodes_that_vanish_or_break_after_the_listing() -> None:
    store = hierarchy("3-draft-2022")
    inner = store.inner
    root = omnizarr.open_group(store)
    inner.set("meta/x/g/a.array.json", b"{}")
    inner.set("meta/x/g/b.array.json", b"no JSON")
    members = {}
    for name, node in root._walk(None):
        members[name] = node
        if name == "x/g":
            inner.erase("meta/y/h/a.array.json")  # fetched already
    assert isinstance(members["x/g/a"], omnizarr.UnreadableNode)
    assert isinstance(members["x/g/b"], omnizarr.UnreadableNode)
    assert isinstance(members["y/h/a"], omnizarr.Array)


def test_a_document_that_cannot_be_fetched_does_not_hide_the_others() -> None:
    store = FaultyStore(hierarchy("3-draft-2022").inner, [Fault("fail", keys="meta/x/g/a.array.json")])
    members = dict(omnizarr.open_group(store).members(max_depth=None))
    assert len(members) == 18
    assert [name for name, node in members.items() if isinstance(node, omnizarr.UnreadableNode)] == ["x/g/a"]
