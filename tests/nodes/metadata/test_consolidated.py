"""Consolidated metadata: read instead of the documents by those who only read, kept up to date by those who write."""

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


def gathered(store: omnizarr.Store) -> Any:
    return document(store)["consolidated_metadata"]["metadata"]


def assert_fresh(store: omnizarr.Store) -> None:
    """What was gathered is what lies below."""
    root = omnizarr.open_group(store, mode="r", use_consolidated=False)
    expected = {path: document(store, path) for path, _ in root.members(max_depth=None)}
    assert gathered(store) == expected


def test_R28_what_is_written(store: RecordingStore) -> None:
    written = document(store)
    assert written["attributes"] == {"root": True}
    assert {name: value for name, value in written["consolidated_metadata"].items() if name != "metadata"} == {
        "kind": "inline",
        "must_understand": False,
    }
    assert list(gathered(store)) == PATHS
    assert_fresh(store)


def test_one_request_opens_all_for_those_who_only_read(store: RecordingStore) -> None:
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


def test_A34_those_who_write_look_at_the_documents(store: RecordingStore) -> None:
    other = omnizarr.open_array(store, path="x")
    other.attrs["new"] = 1  # it did not come through the group, which therefore does not know
    assert "new" not in gathered(store)["x"]["attributes"]
    assert omnizarr.open_group(store, mode="r")["x"].attrs == {}
    for root in (omnizarr.open_group(store, mode="r+"), omnizarr.open_group(store, mode="r", use_consolidated=False)):
        assert root["x"].attrs == {"new": 1}
        assert dict(root.members())["x"].attrs == {"new": 1}  # type: ignore[union-attr]


def test_R29_it_is_used_by_writers_when_they_ask_for_it(store: RecordingStore) -> None:
    root = omnizarr.open_group(store, mode="r+", use_consolidated=True)
    store.reset()
    assert len(root.members(max_depth=None)) == 5
    assert store.calls == []


def test_asking_for_it_where_there_is_none_is_an_error() -> None:
    root = omnizarr.create_group(None)
    with pytest.raises(MetadataError, match="no consolidated metadata") as caught:
        omnizarr.open_group(root.store, use_consolidated=True)
    assert "consolidate_metadata" in (caught.value.hint or "")
    z = root.create_array("x", shape=1, dtype="int8")
    assert omnizarr.open(z.store, path="x", use_consolidated=True) == z


def test_what_is_missing_in_it_is_missing(store: RecordingStore) -> None:
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
def test_A34_whatever_a_handle_of_the_group_changes_is_renewed(
    store: RecordingStore, change: Any, use: bool | None
) -> None:
    root = omnizarr.open_group(store, mode="r+", use_consolidated=use)
    change(root)
    assert_fresh(store)
    expected = [path for path, _ in omnizarr.open_group(store, use_consolidated=False).members(max_depth=None)]
    assert [path for path, _ in root.members(max_depth=None)] == expected
    assert [path for path, _ in omnizarr.open_group(store, mode="r").members(max_depth=None)] == expected


def pickle_of(node: Any) -> Any:
    """A pickle in which the store stays the same one."""

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


def test_A34_a_handle_that_was_pickled_renews_it_too(store: RecordingStore) -> None:
    root = omnizarr.open_group(store, mode="r+", use_consolidated=True)
    again = pickle_of(root)
    store.reset()
    assert len(again.members(max_depth=None)) == 5
    assert store.calls == []
    again.create_group("p")
    pickle_of(root["x"]).attrs.update(a=1)
    assert_fresh(store)


def test_a_pickled_array_does_not_carry_the_documents_of_the_others(store: RecordingStore) -> None:
    root = omnizarr.open_group(store, mode="r+", use_consolidated=True)
    for number in range(50):
        root.create_group(f"n{number}")
    alone = len(pickle.dumps(omnizarr.open_array(store, path="x")))
    assert len(pickle.dumps(root["x"])) < alone + 300


def test_A34_creating_by_path_renews_it_too(store: RecordingStore) -> None:
    z = omnizarr.create_array(store, name="g/new", shape=3, dtype="int8")
    assert_fresh(store)
    z.attrs["a"] = 1
    omnizarr.create_group(store, path="a/b")
    assert_fresh(store)


