"""Groups of `omnizarr.compat.zarr`: members, errors and the printed tree."""

from __future__ import annotations

import numpy as np
import pytest

import omnizarr.compat.zarr as zarr
from omnizarr.compat.zarr.api import asynchronous
from omnizarr.compat.zarr.core.group import GroupMetadata
from omnizarr.compat.zarr.core.sync import sync
from omnizarr.compat.zarr.storage import MemoryStore

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])


@FORMATS
def test_a_slash_names_the_group_itself(zarr_format: int) -> None:
    store = zarr.storage.MemoryStore()
    group = zarr.group(store, zarr_format=zarr_format, attributes={"a": 1})
    assert group["/"].attrs["a"] == 1
    assert group.require_group("/").path == ""
    sync(store.clear())
    with pytest.raises(KeyError):
        group["/"]
    assert dict(group.require_group("/").attrs) == {}
    assert zarr.open_group(store, mode="r").zarr_format == zarr_format


@FORMATS
def test_members_of_the_other_kind(zarr_format: int) -> None:
    group = zarr.group(zarr_format=zarr_format)
    group.create_group("group")
    group.create_array("array", shape=(2,), dtype="i4")
    assert group.get_array("array").shape == (2,)
    with pytest.raises(zarr.errors.ContainsGroupError, match="A group exists in store"):
        group.get_array("group")
    with pytest.raises(zarr.errors.ContainsArrayError, match="An array exists in store"):
        group.get_group("array")
    with pytest.raises(zarr.errors.ArrayNotFoundError):
        group.get_array("none")
    with pytest.raises(zarr.errors.GroupNotFoundError):
        group.get_group("none")


def test_arrays_have_the_format_of_the_group() -> None:
    group = zarr.group(zarr_format=2)
    assert group.zeros(name="zeros", shape=(3,), zarr_format=2).metadata.zarr_format == 2
    with pytest.raises(ValueError, match="must be that of the group"):
        group.zeros(name="other", shape=(3,), zarr_format=3)


@pytest.mark.parametrize("source", [2, 3])
@pytest.mark.parametrize("target", [2, 3, None])
def test_like_takes_the_codecs_only_within_a_format(source: int, target: int | None) -> None:
    array = zarr.create_array({}, shape=(4,), dtype="i4", compressors=None, zarr_format=source, fill_value=7)
    like = zarr.zeros_like(array, zarr_format=target)
    assert like.metadata.zarr_format == (target or source)
    assert (like.compressors == ()) == (target in (source, None))


def test_tree() -> None:
    group = zarr.group()
    group.create_array("a/x", shape=(2,), dtype="f8")
    group.create_group("<b>")
    tree = group.tree(plain=True)
    assert repr(tree) == "/\n├── <b>\n└── a\n    └── x (2,) float64\n"
    assert repr(group.tree(level=0, plain=True)) == "/\n├── <b>\n└── a\n"
    assert "Truncated at max_nodes=1" in repr(group.tree(max_nodes=1, plain=True))
    assert "&lt;b&gt;" in group.tree()._repr_mimebundle_()["text/html"]
    with pytest.raises(NotImplementedError):
        group.tree(expand=True)


def test_members_of_a_group_keep_its_codecs() -> None:
    group = zarr.group()
    group["a"] = np.arange(3)
    assert [type(codec).__name__ for codec in group["a"].compressors] == ["ZstdCodec"]
    group["a"] = np.arange(4)
    assert group["a"].shape == (4,)
    assert zarr.group(zarr_format=2).create_array("a", shape=2, dtype="i4").compressors[0].codec_id == "blosc"
    assert group.metadata is group.metadata
    with pytest.raises(ValueError, match="create a root node"):
        list(group.create_hierarchy({"": group.metadata}))


def test_coroutines_of_groups() -> None:
    async def main() -> None:
        group = await zarr.AsyncGroup.from_store(MemoryStore(), attributes={"n": 1})
        await group.create_array("a", shape=2, dtype="i4")
        assert [child.name for child in await group.require_groups("g", "h")] == ["/g", "/h"]
        assert [name async for name in group.group_keys()] == ["g", "h"]
        assert [name async for name in group.array_keys()] == ["a"]
        assert [type(node) async for node in group.array_values()] == [zarr.AsyncArray]
        assert await group.get("absent", 5) == 5
        assert group.attrs == {"n": 1}
        assert "a (2,) int32" in repr(await group.tree(plain=True))
        same = zarr.AsyncGroup(group.metadata, group.store_path)
        assert same.attrs == {"n": 1}
        assert zarr.Group(same).attrs["n"] == 1
        array = await group.get_array("a")
        assert array.with_config({"order": "F"}).order == "F"
        assert array.attrs == {}
        assert (await asynchronous.zeros_like(array)).shape == (2,)

    sync(main())


def test_extra_fields_of_groups() -> None:
    assert GroupMetadata(extra_fields={"x": {"must_understand": False}}).to_dict()["x"] == {"must_understand": False}
    with pytest.raises(zarr.errors.MetadataValidationError, match="x"):
        GroupMetadata(extra_fields={"x": 1})
    with pytest.raises(ValueError, match="collide"):
        GroupMetadata(extra_fields={"attributes": {"must_understand": False}})


@pytest.mark.filterwarnings("ignore::omnizarr.compat.zarr.errors.ZarrUserWarning")
def test_groups_below_a_group_that_ignores_consolidated_metadata() -> None:
    """anndata refuses to write into a group that shows consolidated metadata."""
    store = MemoryStore()
    zarr.group(store).create_array("a/x", shape=2, dtype="i4")
    zarr.consolidate_metadata(store)
    group = zarr.open_group(store, use_consolidated=False)
    assert group["a"].metadata.consolidated_metadata is None
    assert all(node.metadata.consolidated_metadata is None for _, node in group.groups())
    assert group.create_group("b").metadata.consolidated_metadata is None
    assert zarr.open_group(store)["a"].metadata.consolidated_metadata is not None
