"""A store that fails midway: only nodes that were to be erased are lost, and the error is an OmnizarrError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import OmnizarrError
from omnizarr.testing import Fault, FaultyStore

HIERARCHIES: tuple[Any, ...] = (2, "3-draft-2020", "3-draft-2022", 3, "n5")
NOT_CONSOLIDATED: tuple[Any, ...] = ("3-draft-2022", "n5")
WRITING = ("set", "updates.write", "erase", "erase_prefix")

CHANGES: dict[str, tuple[Callable[[omnizarr.Group], object], str]] = {
    "create": (lambda root: root.create_array("new/x", data=np.arange(5), chunks=2, attributes={"a": 1}), "new"),
    "replace an array": (lambda root: root.create_array("old", data=[1], overwrite=True), "old"),
    "replace a group": (lambda root: root.create_group("group", overwrite=True), "group"),
    "replace all": (lambda root: omnizarr.create_group(root.store, zarr_format=2, overwrite=True), ""),
    "move": (lambda root: root.move("group", "moved/here"), "moved"),
    "delete": (lambda root: root.__delitem__("group"), "group"),
    "attributes": (lambda root: root["old"].attrs.update(a=1), "old"),
    "resize": (lambda root: root["old"].resize(3), "old"),
    "append": (lambda root: root["old"].append([1, 2]), "old"),
    "consolidate": (lambda root: omnizarr.consolidate_metadata(root.store), "consolidated"),
}


def make_values(zarr_format: Any, *, consolidated: bool = True) -> dict[str, bytes]:
    values: dict[str, bytes] = {}
    root = omnizarr.create_group(omnizarr.MemoryStore(values), attributes={"r": 1}, zarr_format=zarr_format)
    root.create_array("keep/a", data=np.arange(6).reshape(2, 3), chunks=(1, 2), attributes={"k": 1})
    root.create_array("group/b", data=np.arange(4), chunks=2)
    root.create_group("group/c", attributes={"c": 1})
    root.create_array("old", data=np.arange(4), chunks=2, attributes={"o": 1})
    if consolidated and zarr_format not in NOT_CONSOLIDATED:
        omnizarr.consolidate_metadata(root.store)
    return values


def contents(store: omnizarr.Store) -> dict[str, Any]:
    """All nodes, read from their own documents."""
    root = omnizarr.open_group(store, mode="r", use_consolidated=False)
    found: dict[str, Any] = {}
    for path, node in root.members(max_depth=None):
        assert not isinstance(node, omnizarr.UnreadableNode)
        found[path] = node.attrs.asdict(), node[...].tolist() if isinstance(node, omnizarr.Array) else None
    return found


def below(path: str, top: str) -> bool:
    return not top or path == top or path.startswith(f"{top}/")


def open_faulty(values: dict[str, bytes], fault: Fault) -> tuple[FaultyStore, omnizarr.Group]:
    """A store that starts to fail now, and the group at its root."""
    store = FaultyStore(omnizarr.MemoryStore(dict(values)))
    root = omnizarr.open_group(store, mode="r+")
    store.count, store.faults = 0, (fault,)
    return store, root


@pytest.mark.parametrize("zarr_format", HIERARCHIES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_failing_store_loses_no_other_node(change: str, zarr_format: Any) -> None:
    act, touched = CHANGES[change]
    if change == "consolidate" and zarr_format in NOT_CONSOLIDATED:
        pytest.skip("it has no consolidated metadata")
    values = make_values(zarr_format, consolidated=change != "consolidate")
    before = contents(omnizarr.MemoryStore(dict(values)))
    store, root = open_faulty(values, Fault("delay", methods=WRITING, seconds=0))
    act(root)
    writes = [number for number, *_ in store.met]
    assert writes
    failed = 0
    for number in writes:
        store, root = open_faulty(values, Fault("fail", calls=[number], methods=WRITING))
        try:
            act(root)
        except OmnizarrError:
            failed += 1
        else:
            assert not store.met  # threads made their calls in another order, so that no write had this number
        if not touched:
            continue
        after = contents(store.inner)
        kept = {path: node for path, node in before.items() if not below(path, touched)}
        if change == "move" and after.get("moved/here/b") == before["group/b"]:
            # The copies are complete, but the old node was not erased.
            assert after["moved/here/c"] == before["group/c"]
            kept = {path: node for path, node in kept.items() if not below(path, "group")}
        assert {path: after.get(path) for path in kept} == kept
    assert failed


@pytest.mark.parametrize("zarr_format", HIERARCHIES)
def test_a_failed_move_erases_its_copies(zarr_format: Any) -> None:
    values = make_values(zarr_format)
    store, root = open_faulty(values, Fault("fail", keys="*here/b*", methods=["set"]))
    with pytest.raises(OmnizarrError):
        root.move("group", "moved/here")
    assert not [key for key in store.inner.list() if "here" in key]
    store.faults = ()
    root.move("group", "moved/here")
    assert contents(store.inner)["moved/here/b"] == contents(omnizarr.MemoryStore(values))["group/b"]


@pytest.mark.parametrize("zarr_format", HIERARCHIES)
def test_chunks_of_a_half_erased_node_are_not_reused(zarr_format: Any) -> None:
    values = make_values(zarr_format)
    store, root = open_faulty(values, Fault("fail", methods=["erase_prefix"]))
    with pytest.raises(OmnizarrError):
        del root["old"]
    store.faults = ()
    assert "old" not in root
    assert root.create_array("old", shape=4, dtype="i8", chunks=2, overwrite=True)[...].tolist() == [0, 0, 0, 0]
    assert omnizarr.open(store.inner, path="old").attrs == {}


def test_a_new_node_does_not_take_leftover_attributes() -> None:
    for overwrite in (False, True):
        store = omnizarr.MemoryStore({".zattrs": b'{"old": 1}', "a/.zattrs": b'{"old": 1}'})
        root = omnizarr.create_group(store, zarr_format=2, overwrite=overwrite)
        root.create_array("a", data=[1], attributes={"new": 1})
        assert omnizarr.open(store).attrs == {}
        assert omnizarr.open(store, path="a").attrs == {"new": 1}


def test_v1_does_not_overwrite_files_of_other_programs() -> None:
    for name in ("attrs", "meta"):
        store = omnizarr.MemoryStore({name: b"my notes"})
        with pytest.raises(omnizarr.errors.NodeExistsError):
            omnizarr.create_array(store, data=[1], zarr_format=1, attributes={"a": 1})
        assert list(store.list()) == [name]


@pytest.mark.parametrize("zarr_format", HIERARCHIES)
def test_a_node_that_is_half_created_is_not_found(zarr_format: Any) -> None:
    values = make_values(zarr_format)
    store, root = open_faulty(values, Fault("fail", keys="*new*[ay]*", methods=["updates.write"]))
    with pytest.raises(OmnizarrError):
        root.create_array("new", data=[1], attributes={"a": 1})
    store.faults = ()
    assert "new" not in root
    assert root.create_array("new", data=[1]).attrs == {}


def test_consolidating_fails_if_a_document_cannot_be_read() -> None:
    store, root = open_faulty(make_values(3), Fault("fail", keys="keep/a/zarr.json"))
    with pytest.raises(OmnizarrError, match="keep/a/zarr.json"):
        omnizarr.consolidate_metadata(root.store)
    assert "keep/a" in omnizarr.open_group(store.inner, mode="r")
