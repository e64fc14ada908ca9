"""Names, keys and operations of hierarchies of both drafts (S1–S4, S30, S38–S49, T14–T24)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import (
    DRAFTS,
    YEARS,
    array,
    both,
    entry,
    hierarchy,
    keys,
    problem_paths,
    store_of,
    warning_paths,
)

import omnizarr
from omnizarr import MemoryStore
from omnizarr.errors import (
    ArgumentError,
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    NodeTypeError,
    OmnizarrError,
    OmnizarrWarning,
)
from omnizarr.formats import dialect_for
from omnizarr.testing import RecordingStore

# -- names and paths


@both
def test_S1_arrays_have_no_children(draft: Any) -> None:
    root = hierarchy(draft)
    with pytest.raises(NodeTypeError, match="array"):
        root.create_array("foo/baz/qux/below", shape=1, dtype="i4")
    with pytest.raises(NodeExistsError):
        root.create_group("foo/baz/qux")


@both
def test_S1_S3_T17_siblings_have_different_case_sensitive_names(draft: Any) -> None:
    root = omnizarr.create_group(MemoryStore(), zarr_format=draft)
    root.create_group("a")
    root.create_group("A")
    with pytest.raises(NodeExistsError):
        root.create_array("a", shape=1, dtype="i4")
    assert list(root) == ["A", "a"]
    assert (root.basename, root["a"].basename) == ("", "a")


@both
def test_S2_A14_paths_have_one_normal_form(draft: Any) -> None:
    root = hierarchy(draft)
    for path in ("foo/bar", "/foo/bar", "foo//bar", "/foo/bar/"):
        assert root[path].path == "foo/bar"
        assert omnizarr.open_group(root.store, path=path).path == "foo/bar"
    assert (root.name, root["foo/bar"].name) == ("/", "/foo/bar")


@both
@pytest.mark.parametrize("name", ["a b", "ü", "a+b", ".", "..", "...", "a/.../b", "é/x"])
def test_S3_T17_invalid_names(draft: Any, name: str) -> None:
    store = MemoryStore()
    with pytest.raises(ArgumentError):
        omnizarr.create_group(store, path=name, zarr_format=draft)
    assert keys(store) == []


@both
@pytest.mark.parametrize("name", ["a-b_c.d", "__x", ".a", "zarr.json", "root", "meta", "c0"])
def test_S3_T17_valid_names(draft: Any, name: str) -> None:
    store = MemoryStore()
    omnizarr.create_array(store, name=name, data=[1, 2], zarr_format=draft)
    assert list(omnizarr.open_group(store)) == [name]
    assert omnizarr.open_array(store, path=name)[...].tolist() == [1, 2]


def test_S3_T17_only_the_draft_of_2020_limits_the_length() -> None:
    omnizarr.create_group(MemoryStore(), path="x" * 256, zarr_format="3-draft-2022")
    omnizarr.create_group(MemoryStore(), path="x" * 255, zarr_format="3-draft-2020")
    with pytest.raises(ArgumentError, match="255"):
        omnizarr.create_group(MemoryStore(), path="x" * 256, zarr_format="3-draft-2020")


def test_S3_invalid_names_of_existing_nodes() -> None:
    assert problem_paths({"attributes": {}}, 2022, "group", "a b") == ["$"]
    assert warning_paths({"attributes": {}}, 2020, "group", "a b") == ["$"]


@both
def test_S4_T24_groups_may_be_implicit(draft: Any) -> None:
    root = hierarchy(draft)
    assert root["foo"].metadata.implicit
    assert root["foo/baz"].metadata.implicit
    assert not root["foo/bar"].metadata.implicit
    assert root["foo"].attrs.asdict() == {}
    root["foo"].attrs["now"] = "explicit"
    assert not root["foo"].metadata.implicit
    assert omnizarr.open_group(root.store, path="foo").attrs.asdict() == {"now": "explicit"}
    assert sorted(root["foo"]) == ["bar", "baz"]


@both
def test_S4_the_root_always_exists(draft: Any) -> None:
    store = store_of({"zarr.json": entry(YEARS[draft])})
    root = omnizarr.open_group(store, mode="r")
    assert root.metadata.implicit
    assert list(root) == []
    with pytest.raises(NodeNotFoundError):
        omnizarr.open_group(store, path="a", mode="r")


# -- keys


def test_S38_S39_S40_T15_Z8_keys() -> None:
    old, new = dialect_for("3-draft-2020"), dialect_for("3-draft-2022")
    assert old.keys("") == ("meta/root.array.json", "meta/root.group.json")
    assert old.keys("foo/bar") == ("meta/root/foo/bar.array.json", "meta/root/foo/bar.group.json")
    assert old.chunk_prefix("") == "data/root/"
    assert old.chunk_prefix("foo/bar") == "data/root/foo/bar/"
    assert new.keys("") == ("meta/array.json", "meta/group.json")
    assert new.keys("foo/bar") == ("meta/foo/bar.array.json", "meta/foo/bar.group.json")
    assert new.chunk_prefix("") == "data/"
    assert new.chunk_prefix("foo/bar") == "data/foo/bar/"


@both
def test_S41_T16_A2_A15_paths_of_keys(draft: Any) -> None:
    store = hierarchy(draft).store
    start = "root/" if draft == "3-draft-2020" else ""
    assert keys(store) == sorted(
        [
            "zarr.json",
            "meta/root.group.json" if start else "meta/group.json",
            f"meta/{start}foo/bar.group.json",
            f"meta/{start}foo/baz/qux.array.json",
            f"data/{start}foo/baz/qux/c0",
            f"data/{start}foo/baz/qux/c1",
        ]
    )


@both
def test_S41_T16_keys_alone_identify_nodes(draft: Any) -> None:
    start = "meta/root/" if draft == "3-draft-2020" else "meta/"
    year = YEARS[draft]
    store = store_of(
        {
            "zarr.json": entry(year),
            f"{start}a.b/c.array.json": array(year),
            f"{start}a.b.group.json": {"attributes": {}},
            f"{start}x.array.group.json": {"attributes": {}},
            f"{start}notes.txt": b"notes",
        }
    )
    members = omnizarr.open_group(store).members(max_depth=None)
    assert [(path, type(node).__name__) for path, node in members] == [
        ("a.b", "Group"),  # listed once, although it is also implicit (S44)
        ("x.array", "Group"),
        ("a.b/c", "Array"),
    ]


@both
def test_S42_T18_creating_is_one_set(draft: Any) -> None:
    inner = hierarchy(draft).store
    store = RecordingStore(inner)
    root = omnizarr.open_group(store)
    root.create_group("x/y/z")
    root.create_array("u/v/w", shape=3, dtype="i4")
    written = [call.key for call in store.of("set", "updates.write") if call.key != "zarr.json"]
    assert written == [dialect_for(draft).keys("x/y/z")[1], dialect_for(draft).keys("u/v/w")[0]]


@both
def test_S43_A18_an_array_and_a_group_at_one_path(draft: Any) -> None:
    year = YEARS[draft]
    start = "meta/root/" if year == 2020 else "meta/"
    store = store_of(
        {"zarr.json": entry(year), f"{start}a.array.json": array(year), f"{start}a.group.json": {"attributes": {}}}
    )
    with pytest.warns(OmnizarrWarning, match="also a group document"):
        assert isinstance(omnizarr.open(store, path="a"), omnizarr.Array)
    assert list(omnizarr.open_group(store).array_keys()) == ["a"]
    before = keys(store)
    with pytest.raises(NodeExistsError):
        omnizarr.create_group(store, path="a", zarr_format=draft)
    with pytest.raises(NodeExistsError):
        omnizarr.create_array(store, name="a", shape=3, dtype="i1", zarr_format=draft)
    assert keys(store) == before


@both
def test_S44_S45_T19_children(draft: Any) -> None:
    root = hierarchy(draft)
    foo = root["foo"]
    store = RecordingStore(root.store)
    again = omnizarr.open_group(store, path="foo")
    store.calls.clear()
    assert list(again.keys()) == ["bar", "baz"]
    assert list(again.group_keys()) == ["bar", "baz"]
    assert list(again.array_keys()) == []
    assert store.methods() == ["list_dir"] * 3
    assert list(again["baz"].array_keys()) == ["qux"]
    assert list(foo) == ["bar", "baz"]
    assert list(root) == ["foo"]  # the root's own document is not a child


@both
def test_S46_T20_all_nodes(draft: Any) -> None:
    paths = [path for path, _ in hierarchy(draft).members(max_depth=None)]
    assert paths == ["foo", "foo/bar", "foo/baz", "foo/baz/qux"]
    assert "qux" in str(hierarchy(draft).tree())


@both
def test_S47_T21_erasing(draft: Any) -> None:
    root = hierarchy(draft)
    root.create_array("foo/bar/deep", data=[1])
    root.create_array("foo/bar-not", data=[1])
    before = keys(root.store)
    del root["foo/bar"]  # an explicit group
    assert keys(root.store) == [key for key in before if "foo/bar." not in key and "foo/bar/" not in key]
    del root["foo/bar-not"]  # an array
    assert [key for key in keys(root.store) if "foo/bar-not" in key] == []
    del root["foo/baz"]  # an implicit group
    assert [key for key in keys(root.store) if "foo" in key] == []


@both
def test_S47_an_array_is_replaced_with_all_its_chunks(draft: Any) -> None:
    root = hierarchy(draft)
    root.create_array("foo/baz/qux", shape=6, dtype="i2", overwrite=True)
    assert root["foo/baz/qux"][...].tolist() == [0] * 6
    with pytest.raises(NodeExistsError):
        root.create_array("foo/baz/qux", shape=6, dtype="i2")


@both
def test_S48_T22_existence_of_nodes(draft: Any) -> None:
    root = hierarchy(draft)
    for path in ("foo", "foo/bar", "foo/baz", "foo/baz/qux"):
        assert path in root
    assert "fo" not in root
    assert "foo/baz/quxx" not in root
    with pytest.raises(NodeNotFoundError):
        root["foo/nothing"]


@both
def test_S49_T24_an_implicit_group_vanishes_with_its_last_child(draft: Any) -> None:
    root = hierarchy(draft)
    del root["foo/baz/qux"]
    assert "foo/baz" not in root
    assert "foo" in root
    root["foo"].attrs["stays"] = True
    del root["foo/bar"]
    assert "foo" in root


# -- groups


@both
def test_S30_T14_documents_of_groups(draft: Any) -> None:
    year = YEARS[draft]
    assert problem_paths({}, year, "group") == ["$.attributes"]
    assert problem_paths({"attributes": []}, year, "group") == ["$.attributes"]
    assert problem_paths([], year, "group") == ["$"]
    assert problem_paths({"attributes": {}, "x": 1}, 2022, "group") == ["$.x"]
    assert problem_paths({"attributes": {}, "x": 1}, 2020, "group") == []
    assert problem_paths({"attributes": {}, "extensions": [1]}, 2022, "group") == ["$.extensions"]


@both
def test_A65_null_and_empty_lists_mean_absent(draft: Any) -> None:
    assert problem_paths({"attributes": None, "extensions": []}, YEARS[draft], "group") == []
    assert problem_paths(array(YEARS[draft], attributes=None), YEARS[draft]) == []


# -- operations of the library


@both
def test_S48_T22_documents_are_fetched_before_listing(draft: Any) -> None:
    inner = hierarchy(draft).store
    for path, listings in (("foo/baz/qux", 0), ("foo/bar", 0), ("foo/baz", 1)):
        store = RecordingStore(inner)
        omnizarr.open(store, path=path, mode="r")
        assert store.methods() == ["get_partial_values"] * 2 + ["list_dir"] * listings


@both
def test_opening_a_root_without_a_document_needs_one_more_listing(draft: Any) -> None:
    inner = MemoryStore()
    omnizarr.create_array(inner, name="foo/bar", shape=3, dtype="i4", zarr_format=draft)
    store = RecordingStore(inner)
    assert omnizarr.open_group(store, mode="r").metadata.implicit
    assert store.methods() == ["get_partial_values"] * 2 + ["list_dir"]


@both
def test_moving_moves_documents_and_chunks(draft: Any) -> None:
    root = hierarchy(draft)
    root.move("foo/baz", "moved/here")
    assert root["moved/here/qux"][...].tolist() == list(range(6))
    assert "foo/baz" not in root
    root.move("foo/bar", "bar")
    assert root["bar"].attrs.asdict() == {"a": 1}
    assert [key for key in keys(root.store) if "foo" in key] == []


@both
def test_opening_inside_a_hierarchy_by_its_path(draft: Any, tmp_path: Any) -> None:
    root = omnizarr.create_group(tmp_path / "x.zarr", zarr_format=draft)
    root.create_array("foo/bar", data=np.arange(4))
    assert omnizarr.open(tmp_path / "x.zarr" / "foo" / "bar")[...].tolist() == [0, 1, 2, 3]  # type: ignore[index]
    assert omnizarr.open_group(str(tmp_path / "x.zarr" / "foo"), mode="r").metadata.implicit
    with pytest.raises(NodeNotFoundError):
        omnizarr.open(tmp_path / "x.zarr" / "nothing")


@both
def test_a_hierarchy_has_one_generation(draft: Any) -> None:
    root = hierarchy(draft)
    with pytest.raises(OmnizarrError):
        omnizarr.create_array(root.store, name="x", shape=1, dtype="i4", zarr_format=3)
    with pytest.raises(OmnizarrError):
        omnizarr.create_array(root.store, name="x", shape=1, dtype="i4", zarr_format=2)
    other = next(name for name in DRAFTS if name != draft)
    with pytest.raises(OmnizarrError):
        omnizarr.create_array(root.store, name="x", shape=1, dtype="i4", zarr_format=other)


@both
def test_nodes_of_other_generations_do_not_belong_to_the_hierarchy(draft: Any) -> None:
    """An array of v3 or v2 is found by its own path, but is not a child in the hierarchy."""
    store = hierarchy(draft).store
    start = "root/" if draft == "3-draft-2020" else ""
    store.set("v3/zarr.json", b'{"zarr_format": 3, "node_type": "group"}')
    store.set("v2/.zgroup", b'{"zarr_format": 2}')
    store.set("foo/bar/.zgroup", b'{"zarr_format": 2}')
    store.set(f"meta/{start}notes.txt", b"no node")
    store.set(f"meta/{start}foo.txt", b"no node")
    assert list(omnizarr.open_group(store)) == ["foo"]
    assert omnizarr.open_group(store, path="v3").zarr_format == 3
    assert omnizarr.open_group(store, path="v2").zarr_format == 2
    assert omnizarr.open_group(store, path="foo/bar").zarr_format == 2  # the innermost one
    assert omnizarr.open_group(store, path="foo/bar", zarr_format=draft).attrs.asdict() == {"a": 1}


@both
def test_a_hierarchy_below_a_v3_group_is_opened_separately(draft: Any, tmp_path: Any) -> None:
    omnizarr.create_group(tmp_path)
    omnizarr.create_array(tmp_path / "sub", name="a/b", data=[1, 2], zarr_format=draft)
    root = omnizarr.open_group(tmp_path)
    assert isinstance(root.members()[0][1], omnizarr.UnreadableNode)
    with pytest.raises(MetadataError, match="store of its own"):
        omnizarr.open(tmp_path, path="sub")
    with pytest.raises(OmnizarrError):
        root.create_array("sub/c", data=[1])
    assert omnizarr.open(tmp_path / "sub").zarr_format == draft
    assert omnizarr.open_array(tmp_path / "sub" / "a" / "b")[...].tolist() == [1, 2]


@both
def test_overwriting_a_hierarchy_of_another_generation(draft: Any) -> None:
    store = hierarchy(draft).store
    omnizarr.create_group(store, zarr_format=3, overwrite=True)
    assert keys(store) == ["zarr.json"]
    omnizarr.create_array(store, data=[1], zarr_format=draft, overwrite=True)
    assert omnizarr.open_array(store).zarr_format == draft


def test_consolidated_metadata_of_the_draft_of_2020() -> None:
    root = hierarchy("3-draft-2020")
    store = root.store
    omnizarr.consolidate_metadata(store)
    document = json.loads(bytes(store.get("meta/root/consolidated/.zmetadata") or b""))
    assert "zarr.json" in document["metadata"]
    assert "meta/root/foo/baz/qux.array.json" in document["metadata"]
    recording = RecordingStore(store)
    again = omnizarr.open_group(recording, mode="r", use_consolidated=True)
    recording.calls.clear()
    assert again["foo/baz/qux"].shape == (6,)
    assert [path for path, _ in again.members(max_depth=None) if path != "consolidated"] == [
        "foo",
        "foo/bar",
        "foo/baz",
        "foo/baz/qux",
    ]
    assert recording.calls == []
    writing = omnizarr.open_group(store)
    writing.create_array("new", shape=1, dtype="i4")
    writing["foo/baz/qux"].resize(3)
    del writing["foo/bar"]
    fresh = omnizarr.open_group(store, mode="r", use_consolidated=True)
    assert fresh["foo/baz/qux"].shape == (3,)
    assert "new" in fresh
    assert "foo/bar" not in fresh


def test_the_draft_of_2022_has_no_consolidated_metadata() -> None:
    root = hierarchy("3-draft-2022")
    before = keys(root.store)
    with pytest.raises(OmnizarrError, match="consolidated"):
        omnizarr.consolidate_metadata(root.store)
    assert keys(root.store) == before
    with pytest.raises(OmnizarrError, match="consolidated"):
        omnizarr.open_group(root.store, use_consolidated=True)


def test_Z1_each_generation_finds_only_its_own_hierarchies() -> None:
    with pytest.raises(NodeNotFoundError):
        omnizarr.open_group(hierarchy("3-draft-2022").store, zarr_format=2, mode="r")
    with pytest.raises(NodeNotFoundError):
        omnizarr.open_group(hierarchy("3-draft-2022").store, zarr_format="3-draft-2020", mode="r")
