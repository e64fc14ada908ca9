"""Opening, creating and copying nodes in every generation."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import conventions

import omnizarr
from omnizarr.codecs.numcodecs_ import Pickle
from omnizarr.errors import ArgumentError, MetadataError, NodeExistsError, NodeNotFoundError, NodeTypeError
from omnizarr.testing import RecordingStore
from omnizarr.transformers import MemoryCache, ShardingTransformer

GENERATIONS: tuple[Any, ...] = (1, 2, "3-draft-2020", "3-draft-2022", 3, "n5")
HIERARCHIES = GENERATIONS[1:]
DRAFTS = GENERATIONS[2:4]


def make_group(store: Any, zarr_format: Any) -> omnizarr.Group:
    root = omnizarr.create_group(store, zarr_format=zarr_format)
    root.create_array("a/b", data=[1, 2])
    return root


# -- opening


@pytest.mark.parametrize("mode", ["a", "w", "w-"])
@pytest.mark.parametrize("zarr_format", HIERARCHIES)
def test_a_new_node_has_the_generation_of_its_hierarchy(zarr_format: Any, mode: Any) -> None:
    root = make_group(None, zarr_format)
    assert omnizarr.open_group(root.store, path="a/new", mode=mode).zarr_format == zarr_format
    assert omnizarr.open(root.store, path="n/e/w", mode=mode, data=[1]).zarr_format == zarr_format
    assert omnizarr.group(root.store, path="g").zarr_format == zarr_format
    assert sorted(root) == ["a", "g", "n"]
    for other in set(HIERARCHIES) - {zarr_format}:
        with pytest.raises(NodeTypeError):
            omnizarr.open_group(root.store, path="other", mode=mode, zarr_format=other)


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_a_new_root_is_v3_by_default(zarr_format: Any) -> None:
    assert omnizarr.open({}, mode="w", data=[1]).zarr_format == 3
    assert omnizarr.open({}, mode="a", data=[1], zarr_format=zarr_format).zarr_format == zarr_format
    store: dict[str, Any] = {}
    omnizarr.create_array(store, data=[1], zarr_format=zarr_format)
    assert omnizarr.open(store, mode="w", data=[1]).zarr_format == 3


@pytest.mark.parametrize("zarr_format", HIERARCHIES)
def test_a_node_can_be_opened_by_its_own_path(tmp_path: Path, zarr_format: Any) -> None:
    root = make_group(tmp_path / "x", zarr_format)
    inside = tmp_path / "x" / "a" / "b"
    assert omnizarr.open(inside)[...].tolist() == [1, 2]
    with pytest.raises(NodeExistsError):
        omnizarr.open(inside, mode="w-", data=[3], zarr_format=zarr_format)
    omnizarr.open(inside, mode="w", data=[3], zarr_format=zarr_format)
    assert root["a/b"][...].tolist() == [3]
    with pytest.raises(NodeExistsError):
        omnizarr.create_array(inside, data=[4], zarr_format=zarr_format)
    omnizarr.create_array(inside, data=[4], zarr_format=zarr_format, overwrite=True)
    assert root["a/b"][...].tolist() == [4]
    omnizarr.save(inside, np.array([5]), zarr_format=zarr_format)
    assert root["a/b"][...].tolist() == [5]
    assert omnizarr.load(inside).tolist() == [5]


@pytest.mark.parametrize("zarr_format", DRAFTS)
def test_a_draft_node_can_be_created_by_its_own_path(tmp_path: Path, zarr_format: Any) -> None:
    root = make_group(tmp_path / "x", zarr_format)
    for number, mode in enumerate(("a", "w", "w-")):
        omnizarr.open(tmp_path / "x" / "a" / f"n{number}", mode=mode, data=[number])  # type: ignore[arg-type]
    omnizarr.create_group(tmp_path / "x" / "g", zarr_format=zarr_format)
    assert list(root["a"]) == ["b", "n0", "n1", "n2"]
    assert list(root) == ["a", "g"]
    assert sorted(path.name for path in (tmp_path / "x").iterdir()) == ["data", "meta", "zarr.json"]
    # Another generation starts a new hierarchy.
    other = omnizarr.open_group(tmp_path / "x" / "other", mode="w", zarr_format=3)
    assert (other.path, other.zarr_format) == ("", 3)


def test_use_consolidated_must_be_a_bool() -> None:
    with pytest.raises(ArgumentError, match="`use_consolidated`"):
        omnizarr.open_group({}, use_consolidated=".zmetadata")  # type: ignore[arg-type]


# -- copying

ARRAYS: dict[str, dict[str, Any]] = {
    "numbers": {"data": np.arange(12.0).reshape(3, 4), "chunks": (2, 2), "fill_value": np.nan},
    "order F": {"data": np.arange(12).reshape(3, 4), "order": "F", "chunks": (2, 3)},
    "big endian": {"data": np.arange(12).reshape(3, 4), "dtype": ">i4"},
    "bytes": {"data": np.arange(12, dtype="u1").reshape(3, 4), "compressors": None},
    "text": {"data": np.array([["a", "bc"]])},
    "times": {"data": np.array([["2020-01-01", "NaT"]], "M8[s]")},
    "records": {"data": np.array([[(1, 2.5)]], [("a", ">i4"), ("b", "<f8")])},
}


@pytest.mark.parametrize("new", GENERATIONS)
@pytest.mark.parametrize("old", GENERATIONS)
@pytest.mark.parametrize("kind", ARRAYS)
def test_an_array_can_be_copied_into_every_generation(kind: str, old: Any, new: Any) -> None:
    if "n5" in (old, new) and kind not in ("big endian", "bytes"):
        given = {"zarr_format": old, **ARRAYS[kind]}
        with pytest.raises(ArgumentError, match="cannot be written in N5: "):
            omnizarr.from_array(None, data=omnizarr.create_array(None, **given), zarr_format=new, compressors="auto")
        return
    source = omnizarr.create_array(
        None, **ARRAYS[kind], zarr_format=old, attributes={"a": 1}, dimension_names=["y", None]
    )
    copy = omnizarr.from_array(None, data=source, zarr_format=new, compressors="auto")
    assert copy.zarr_format == new
    assert (copy.shape, copy.dtype, copy.chunks, copy.order) == (
        source.shape,
        source.dtype,
        source.chunks,
        source.order,
    )
    assert copy[...].tobytes() == source[...].tobytes()
    assert copy.dimension_names == ("y", None)
    attribute: dict[Any, dict[str, Any]] = {3: {}, "n5": {"axes": ["", "y"]}}
    assert copy.attrs == {"a": 1} | attribute.get(new, {"_ARRAY_DIMENSIONS": ["y", None]})


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_like_functions_keep_the_generation(zarr_format: Any) -> None:
    source = omnizarr.create_array(None, data=[[1, 2]], zarr_format=zarr_format, attributes={"a": 1})
    likes = [omnizarr.from_array(None, data=source), omnizarr.empty_like(source), omnizarr.zeros_like(source)]
    if zarr_format != "n5":  # its fill value is always 0
        likes += [omnizarr.ones_like(source), omnizarr.full_like(source, 3)]
    for like in likes:
        assert (like.zarr_format, like.attrs, like.compressors) == (zarr_format, {"a": 1}, source.compressors)


@pytest.mark.parametrize("zarr_format", HIERARCHIES)
def test_a_copy_has_the_generation_of_its_new_hierarchy(zarr_format: Any) -> None:
    root = make_group(None, zarr_format)
    source = omnizarr.create_array(None, data=[1, 2], zarr_format=1)
    assert omnizarr.from_array(root.store, name="a/c", data=source).zarr_format == zarr_format
    assert list(root["a"]) == ["b", "c"]


@pytest.mark.parametrize("zarr_format", DRAFTS)
def test_a_copy_keeps_shards_if_the_generation_has_them(zarr_format: Any) -> None:
    source = omnizarr.create_array(None, data=np.arange(64).reshape(8, 8), chunks=(2, 2), shards=(4, 4))
    copy = omnizarr.from_array(None, data=source, zarr_format=zarr_format, **conventions(zarr_format))
    assert (copy.chunks, copy.shards) == ((2, 2), (4, 4))
    assert omnizarr.from_array(None, data=copy, zarr_format=3).shards == (4, 4)
    for older in (1, 2):
        with pytest.raises(ArgumentError, match=f"in Zarr v{older}: v{older} has no shards$"):
            omnizarr.create_array(None, shape=8, dtype="i4", chunks=2, shards=4, zarr_format=older)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="v2 has no shards"):
        omnizarr.from_array(None, data=copy, zarr_format=2)
    whole = omnizarr.from_array(None, data=copy, zarr_format=2, shards=None)
    assert (whole.chunks, whole[...].tolist()) == ((2, 2), source[...].tolist())


def test_a_copy_that_loses_something_is_rejected_with_a_hint() -> None:
    source = omnizarr.create_array(None, data=[1, 2])
    with pytest.raises(ArgumentError, match="neither zstd nor snappy") as caught:
        omnizarr.from_array(None, data=source, zarr_format=1)
    assert 'compressors="auto"' in str(caught.value)


def test_a_copy_does_not_erase_its_source(tmp_path: Path) -> None:
    make_group(tmp_path / "x", 3)
    for name in ("x", "x/a", "x/a/b"):
        with pytest.raises(ArgumentError, match="`overwrite` would erase `data`"):
            omnizarr.from_array(tmp_path / name, data=omnizarr.open_array(tmp_path / "x" / "a" / "b"), overwrite=True)
    assert omnizarr.load(tmp_path / "x" / "a" / "b").tolist() == [1, 2]


def test_save_replaces_an_unreadable_array() -> None:
    store = omnizarr.MemoryStore()
    store.set("zarr.json", b"{")
    with pytest.raises(MetadataError):
        omnizarr.save_array(store, np.array([1]))
    omnizarr.save_array(store, np.array([1]), overwrite=True)
    assert omnizarr.load(store).tolist() == [1]


# -- options of a handle, and mistakes


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_caches_can_be_given_in_every_mode(zarr_format: Any) -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    for mode in ("w", "a", "r+", "r"):  # the first mode creates the array
        options = {} if mode in ("r", "r+") else {"data": [1, 2]}
        array = omnizarr.open_array(
            store,
            mode=mode,  # type: ignore[arg-type]
            zarr_format=zarr_format,
            storage_transformers=[MemoryCache()],
            **options,
        )
        assert array[...].tolist() == [1, 2]
        store.reset()
        assert array[...].tolist() == [1, 2]
        assert store.calls == []
        assert not array.metadata.storage_transformers
    assert pickle.loads(pickle.dumps(array))[...].tolist() == [1, 2]


@pytest.mark.parametrize("zarr_format", HIERARCHIES)
def test_all_arrays_of_a_group_share_its_cache(zarr_format: Any) -> None:
    store = RecordingStore(make_group(None, zarr_format).store)
    for group in (
        omnizarr.open_group(store, storage_transformers=[MemoryCache()]),
        omnizarr.open(store, mode="r", storage_transformers=MemoryCache()),
    ):
        for array in (group["a/b"], dict(group.members(max_depth=None))["a/b"]):
            assert array[...].tolist() == [1, 2]
            store.reset()
            assert array[...].tolist() == [1, 2]
            assert store.calls == []


@pytest.mark.parametrize("mode", ["r", "r+", None])
def test_transformers_that_change_the_layout_are_rejected_on_open(mode: Any) -> None:
    store = make_group(None, "3-draft-2022").store
    for mistake in ([ShardingTransformer((2,))], 3, "cache", [{"extension": "https://example.org"}]):
        for path in ("", "a/b"):
            with pytest.raises(ArgumentError, match="`storage_transformers`"):
                omnizarr.open(store, path=path, mode=mode, storage_transformers=mistake)


def test_read_options_also_apply_to_new_nodes() -> None:
    group = omnizarr.open_group(None, mode="w", zarr_format=2, allow_pickle=True)
    omnizarr.create_array(
        group.store, name="p", data=np.array([{1}], object), filters=Pickle(allowed=True), zarr_format=2
    )
    assert group["p"][...].tolist() == [{1}]


@pytest.mark.parametrize("zarr_format", GENERATIONS)
@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"storage_transformers": 5}, "storage_transformers"),
        ({"storage_transformers": [5]}, "storage.transformer"),
        ({"extensions": 3}, "extensions"),
        ({"extensions": "abc"}, "extensions"),
        ({"shape": 2**70}, "below 2\\*\\*63"),
        ({"data": [1, 2], "chunks": 2**40}, "max_chunk_bytes"),
    ],
)
def test_invalid_options_are_rejected_before_anything_is_written(
    zarr_format: Any, options: dict[str, Any], word: str
) -> None:
    store = omnizarr.MemoryStore()
    given = {} if "data" in options else {"shape": 3, "dtype": "f8"}
    with pytest.raises(ArgumentError, match=word):
        omnizarr.create_array(store, zarr_format=zarr_format, **{**given, **options})
    assert list(store.list()) == []


@pytest.mark.parametrize("zarr_format", [1, 2, 3])
@pytest.mark.parametrize("options", [{"extensions": [{"extension": "https://example.org/x"}]}, {"fallback": "<f8"}])
def test_options_of_the_drafts_are_rejected_in_other_generations(zarr_format: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="only the drafts of v3 have extensions"):
        omnizarr.create_array(None, shape=3, dtype="f8", zarr_format=zarr_format, **options)


@pytest.mark.parametrize("zarr_format", GENERATIONS[:3])
def test_info_shows_an_undefined_fill_value(zarr_format: Any) -> None:
    array = omnizarr.create_array(None, shape=3, dtype="f8", fill_value=None, zarr_format=zarr_format)
    assert "Fill value  : undefined" in str(array.info)


@pytest.mark.parametrize("zarr_format", HIERARCHIES)
def test_append_to_a_zero_dimensional_array_is_rejected(zarr_format: Any) -> None:
    with pytest.raises(ArgumentError, match="without dimensions"):
        omnizarr.create_array(None, data=1.5, zarr_format=zarr_format).append(2)


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_opening_with_another_generation_fails_with_a_hint(zarr_format: Any) -> None:
    store = omnizarr.create_array(None, data=[1], zarr_format=zarr_format).store
    for other in set(GENERATIONS) - {zarr_format}:
        with pytest.raises(NodeNotFoundError, match=r"there is no array or group of (.*Zarr v|N5)") as caught:
            omnizarr.open(store, zarr_format=other)
        assert "leave out `zarr_format`" in (caught.value.hint or "")


@pytest.mark.parametrize("zarr_format", HIERARCHIES)
def test_an_assigned_array_keeps_its_data_type(zarr_format: Any) -> None:
    root = make_group(None, zarr_format)
    for dtype, value in (("M8[s]", "2020-01-01"), ("U3", "abc"), ("f4", 1.5), (bytes, b"ab")):
        if (dtype is bytes and zarr_format == "3-draft-2022") or (zarr_format == "n5" and dtype != "f4"):
            continue  # the generation has no such data type
        options = conventions(zarr_format) if dtype is bytes else {}
        root.create_array("source", shape=1, dtype=dtype, overwrite=True, **options)[...] = value
        root["copy"] = root["source"]
        assert root["copy"].data_type == root["source"].data_type
        assert root["copy"][...].tolist() == root["source"][...].tolist()


@pytest.mark.parametrize("depth", [-1, "all", 1.5, True])
def test_depth_limits_of_members_and_tree(depth: Any) -> None:
    root = make_group(None, 3)
    for mistake in (root.members, root.nmembers, root.tree):
        with pytest.raises(ArgumentError, match="expected an integer"):
            mistake(depth)
