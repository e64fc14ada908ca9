"""Consolidated metadata: readers read it instead of the documents, writers keep it up to date."""

from __future__ import annotations

import io
import json
import pickle
from typing import Any

import pytest
from tests.formats.documents import array_document

import omnizarr
from omnizarr.errors import MetadataError, NodeNotFoundError, OmnizarrWarning, ReadOnlyError
from omnizarr.testing import RecordingStore

PATHS = ["g", "x", "g/h", "g/y", "g/h/z"]


@pytest.fixture
def store() -> RecordingStore:
    """A hierarchy with consolidated metadata at the root."""
    store = RecordingStore(omnizarr.MemoryStore())
    root = omnizarr.create_group(store, attributes={"root": True})
    root.create_array("x", data=[1, 2, 3])
    root.create_array("g/y", data=[1.5], dimension_names=["t"])
    root.create_array("g/h/z", data=[1])
    omnizarr.consolidate_metadata(store)
    store.reset()
    return store


def document(store: omnizarr.Store, path: str = "") -> Any:
    return json.loads(bytes(store.get(f"{path}/zarr.json" if path else "zarr.json") or b""))


def read_consolidated(store: omnizarr.Store) -> Any:
    return document(store)["consolidated_metadata"]["metadata"]


def assert_up_to_date(store: omnizarr.Store) -> None:
    """The copies equal the documents of the nodes."""
    root = omnizarr.open_group(store, mode="r", use_consolidated=False)
    expected = {path: document(store, path) for path, _ in root.members(max_depth=None)}
    assert read_consolidated(store) == expected


def test_R28_stored_form(store: RecordingStore) -> None:
    written = document(store)
    assert written["attributes"] == {"root": True}
    assert {name: value for name, value in written["consolidated_metadata"].items() if name != "metadata"} == {
        "kind": "inline",
        "must_understand": False,
    }
    assert list(read_consolidated(store)) == PATHS
    assert_up_to_date(store)


def test_a_reader_opens_all_nodes_with_one_request(store: RecordingStore) -> None:
    root = omnizarr.open_group(store, mode="r")
    assert [path for path, _ in root.members(max_depth=None)] == PATHS
    assert root["g/h/z"].path == "g/h/z"
    assert list(root["g"]) == ["h", "y"]  # type: ignore[arg-type]
    assert "g/y" in root
    assert "nothing" not in root
    assert root["g/y"].dimension_names == ("t",)  # type: ignore[union-attr]
    assert str(root.tree())
    assert store.methods() == ["get_partial_values"]
    assert root["x"][...].tolist() == [1, 2, 3]  # type: ignore[index]


def test_A34_a_writer_reads_the_documents_of_the_nodes(store: RecordingStore) -> None:
    other = omnizarr.open_array(store, path="x")
    other.attrs["new"] = 1  # created not through the group, so the copies are not updated
    assert "new" not in read_consolidated(store)["x"]["attributes"]
    assert omnizarr.open_group(store, mode="r")["x"].attrs == {}
    for root in (omnizarr.open_group(store, mode="r+"), omnizarr.open_group(store, mode="r", use_consolidated=False)):
        assert root["x"].attrs == {"new": 1}
        assert dict(root.members())["x"].attrs == {"new": 1}  # type: ignore[union-attr]


def test_R29_a_writer_uses_it_on_request(store: RecordingStore) -> None:
    root = omnizarr.open_group(store, mode="r+", use_consolidated=True)
    store.reset()
    assert len(root.members(max_depth=None)) == 5
    assert store.calls == []


def test_requiring_absent_consolidated_metadata_is_an_error() -> None:
    root = omnizarr.create_group(None)
    with pytest.raises(MetadataError, match="no consolidated metadata") as caught:
        omnizarr.open_group(root.store, use_consolidated=True)
    assert "consolidate_metadata" in (caught.value.hint or "")
    z = root.create_array("x", shape=1, dtype="int8")
    assert z.same_array(omnizarr.open(z.store, path="x", use_consolidated=True))