def test_a_change_is_one_write_of_the_node_and_one_of_the_group(store: RecordingStore) -> None:
    root = omnizarr.open_group(store, mode="r+")
    store.reset()
    root.create_array("n/e/w", shape=3, dtype="int8")
    assert [call.key for call in store.of("set", "set_if")] == [
        "n/zarr.json",
        "n/e/zarr.json",
        "n/e/w/zarr.json",
        "zarr.json",
    ]
    store.reset()
    root.move("g", "moved")
    assert [call.key for call in store.of("set_if")] == ["zarr.json"]


def test_two_handles_keep_what_the_other_added(store: RecordingStore) -> None:
    one, two = (omnizarr.open_group(store, mode="r+") for _ in range(2))
    one.create_group("one")
    two.create_group("two")
    assert {"one", "two"} <= set(gathered(store))
    assert_fresh(store)


def test_somebody_may_remove_it(store: RecordingStore) -> None:
    root = omnizarr.open_group(store, mode="r+")
    plain = document(store)
    del plain["consolidated_metadata"]
    store.set("zarr.json", json.dumps(plain).encode())
    root.create_group("new")
    assert "consolidated_metadata" not in document(store)


def test_the_groups_below_carry_none_of_their_own(store: RecordingStore) -> None:
    omnizarr.consolidate_metadata(store, path="g")
    omnizarr.consolidate_metadata(store)
    assert "consolidated_metadata" not in gathered(store)["g"]
    assert list(document(store, "g")["consolidated_metadata"]["metadata"]) == ["h", "y", "h/z"]
    group = omnizarr.open_group(store, path="g", mode="r")
    store.reset()
    assert [path for path, _ in group.members(max_depth=None)] == ["h", "y", "h/z"]
    assert group["h/z"].path == "g/h/z"
    assert store.calls == []


def test_R32_what_others_put_into_the_documents_is_gathered_too() -> None:
    store = omnizarr.MemoryStore()
    extra = {"must_understand": False, "x": [1]}
    omnizarr.create_group(store)
    store.set("a/zarr.json", json.dumps(array_document(other=extra)).encode())
    omnizarr.consolidate_metadata(store)
    assert gathered(store)["a"]["other"] == extra


def test_members_that_cannot_be_read_are_gathered_as_they_are() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store).create_array("good", data=[1])
    strange = array_document(data_type="float31")
    store.set("strange/zarr.json", json.dumps(strange).encode())
    omnizarr.consolidate_metadata(store)
    assert gathered(store)["strange"] == strange
    members = dict(omnizarr.open_group(store, mode="r").members())
    assert isinstance(members["strange"], omnizarr.UnreadableNode)
    assert isinstance(members["good"], omnizarr.Array)


def test_what_is_not_even_json_is_left_out_with_a_warning() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store).create_array("good", data=[1])
    store.set("bad/zarr.json", b"{")
    with pytest.warns(OmnizarrWarning, match="`bad` is left out"):
        omnizarr.consolidate_metadata(store)
    assert list(gathered(store)) == ["good"]


def test_what_is_gathered_may_be_anything(store: RecordingStore) -> None:
    root = document(store)
    root["consolidated_metadata"]["metadata"] |= {"odd": 3, "": {}, "../up": {}, "a//b": {}, "c/d": array_document()}
    store.set("zarr.json", json.dumps(root).encode())
    group = omnizarr.open_group(store, mode="r")
    members = dict(group.members())
    assert isinstance(members["odd"], omnizarr.UnreadableNode)
    assert group["c/d"].shape == (10, 6)  # type: ignore[union-attr]


def test_refresh_takes_up_what_others_gathered(store: RecordingStore) -> None:
    reader = omnizarr.open_group(store, mode="r")
    omnizarr.open_group(store, mode="r+").create_group("new")
    assert "new" not in reader
    reader.refresh()
    assert "new" in reader
    assert list(reader) == ["g", "new", "x"]


def test_consolidating_needs_a_group_that_can_be_written(store: RecordingStore) -> None:
    with pytest.raises(TypeError):
        omnizarr.consolidate_metadata(store, path="x")
    with pytest.raises(NodeNotFoundError):
        omnizarr.consolidate_metadata(store, path="nothing")
    with pytest.raises(ReadOnlyError):
        omnizarr.consolidate_metadata(omnizarr.open_group(store, mode="r").store)


def test_what_it_gives_back_reads_from_it(store: RecordingStore) -> None:
    group = omnizarr.consolidate_metadata(store)
    store.reset()
    assert len(group.members(max_depth=None)) == 5
    assert store.calls == []
    assert group.metadata.consolidated is not None
