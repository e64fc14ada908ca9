"""Hierarchies of v2: groups, children, attributes, and consolidated metadata."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.formats.old_documents import array_v2

import omnizarr
from omnizarr._json import Problems
from omnizarr.errors import (
    ArgumentError,
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    NodeTypeError,
    OmnizarrWarning,
)
from omnizarr.formats import dialect_for
from omnizarr.testing import RecordingStore


def document(store: omnizarr.Store, key: str) -> Any:
    value = store.get(key)
    return None if value is None else json.loads(bytes(value))


@pytest.fixture
def store() -> RecordingStore:
    return RecordingStore(omnizarr.MemoryStore())


@pytest.fixture
def group(store: RecordingStore) -> omnizarr.Group:
    group = omnizarr.create_group(store, zarr_format=2)
    for number in range(3):
        group.create_array(f"a{number}", shape=3, dtype="int8")[...] = 1
    group.create_group("g").create_array("z", shape=3, dtype="int8", attributes={"deep": True})
    store.reset()
    return group


# -- paths


@pytest.mark.parametrize("path", ["a/b", "/a/b", "a/b/", "//a///b//", "a\\b", "\\a\\b/"])
def test_V16_paths_have_a_normal_form(path: str) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, name=path, shape=3, dtype="i1", zarr_format=2)
    assert sorted(store.list()) == [".zgroup", "a/.zgroup", "a/b/.zarray"]
    assert omnizarr.open_group(store)[path].path == "a/b"


@pytest.mark.parametrize("path", [".", "..", "a/./b", "a/../b", "a\\..\\b"])
def test_V16_dots_are_not_names(path: str) -> None:
    group = omnizarr.create_group(zarr_format=2)
    with pytest.raises(ArgumentError):
        group.create_group(path)
    with pytest.raises(ArgumentError):
        group[path]


# -- documents of groups


def test_V17_a_group_has_only_zarr_format() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store, zarr_format=2)
    assert document(store, ".zgroup") == {"zarr_format": 2}


@pytest.mark.parametrize("value", [1, 3, "2", 2.0, None, True])
def test_V17_zarr_format_is_the_integer_2(value: Any) -> None:
    store = omnizarr.MemoryStore()
    store.set(".zgroup", json.dumps({"zarr_format": value}).encode())
    with pytest.raises(MetadataError, match=r"\$\.zarr_format: expected 2"):
        omnizarr.open(store)


def test_V17_other_members_are_ignored_and_kept() -> None:
    store = omnizarr.MemoryStore()
    store.set(".zgroup", b'{"zarr_format": 2, "consolidated_metadata": {"metadata": {}}}')
    group = omnizarr.open_group(store)
    assert list(group) == []
    group.attrs["a"] = 1
    assert document(store, ".zgroup") == {"zarr_format": 2, "consolidated_metadata": {"metadata": {}}}


def test_V18_groups_above_a_node_are_created() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, name="a/b/c", shape=3, dtype="i1", zarr_format=2)
    assert sorted(store.list()) == [".zgroup", "a/.zgroup", "a/b/.zgroup", "a/b/c/.zarray"]


def test_V18_no_node_is_created_below_an_array() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, name="a", shape=3, dtype="i1", zarr_format=2)
    with pytest.raises(NodeTypeError, match="is an array"):
        omnizarr.create_group(store, path="a/b", zarr_format=2)
    assert sorted(store.list()) == [".zgroup", "a/.zarray"]


def test_V18_an_existing_node_is_replaced_only_with_overwrite(group: omnizarr.Group, store: RecordingStore) -> None:
    with pytest.raises(NodeExistsError):
        group.create_array("g", shape=3, dtype="i1")
    group.create_array("g", shape=3, dtype="i1", overwrite=True)
    assert sorted(key for key in store.list() if key.startswith("g/")) == ["g/.zarray"]


def test_V19_children_are_names_with_a_document(group: omnizarr.Group, store: RecordingStore) -> None:
    store.set("other/file", b"")
    store.set("half/.zattrs", b"{}")
    store.set("below/nothing/.zgroup", b'{"zarr_format": 2}')
    assert list(group) == ["a0", "a1", "a2", "g"]
    assert "other" not in group
    assert "half" not in group
    assert "below" not in group  # there are no implicit groups
    assert group["below/nothing"].path == "below/nothing"
    with pytest.raises(NodeNotFoundError):
        group["below"]


def test_V19_all_descendants(group: omnizarr.Group) -> None:
    assert [name for name, _ in group.members(max_depth=None)] == ["a0", "a1", "a2", "g", "g/z"]
    assert sorted(name for name, _ in group.arrays()) == ["a0", "a1", "a2"]
    assert group["g/z"].attrs.asdict() == {"deep": True}


def test_V20_A53_attributes_are_optional(store: RecordingStore) -> None:
    for create in (omnizarr.create_group, lambda *a, **b: omnizarr.create_array(*a, shape=3, dtype="i1", **b)):
        place = omnizarr.MemoryStore()
        node: Any = create(place, zarr_format=2)
        assert place.get(".zattrs") is None
        node.attrs["a"] = 1
        assert document(place, ".zattrs") == {"a": 1}
        assert omnizarr.open(place).attrs.asdict() == {"a": 1}
        del node.attrs["a"]
        assert place.get(".zattrs") is None


@pytest.mark.parametrize("value", [b"[]", b"5", b'"a"'])
def test_V20_attributes_are_an_object(value: bytes) -> None:
    place = omnizarr.MemoryStore()
    omnizarr.create_group(place, zarr_format=2)
    place.set(".zattrs", value)
    with pytest.raises(MetadataError, match=r"\$\(\.zattrs\): expected an object"):
        omnizarr.open(place)


def test_V20_null_counts_as_none() -> None:
    place = omnizarr.MemoryStore()
    omnizarr.create_group(place, zarr_format=2)
    place.set(".zattrs", b"null")
    assert omnizarr.open(place).attrs.asdict() == {}


@pytest.mark.parametrize("path", ["ä", "a/ü/b"])
def test_V22_names_are_ASCII(path: str) -> None:
    store = omnizarr.MemoryStore()
    with pytest.raises(ArgumentError, match="ASCII"):
        omnizarr.create_group(store, path=path, zarr_format=2)
    assert list(store.list()) == []


@pytest.mark.parametrize("path", [".zarray", ".zgroup", "a/.zattrs", ".zmetadata/b"])
def test_V22_names_of_documents_are_rejected(path: str) -> None:
    with pytest.raises(ArgumentError, match="is the name of a document"):
        omnizarr.create_group(path=path, zarr_format=2)


def test_V22_other_names_are_still_read() -> None:
    store = omnizarr.MemoryStore()
    group = omnizarr.create_group(store, zarr_format=2)
    store.set("ä/.zgroup", b'{"zarr_format": 2}')
    assert list(group) == ["ä"]
    assert group["ä"].path == "ä"


def test_a_hierarchy_has_one_generation() -> None:
    group = omnizarr.create_group(zarr_format=2)
    with pytest.raises(ArgumentError, match="generation of the hierarchy"):
        group.create_array("a", shape=3, dtype="i1", zarr_format=3)


def test_a_node_of_another_generation_is_not_written_into() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store, zarr_format=2)
    with pytest.raises(NodeTypeError, match="zarr_format=2"):
        omnizarr.create_group(store, path="a", zarr_format=3)
    with pytest.raises(NodeExistsError, match="Zarr v2"):
        omnizarr.create_group(store, zarr_format=3)
    omnizarr.create_array(store, shape=3, dtype="i1", zarr_format=1, overwrite=True)
    assert sorted(store.list()) == ["attrs", "meta"]


def test_moving_and_deleting(group: omnizarr.Group, store: RecordingStore) -> None:
    group.move("g", "h/i")
    assert sorted(key for key in store.list() if key[0] in "gh") == [
        "h/.zgroup",
        "h/i/.zgroup",
        "h/i/z/.zarray",
        "h/i/z/.zattrs",
    ]
    del group["h"]
    assert list(group) == ["a0", "a1", "a2"]
    assert not any(key.startswith("h") for key in store.list())


# -- numbers of requests


LOOKS: list[Callable[[omnizarr.Group], Any]] = [
    lambda group: list(group),
    lambda group: len(group),
    lambda group: group.keys(),
    lambda group: list(group.group_keys()),
]


@pytest.mark.parametrize("look", LOOKS)
def test_listing_names_needs_one_listing_and_two_requests_per_child(
    group: omnizarr.Group, store: RecordingStore, look: Any
) -> None:
    look(group)
    assert store.methods() == ["list_dir", "get_partial_values"]
    assert store.requests == 1 + 2 * 4


def test_members_need_one_listing_and_their_documents(group: omnizarr.Group, store: RecordingStore) -> None:
    members = group.members()
    assert store.methods() == ["list_dir", "get_partial_values"]
    assert store.requests == 1 + 3 * 4
    store.reset()
    assert [name for name, node in members if isinstance(node, omnizarr.Array) and node.shape] == ["a0", "a1", "a2"]
    assert store.calls == []


def test_getting_a_child_needs_one_batch(group: omnizarr.Group, store: RecordingStore) -> None:
    assert group["g/z"].attrs["deep"] is True
    assert store.methods() == ["get_partial_values"]
    assert store.requests == 3


# -- consolidated metadata


@pytest.fixture
def consolidated(group: omnizarr.Group, store: RecordingStore) -> RecordingStore:
    omnizarr.consolidate_metadata(store)
    store.reset()
    return store


def test_V23_consolidated_metadata_has_all_documents_by_key(consolidated: RecordingStore) -> None:
    metadata = document(consolidated, ".zmetadata")
    assert metadata["zarr_consolidated_format"] == 1
    assert sorted(metadata["metadata"]) == [
        ".zgroup",
        "a0/.zarray",
        "a1/.zarray",
        "a2/.zarray",
        "g/.zgroup",
        "g/z/.zarray",
        "g/z/.zattrs",
    ]
    assert metadata["metadata"]["g/z/.zarray"] == document(consolidated, "g/z/.zarray")
    assert metadata["metadata"]["g/z/.zattrs"] == {"deep": True}


def test_V23_readers_fetch_no_other_documents(consolidated: RecordingStore) -> None:
    group = omnizarr.open_group(consolidated, mode="r")
    assert consolidated.methods() == ["get_partial_values"]
    consolidated.reset()
    assert [name for name, _ in group.members(max_depth=None)] == ["a0", "a1", "a2", "g", "g/z"]
    assert group["g/z"].attrs.asdict() == {"deep": True}
    assert "nothing" not in group
    assert consolidated.calls == []


def test_A58_only_read_only_handles_and_use_consolidated_trust_it(consolidated: RecordingStore) -> None:
    consolidated.inner.set("new/.zgroup", b'{"zarr_format": 2}')
    assert "new" not in omnizarr.open_group(consolidated, mode="r")
    assert "new" in omnizarr.open_group(consolidated, mode="r", use_consolidated=False)
    assert "new" in omnizarr.open_group(consolidated, mode="r+")
    assert "new" not in omnizarr.open_group(consolidated, mode="r+", use_consolidated=True)


def test_A58_use_consolidated_without_consolidated_metadata_is_an_error(
    store: RecordingStore, group: omnizarr.Group
) -> None:
    with pytest.raises(MetadataError, match="has no consolidated metadata"):
        omnizarr.open_group(store, mode="r", use_consolidated=True)


CHANGES: dict[str, Callable[[omnizarr.Group], Any]] = {
    "attributes of the root": lambda group: group.attrs.update(a=1),
    "attributes": lambda group: group["a0"].attrs.update(a=1),
    "attributes gone": lambda group: group["g/z"].attrs.clear(),
    "shape": lambda group: group["a0"].resize(7),
    "new array": lambda group: group.create_array("new/deep/x", shape=3, dtype="i1"),
    "new group": lambda group: group.create_group("g/h"),
    "erased": lambda group: group.__delitem__("g"),
    "moved": lambda group: group.move("g", "k/l"),
    "replaced": lambda group: group.create_group("a0", overwrite=True),
}


@pytest.mark.parametrize("use_consolidated", [None, True])
@pytest.mark.parametrize("change", CHANGES)
def test_A58_writers_keep_it_up_to_date(
    consolidated: RecordingStore, change: str, use_consolidated: bool | None
) -> None:
    group = omnizarr.open_group(consolidated, mode="r+", use_consolidated=use_consolidated)
    CHANGES[change](group)
    metadata = document(consolidated, ".zmetadata")["metadata"]
    assert metadata == {
        key: document(consolidated, key)
        for key in consolidated.list()
        if key.rpartition("/")[2] in (".zarray", ".zgroup", ".zattrs")
    }


def test_A58_nodes_created_without_the_group_are_added_too(consolidated: RecordingStore) -> None:
    omnizarr.create_array(consolidated, name="late", shape=3, dtype="i1", zarr_format=2)
    assert "late" in omnizarr.open_group(consolidated, mode="r")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[]", "$"),
        ('{"metadata": {}}', "$.zarr_consolidated_format"),
        ('{"zarr_consolidated_format": 2, "metadata": {}}', "$.zarr_consolidated_format"),
        ('{"zarr_consolidated_format": 1}', "$.metadata"),
        ('{"zarr_consolidated_format": 1, "metadata": []}', "$.metadata"),
    ],
)
def test_V23_invalid_consolidated_metadata(consolidated: RecordingStore, text: str, place: str) -> None:
    consolidated.inner.set(".zmetadata", text.encode())
    with pytest.raises(MetadataError) as caught:
        omnizarr.open_group(consolidated, mode="r", use_consolidated=True)
    assert [problem.path for problem in caught.value.problems] == [place]
    with pytest.warns(OmnizarrWarning, match="documents of the nodes instead"):  # A58
        assert list(omnizarr.open_group(consolidated, mode="r")) == ["a0", "a1", "a2", "g"]
    assert list(omnizarr.open_group(consolidated, mode="r", use_consolidated=False)) == ["a0", "a1", "a2", "g"]


def test_V23_damaged_members_are_listed_as_such(consolidated: RecordingStore) -> None:
    metadata = document(consolidated, ".zmetadata")
    metadata["metadata"]["a0/.zarray"]["dtype"] = "<q9"
    consolidated.inner.set(".zmetadata", json.dumps(metadata).encode())
    group = omnizarr.open_group(consolidated, mode="r")
    assert isinstance(dict(group.members())["a0"], omnizarr.UnreadableNode)


def test_V23_documents_outside_the_group_are_ignored(consolidated: RecordingStore) -> None:
    metadata = document(consolidated, ".zmetadata")
    metadata["metadata"][".zgroup"]["consolidated_metadata"] = {"kind": "inline", "metadata": {}}
    metadata["metadata"]["g/.nczattrs"] = {}
    consolidated.inner.set(".zmetadata", json.dumps(metadata).encode())
    group = omnizarr.open_group(consolidated, mode="r")
    assert [name for name, _ in group.members(max_depth=None)] == ["a0", "a1", "a2", "g", "g/z"]


def test_V23_below_a_group_keys_are_relative_to_it(store: RecordingStore, group: omnizarr.Group) -> None:
    omnizarr.consolidate_metadata(store, path="g")
    assert sorted(document(store, "g/.zmetadata")["metadata"]) == [".zgroup", "z/.zarray", "z/.zattrs"]
    store.reset()
    inner = omnizarr.open_group(store, path="g", mode="r")
    assert inner["z"].attrs.asdict() == {"deep": True}
    assert store.methods() == ["get_partial_values"]


def test_V23_a_dialect_reads_what_it_writes() -> None:
    v2 = dialect_for(2)
    documents = {"a/.zgroup": {"zarr_format": 2}, "a/b/.zarray": array_v2()}
    problems = Problems()
    assert v2.parse_consolidated("a", v2.dump_consolidated("a", documents), problems) == documents
    assert not problems