def test_nodes_that_are_not_consolidated_are_not_found(store: RecordingStore) -> None:
    omnizarr.create_array(store.inner, name="late", shape=1, dtype="int8")
    other = document(store)
    del other["consolidated_metadata"]["metadata"]["late"]
    store.set("zarr.json", json.dumps(other).encode())
    root = omnizarr.open_group(store, mode="r")
    assert "late" not in root
    with pytest.raises(NodeNotFoundError) as caught:
        root["late"]
    assert "use_consolidated=False" in (caught.value.hint or "")


CHANGES: dict[str, Any] = {
    "create an array": lambda root: root.create_array("new", shape=3, dtype="int8"),
    "create a deep array": lambda root: root.create_array("n/e/w", shape=3, dtype="int8"),
    "create a group": lambda root: root.create_group("g/new", attributes={"a": 1}),
    "create through a child": lambda root: root["g/h"].create_array("new/deep", shape=3, dtype="int8"),
    "assign": lambda root: root.__setitem__("x", [1.5]),
    "replace a group": lambda root: root.create_group("g", overwrite=True),
    "delete an array": lambda root: root.__delitem__("x"),
    "delete a group": lambda root: root.__delitem__("g"),
    "delete through a child": lambda root: root["g"].__delitem__("h"),
    "move an array": lambda root: root.move("x", "moved"),
    "move a group": lambda root: root.move("g", "m/o/ved"),
    "move through a child": lambda root: root["g"].move("h", "i/j"),
    "attributes of an array": lambda root: root["g/y"].attrs.update(a=1, b=2),
    "attributes of a group": lambda root: root["g"].attrs.put({"a": 1}),
    "attributes of the root": lambda root: root.attrs.update(a=1),
    "resize": lambda root: root["g/y"].resize(5),
    "append": lambda root: root["x"].append([4]),
    "a listed member": lambda root: dict(root.members(max_depth=None))["g/h/z"].attrs.update(a=1),
    "require": lambda root: root.require_array("r/s", shape=1, dtype="int8"),
    "clear": lambda root: root.clear(),
    "update": lambda root: root.update({"u": [1], "v": [2]}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("use", [None, True])
def test_A34_changes_through_the_group_update_it(store: RecordingStore, change: Any, use: bool | None) -> None:
    root = omnizarr.open_group(store, mode="r+", use_consolidated=use)
    change(root)
    assert_up_to_date(store)
    expected = [path for path, _ in omnizarr.open_group(store, use_consolidated=False).members(max_depth=None)]
    assert [path for path, _ in root.members(max_depth=None)] == expected
    assert [path for path, _ in omnizarr.open_group(store, mode="r").members(max_depth=None)] == expected


def pickle_of(node: Any) -> Any:
    """A pickle that refers to the same store."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, item: Any) -> Any:
            return "store" if isinstance(item, omnizarr.Store) else None

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, pid: Any) -> Any:
            return node.store

    data = io.BytesIO()
    Pickler(data).dump(node)
    data.seek(0)
    return Unpickler(data).load()


def test_A34_changes_through_a_pickled_handle_update_it(store: RecordingStore) -> None:
    root = omnizarr.open_group(store, mode="r+", use_consolidated=True)
    again = pickle_of(root)
    store.reset()
    assert len(again.members(max_depth=None)) == 5
    assert store.calls == []
    again.create_group("p")
    pickle_of(root["x"]).attrs.update(a=1)
    assert_up_to_date(store)


def test_a_pickled_array_contains_no_other_documents(store: RecordingStore) -> None:
    root = omnizarr.open_group(store, mode="r+", use_consolidated=True)
    for number in range(50):
        root.create_group(f"n{number}")
    alone = len(pickle.dumps(omnizarr.open_array(store, path="x")))
    assert len(pickle.dumps(root["x"])) < alone + 300


def test_A34_creating_by_path_updates_it(store: RecordingStore) -> None:
    z = omnizarr.create_array(store, name="g/new", shape=3, dtype="int8")
    assert_up_to_date(store)
    z.attrs["a"] = 1
    omnizarr.create_group(store, path="a/b")
    assert_up_to_date(store)


def test_a_change_is_one_write_of_the_node_and_one_of_the_group(store: RecordingStore) -> None:
    root = omnizarr.open_group(store, mode="r+")
    store.reset()
    root.create_array("n/e/w", shape=3, dtype="int8")
    assert [call.key for call in store.of("set", "updates.write")] == [
        "n/zarr.json",
        "n/e/zarr.json",
        "n/e/w/zarr.json",
        "zarr.json",
    ]
    store.reset()
    root.move("g", "moved")
    assert [call.key for call in store.of("updates.write")] == ["zarr.json"]


def test_two_handles_keep_the_changes_of_each_other(store: RecordingStore) -> None:
    one, two = (omnizarr.open_group(store, mode="r+") for _ in range(2))
    one.create_group("one")
    two.create_group("two")
    assert {"one", "two"} <= set(read_consolidated(store))
    assert_up_to_date(store)


def test_another_writer_may_remove_it(store: RecordingStore) -> None:
    root = omnizarr.open_group(store, mode="r+")
    plain = document(store)
    del plain["consolidated_metadata"]
    store.set("zarr.json", json.dumps(plain).encode())
    root.create_group("new")
    assert "consolidated_metadata" not in document(store)


def test_groups_below_contain_no_consolidated_metadata(store: RecordingStore) -> None:
    omnizarr.consolidate_metadata(store, path="g")
    omnizarr.consolidate_metadata(store)
    assert "consolidated_metadata" not in read_consolidated(store)["g"]
    assert list(document(store, "g")["consolidated_metadata"]["metadata"]) == ["h", "y", "h/z"]
    group = omnizarr.open_group(store, path="g", mode="r")
    store.reset()
    assert [path for path, _ in group.members(max_depth=None)] == ["h", "y", "h/z"]
    assert group["h/z"].path == "g/h/z"
    assert store.calls == []


def test_R32_unknown_members_of_documents_are_copied() -> None:
    store = omnizarr.MemoryStore()
    extra = {"must_understand": False, "x": [1]}
    omnizarr.create_group(store)
    store.set("a/zarr.json", json.dumps(array_document(other=extra)).encode())
    omnizarr.consolidate_metadata(store)
    assert read_consolidated(store)["a"]["other"] == extra


def test_documents_of_unreadable_members_are_copied_unchanged() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store).create_array("good", data=[1])
    strange = array_document(data_type="float31")
    store.set("strange/zarr.json", json.dumps(strange).encode())
    omnizarr.consolidate_metadata(store)
    assert read_consolidated(store)["strange"] == strange
    members = dict(omnizarr.open_group(store, mode="r").members())
    assert isinstance(members["strange"], omnizarr.UnreadableNode)
    assert isinstance(members["good"], omnizarr.Array)


def test_documents_that_are_not_json_are_left_out_with_a_warning() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store).create_array("good", data=[1])
    store.set("bad/zarr.json", b"{")
    with pytest.warns(OmnizarrWarning, match="`bad` is left out"):
        omnizarr.consolidate_metadata(store)
    assert list(read_consolidated(store)) == ["good"]


def test_invalid_copies_are_unreadable_or_ignored(store: RecordingStore) -> None:
    root = document(store)
    root["consolidated_metadata"]["metadata"] |= {"odd": 3, "": {}, "../up": {}, "a//b": {}, "c/d": array_document()}
    store.set("zarr.json", json.dumps(root).encode())
    group = omnizarr.open_group(store, mode="r")
    members = dict(group.members())
    assert isinstance(members["odd"], omnizarr.UnreadableNode)
    assert group["c/d"].shape == (10, 6)  # type: ignore[union-attr]


def test_refresh_loads_the_copies_again(store: RecordingStore) -> None:
    reader = omnizarr.open_group(store, mode="r")
    omnizarr.open_group(store, mode="r+").create_group("new")
    assert "new" not in reader
    reader.refresh()
    assert "new" in reader
    assert list(reader) == ["g", "new", "x"]


def test_consolidating_needs_a_writable_group(store: RecordingStore) -> None:
    with pytest.raises(TypeError):
        omnizarr.consolidate_metadata(store, path="x")
    with pytest.raises(NodeNotFoundError):
        omnizarr.consolidate_metadata(store, path="nothing")
    with pytest.raises(ReadOnlyError):
        omnizarr.consolidate_metadata(omnizarr.open_group(store, mode="r").store)


def test_the_returned_group_reads_from_the_copies(store: RecordingStore) -> None:
    group = omnizarr.consolidate_metadata(store)
    store.reset()
    assert len(group.members(max_depth=None)) == 5
    assert store.calls == []
    assert group.metadata.consolidated is not None
