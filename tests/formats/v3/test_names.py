"""Keys and names of nodes in v3."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.formats.documents import group_document, warning_paths

import omnizarr
from omnizarr.errors import ArgumentError, NodeNotFoundError, NodeTypeError, OmnizarrWarning
from omnizarr.formats import dialect_for

V3 = dialect_for(3)


def test_R1_R2_the_keys_of_documents() -> None:
    assert V3.keys("") == ("zarr.json",)
    assert V3.keys("foo/bar") == ("foo/bar/zarr.json",)


def test_R3_all_keys_of_an_array_begin_with_its_path() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, name="foo/bar", shape=(2, 2), dtype="int8", chunks=1)[...] = 1
    assert V3.chunk_prefix("foo/bar") == "foo/bar/"
    assert V3.chunk_prefix("") == ""
    assert sorted(store.list()) == [
        "foo/bar/c/0/0",
        "foo/bar/c/0/1",
        "foo/bar/c/1/0",
        "foo/bar/c/1/1",
        "foo/bar/zarr.json",
        "foo/zarr.json",
        "zarr.json",
    ]


def test_R3_a_root_array_has_the_empty_prefix() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=3, dtype="int8", chunks=2)[...] = 1
    assert sorted(store.list()) == ["c/0", "c/1", "zarr.json"]


def test_R4_the_root_may_be_an_array_or_a_group() -> None:
    assert isinstance(omnizarr.open(omnizarr.create_array(shape=3, dtype="i1").store), omnizarr.Array)
    assert isinstance(omnizarr.open(omnizarr.create_group().store), omnizarr.Group)


@pytest.mark.parametrize("name", ["a/b", "a/b/c"])
def test_R4_an_array_has_no_children(name: str) -> None:
    group = omnizarr.create_group()
    group.create_array("a", shape=3, dtype="int8")
    with pytest.raises(NodeTypeError, match="`a` in .* is an array"):
        group.create_array(name, shape=3, dtype="int8")
    with pytest.raises(NodeTypeError):
        group.create_group(name)
    with pytest.raises(NodeTypeError):
        omnizarr.create_group(group.store, path=name)
    with pytest.raises(NodeTypeError):
        omnizarr.create_array(omnizarr.create_array(shape=1, dtype="i1").store, name=name, shape=3, dtype="int8")


def test_R5_siblings_have_different_names() -> None:
    group = omnizarr.create_group()
    group.create_array("a", shape=3, dtype="int8")
    for create in (group.create_group, lambda name: group.create_array(name, shape=1, dtype="int8")):
        with pytest.raises(FileExistsError, match="exists at `a`"):
            create("a")


def test_R6_paths_and_names() -> None:
    root = omnizarr.create_group()
    array = root.create_array("foo/bar", shape=3, dtype="int8")
    assert (root.path, root.name, root.basename) == ("", "/", "")
    assert (array.path, array.name, array.basename) == ("foo/bar", "/foo/bar", "bar")
    group = root["foo"]
    assert isinstance(group, omnizarr.Group)
    assert (group.path, group.name, group.basename) == ("foo", "/foo", "foo")


@pytest.mark.parametrize("spelling", ["foo/bar", "/foo/bar", "foo/bar/", "//foo//bar//"])
def test_R6_paths_of_users_are_normalized(spelling: str) -> None:
    root = omnizarr.create_group()
    root.create_array(spelling, shape=3, dtype="int8")
    for array in (root["foo/bar"], omnizarr.open(root.store, path=spelling)):
        assert root[spelling].same_array(array)


@pytest.mark.parametrize("name", ["data.zarr", "data", "data.v1"])
def test_R7_any_directory_name_is_accepted(tmp_path: Path, name: str) -> None:
    omnizarr.create_array(tmp_path / name, shape=2, dtype="int8")
    assert isinstance(omnizarr.open(tmp_path / name), omnizarr.Array)


@pytest.mark.parametrize("name", ["", "/", "//"])
def test_R43_a_name_is_not_empty(name: str) -> None:
    group = omnizarr.create_group()
    with pytest.raises(ArgumentError, match="empty"):
        group.create_group(name)
    with pytest.raises(ArgumentError, match="empty"):
        group.create_array(name, shape=1, dtype="int8")
    with pytest.raises(ArgumentError, match="empty"):
        group[name]


def test_R44_a_slash_separates_names() -> None:
    group = omnizarr.create_group()
    group.create_group("a/b")
    assert list(group) == ["a"]


@pytest.mark.parametrize("name", [".", "..", "...", "a/..", "a/./b", "....", "a/.../b"])
def test_R45_a_name_does_not_consist_of_periods(name: str) -> None:
    group = omnizarr.create_group()
    with pytest.raises(ArgumentError):
        group.create_group(name)
    with pytest.raises(ArgumentError):
        omnizarr.create_array(group.store, name=name, shape=1, dtype="int8")
    assert list(group.store.list()) == ["zarr.json"]


@pytest.mark.parametrize("name", ["__a", "__", "__zarr", "a/__b", "__a/b"])
def test_R46_a_new_name_that_starts_with_two_underscores_warns(name: str) -> None:
    group = omnizarr.create_group()
    with pytest.warns(OmnizarrWarning, match="reserved"):
        group.create_array(name, data=[1, 2])
    assert group[name][...].tolist() == [1, 2]
    assert [path for path, _ in group.members(max_depth=None)][-1] == name
    group.create_group("x")
    with pytest.warns(OmnizarrWarning, match="reserved"):
        group.move("x", f"moved/{name}")


def test_R46_the_name_that_xarray_gives_to_an_unnamed_array_does_not_warn() -> None:
    group = omnizarr.create_group()
    group.create_array("__xarray_dataarray_variable__", data=[1, 2])
    assert list(group) == list(group.array_keys()) == ["__xarray_dataarray_variable__"]


@pytest.mark.parametrize("name", ["zarr.json", "a/zarr.json", "zarr.json/a"])
def test_R47_a_name_is_not_zarr_json(name: str) -> None:
    group = omnizarr.create_group()
    with pytest.raises(ArgumentError, match="zarr.json"):
        group.create_group(name)
    group.create_group("x")
    with pytest.raises(ArgumentError, match="zarr.json"):
        group.move("x", name)


@pytest.mark.parametrize(
    "name", ["a.b", ".a", "_a", "a__b", "a b", "é", "日本", "c", "0.0", "A" * 200, ".zarray", "Zarr.json"]
)
def test_other_names_are_valid(name: str) -> None:
    group = omnizarr.create_group()
    group.create_array(name, shape=3, dtype="int8")[...] = 4
    assert list(group) == [name]
    assert group[name][0] == 4  # type: ignore[index]


def test_R48_names_are_case_sensitive() -> None:
    group = omnizarr.create_group()
    group.create_group("a")
    group.create_array("A", shape=1, dtype="int8")
    assert list(group) == ["A", "a"]
    assert isinstance(group["a"], omnizarr.Group)


def test_R49_R50_names_are_not_normalized_and_stored_as_utf8() -> None:
    composed, decomposed = "\u00e9", "e\u0301"
    group = omnizarr.create_group()
    group.create_group(composed)
    group.create_group(decomposed)
    assert set(group) == {composed, decomposed}


def test_R51_listings_show_nodes_with_reserved_names() -> None:
    group = omnizarr.create_group()
    group.create_group("a")
    group.store.set("__reserved/zarr.json", json.dumps(group_document()).encode())
    group.store.set("__no_node/value", b"")
    assert list(group) == list(group.group_keys()) == ["__reserved", "a"]
    assert len(group) == 2
    assert "__reserved" in str(group.tree())
    assert isinstance(group["__reserved"], omnizarr.Group)
    assert list(omnizarr.consolidate_metadata(group.store)) == ["__reserved", "a"]
    assert list(omnizarr.open_group(group.store, mode="r", use_consolidated=True)) == ["__reserved", "a"]


@pytest.mark.parametrize("path", ["zarr.json", "a/zarr.json", "..."])
def test_A36_existing_nodes_with_invalid_names_are_read_with_a_warning(path: str) -> None:
    group = omnizarr.create_group()
    group.store.set(f"{path}/zarr.json", json.dumps(group_document()).encode())
    assert warning_paths(group_document(), path) == ["$"]
    with pytest.warns(OmnizarrWarning, match="the node has the name"):
        assert isinstance(group[path], omnizarr.Group)
    assert path in group


def test_R119_creating_an_array_creates_the_groups_above() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, name="a/b/c", shape=1, dtype="int8")
    for path in ("", "a", "a/b"):
        assert isinstance(omnizarr.open(store, path=path), omnizarr.Group)
    assert V3.ancestors("a/b/c") == ["", "a", "a/b"]
    assert V3.ancestors("") == []


def test_A31_existing_groups_are_not_changed() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store, path="a", attributes={"x": 1})
    omnizarr.create_array(store, name="a/b", shape=1, dtype="int8")
    assert omnizarr.open_group(store, path="a", mode="r").attrs == {"x": 1}


def test_R119_erasing_a_node_erases_exactly_its_prefix() -> None:
    group = omnizarr.create_group()
    for name in ("a/x", "ab", "a.b"):
        group.create_array(name, shape=2, dtype="int8")[...] = 1
    del group["a"]
    assert list(group) == ["a.b", "ab"]
    assert not any(key.startswith("a/") for key in group.store.list())


def test_R120_a_prefix_without_a_document_is_not_a_node() -> None:
    group = omnizarr.create_group()
    group.store.set("stray/file", b"x")
    group.store.set("stray/c/0", b"x")
    assert list(group) == []
    assert "stray" not in group
    with pytest.raises(NodeNotFoundError):
        group["stray"]
