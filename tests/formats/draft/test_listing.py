"""Listing hierarchies of both drafts: the number of requests, and stores that cannot list (S44–S46, S62)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import both

import omnizarr
from omnizarr import MemoryStore
from omnizarr.errors import NodeNotFoundError, StoreError
from omnizarr.store import WrapperStore
from omnizarr.testing import RecordingStore


@both
def test_S46_T20_one_listing_shows_the_whole_hierarchy(draft: Any) -> None:
    root = omnizarr.create_group(MemoryStore(), zarr_format=draft)
    for path in ("a", "b/c", "b/d/e", "b/d/f", "g/h/i/j"):
        root.create_array(path, data=np.arange(3))
    root.create_group("empty")
    store = RecordingStore(root.store)
    group = omnizarr.open_group(store, mode="r")
    store.calls.clear()
    members = group.members(max_depth=None)
    assert [path for path, _ in members] == [
        *("a", "b", "empty", "g", "b/c", "b/d", "g/h", "b/d/e", "b/d/f", "g/h/i", "g/h/i/j"),
    ]
    listings = [call for call in store.calls if call.method.startswith("list")]
    assert [(call.method, call.key) for call in listings] == [
        ("list_prefix", group._context.dialect.listing_prefix(""))
    ]
    below = group["b"]
    assert isinstance(below, omnizarr.Group)
    assert [path for path, _ in below.members(max_depth=None)] == ["c", "d", "d/e", "d/f"]
    assert str(group.tree()) == str(root.tree())


class Unlisted(WrapperStore):
    """A store like a web server: it has values, but no listing."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.listable = False

    def list_prefix(self, prefix: str) -> Any:
        raise AssertionError("the caller did not ask whether the store can list")

    def list_dir(self, prefix: str) -> Any:
        raise AssertionError("the caller did not ask whether the store can list")


@both
def test_S62_a_store_that_cannot_list(draft: Any) -> None:
    inner = MemoryStore()
    omnizarr.create_array(inner, name="a/b", data=np.arange(3), zarr_format=draft)
    store = Unlisted(inner)
    root = omnizarr.open_group(store, mode="r")
    assert root["a/b"][...].tolist() == [0, 1, 2]  # type: ignore[index]
    assert "a/b" in root
    assert "a/x" not in root
    with pytest.raises(NodeNotFoundError):
        omnizarr.open(store, path="a/x", mode="r")
    with pytest.raises(StoreError, match="cannot list"):
        root.members(max_depth=None)
    with pytest.raises(StoreError, match="cannot list"):
        list(root)
