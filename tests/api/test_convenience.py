"""The shorter ways to make, save and load arrays."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.codecs import Bytes, Gzip, Sharding, Transpose, Zstd
from omnizarr.errors import ArgumentError, NodeExistsError


def test_every_name_is_there() -> None:
    names = [
        "open",
        "open_array",
        "open_group",
        "create",
        "create_array",
        "create_group",
        "array",
        "from_array",
        "empty",
        "zeros",
        "ones",
        "full",
    ]
    names += [
        "empty_like",
        "zeros_like",
        "ones_like",
        "full_like",
        "save",
        "save_array",
        "save_group",
        "load",
        "tree",
        "group",
    ]
    for name in [*names, "consolidate_metadata"]:
        assert callable(getattr(omnizarr, name))
        assert name in omnizarr.__all__
        assert inspect.getdoc(getattr(omnizarr, name))


def test_create_puts_the_shape_first() -> None:
    z = omnizarr.create((2, 3))
    assert (z.shape, z.dtype) == ((2, 3), np.dtype("float64"))
    assert omnizarr.create(5, dtype="int8", chunks=2).chunks == (2,)
    assert omnizarr.create(data=[1, 2]).dtype == "int64"
    assert omnizarr.create(3, data=None).shape == (3,)
    store = omnizarr.MemoryStore()
    assert omnizarr.create(3, store=store, path="a/b") == omnizarr.open(store, path="a/b")


def test_array_holds_data() -> None:
    z = omnizarr.array([[1, 2], [3, 4]], chunks=(1, 2))
    assert z[...].tolist() == [[1, 2], [3, 4]]
    store = omnizarr.MemoryStore()
    assert omnizarr.array(z, store=store, path="copy")[...].tolist() == [[1, 2], [3, 4]]
    assert "copy" in omnizarr.open_group(store)


@pytest.mark.parametrize(
    ("made", "value"),
    [
        (omnizarr.empty((2, 2)), 0.0),
        (omnizarr.zeros((2, 2)), 0.0),
        (omnizarr.ones((2, 2), dtype="int8"), 1),
        (omnizarr.full((2, 2), 7, dtype="int16"), 7),
        (omnizarr.full((2, 2), np.nan), np.nan),
        (omnizarr.empty((2, 2), fill_value=3), 3.0),
        (omnizarr.zeros((2, 2), dtype="M8[s]"), np.datetime64(0, "s")),
        (omnizarr.empty((2, 2), dtype="M8[s]"), np.datetime64("NaT", "s")),
        (omnizarr.zeros((2, 2), dtype="U3"), ""),
        (omnizarr.full((2, 2), "x", dtype=str), "x"),
        (omnizarr.zeros_like(omnizarr.full((2, 2), 7, dtype="m8[s]")), np.timedelta64(0, "s")),
        (omnizarr.full_like(omnizarr.full((2, 2), "x", dtype=str), "yz"), "yz"),
    ],
)
def test_arrays_of_one_value_take_no_space(made: omnizarr.Array, value: Any) -> None:
    np.testing.assert_array_equal(made[...], np.full((2, 2), value))
    assert list(made.store.list()) == ["zarr.json"]


SOURCE_OPTIONS: list[dict[str, Any]] = [
    {"chunks": (2, 3)},
    {"chunks": (2, 3), "shards": (4, 6), "compressors": ["gzip"], "order": "F"},
    {"chunks": (4, 6), "serializer": Sharding((2, 3), (Bytes("big"),), (Bytes("big"),), "start")},
    {"chunks": (4, 6), "filters": [Transpose((1, 0))], "serializer": Sharding((3, 2))},
    {"chunks": (4, 6), "serializer": Sharding((2, 3)), "compressors": [Gzip(1)]},
    {"chunks": (2, 3), "chunk_key_encoding": "v2", "dimension_names": ("y", None), "attributes": {"a": [1]}},
    {"chunks": (2, 3), "dtype": ">f4", "fill_value": np.nan, "compressors": None},
    {"chunks": (2, 3), "dtype": [("a", "i2"), ("b", "f8")]},
]


@pytest.mark.parametrize("options", SOURCE_OPTIONS)
def test_from_array_makes_the_same_array_elsewhere(options: dict[str, Any]) -> None:
    source = omnizarr.create_array(None, **{"shape": (7, 9), "dtype": "int16", **options})
    source[1:5] = np.ones((4, 9), source.dtype)
    made = omnizarr.from_array(None, data=source)
    assert made.metadata == source.metadata
    assert made[...].tobytes() == source[...].tobytes()
    empty = omnizarr.empty_like(source)
    assert empty.metadata == source.metadata
    assert empty.nchunks_initialized == 0


def test_from_array_with_changes() -> None:
    source = omnizarr.create_array(
        None,
        data=np.arange(24, dtype="int16").reshape(4, 6),
        chunks=(2, 3),
        shards=(4, 6),
        order="F",
        compressors="gzip",
    )
    assert omnizarr.from_array(None, data=source, chunks=(1, 2)).chunks == (1, 2)
    assert omnizarr.from_array(None, data=source, shards=None).shards is None
    made = omnizarr.from_array(None, data=source, compressors=Zstd(1))
    assert (made.compressors, made.chunks, made.shards, made.order) == ((Zstd(1),), (2, 3), (4, 6), "F")
    made = omnizarr.from_array(None, data=source, order="C")
    assert (made.order, made.filters) == ("C", ())
    made = omnizarr.from_array(None, data=source, dtype="float64", attributes={"n": 1}, name="deep/er")
    assert (made.dtype, made.attrs.asdict(), made.path) == (np.dtype("float64"), {"n": 1}, "deep/er")
    for array in (made, omnizarr.from_array(None, data=source, chunks=(1, 2))):
        np.testing.assert_array_equal(array[...], source[...])
    assert omnizarr.from_array(None, data=source, write_data=False)[...].tolist() == np.zeros((4, 6)).tolist()


def test_what_zarr_python_has_by_default_may_be_said() -> None:
    """`"keep"`, and None for the order and the generation."""
    source = omnizarr.create_array(None, shape=(4, 6), dtype="int8", chunks=(2, 3), order="F", zarr_format=2)
    kept = dict.fromkeys(["chunks", "shards", "filters", "compressors", "serializer"], "keep")
    assert omnizarr.from_array(None, data=source, **kept, order=None, zarr_format=None).metadata == source.metadata
    assert omnizarr.from_array(None, data=np.arange(3), chunks="keep", zarr_format=None).zarr_format == 3
    text = omnizarr.create_array(None, shape=2, dtype=str)
    assert omnizarr.from_array(None, data=text, fill_value="keep", write_data=False)[0] == "keep"

    assert omnizarr.create_array(None, shape=3, dtype="int8", order=None, zarr_format=None).order == "C"
    group = omnizarr.create_group(None, zarr_format=None)
    assert group.zarr_format == 3
    assert group.create_array("a", shape=1, dtype="int8", zarr_format=None).zarr_format == 3
    old = omnizarr.create_group(None, zarr_format=2)
    assert omnizarr.create_array(old.store, name="a", shape=1, dtype="int8", zarr_format=None).zarr_format == 2
    assert omnizarr.create_group(old.store, path="b/c", zarr_format=None).zarr_format == 2
    omnizarr.save(old.store, [1, 2], path="d", zarr_format=None)
    assert omnizarr.load(old.store, "d").tolist() == [1, 2]


@pytest.mark.parametrize("data", [np.arange(10), [[1, 2], [3, 4]], 5, np.float32(2), np.zeros((0, 3))])
def test_from_array_of_other_things(data: Any) -> None:
    made = omnizarr.from_array(None, data=data)
    assert made.dtype == np.asarray(data).dtype
    np.testing.assert_array_equal(made[...], data)


def test_from_array_does_not_erase_its_source() -> None:
    group = omnizarr.create_group(None)
    source = group.create_array("a/b", data=[1, 2, 3])
    reader = omnizarr.open_array(group.store, path="a/b", mode="r")
    for data in (source, reader):
        for name in ("a/b", "a", None):
            with pytest.raises(ArgumentError, match="overwrite"):
                omnizarr.from_array(group.store, data=data, name=name, overwrite=True)
    assert omnizarr.from_array(group.store, data=source, name="a/c", overwrite=True)[...].tolist() == [1, 2, 3]
    assert source[...].tolist() == [1, 2, 3]


def test_likes() -> None:
    source = omnizarr.create_array(
        None, data=np.full((4, 6), 9, "int16"), chunks=(2, 3), fill_value=5, compressors="gzip"
    )
    for made, value in (
        (omnizarr.zeros_like(source), 0),
        (omnizarr.ones_like(source), 1),
        (omnizarr.full_like(source, 7), 7),
        (omnizarr.empty_like(source), 5),
    ):
        assert (made[...] == value).all()
        assert (made.chunks, made.compressors, made.dtype) == ((2, 3), (Gzip(),), np.dtype("int16"))
    assert omnizarr.zeros_like(np.ones((2, 2), "float32"), dtype="int8").dtype == "int8"
    store = omnizarr.MemoryStore()
    assert omnizarr.ones_like(source, store=store, path="x") == omnizarr.open(store, path="x")


# -- saving and loading


def test_save_and_load_one_array(tmp_path: Path) -> None:
    omnizarr.save(tmp_path / "a.zarr", np.arange(5))
    assert omnizarr.load(tmp_path / "a.zarr").tolist() == [0, 1, 2, 3, 4]
    omnizarr.save(tmp_path / "a.zarr", [7])
    assert omnizarr.load(tmp_path / "a.zarr").tolist() == [7]
    omnizarr.save_array(tmp_path / "b.zarr", [1, 2], path="x/y", chunks=1)
    assert omnizarr.load(tmp_path / "b.zarr", path="x/y").tolist() == [1, 2]
    with pytest.raises(NodeExistsError):
        omnizarr.save_array(tmp_path / "a.zarr", [1], overwrite=False)


def test_save_and_load_several() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.save(store, [1], [2.5], named=[[3]])
    loaded = omnizarr.load(store)
    assert {name: values.tolist() for name, values in loaded.items()} == {"arr_0": [1], "arr_1": [2.5], "named": [[3]]}
    omnizarr.save_group(store, only=[1])
    assert list(omnizarr.load(store)) == ["only"]
    omnizarr.save_group(store, [1], path="g")
    assert list(omnizarr.load(store, path="g")) == ["arr_0"]
    assert list(omnizarr.open_group(store)) == ["g", "only"]
    for save in (omnizarr.save, omnizarr.save_group):
        with pytest.raises(ArgumentError, match="at least one array to save"):
            save(store)


def test_load_of_nothing() -> None:
    with pytest.raises(FileNotFoundError):
        omnizarr.load(omnizarr.MemoryStore())


def test_group_opens_or_creates() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.group(store, attributes={"a": 1})
    assert omnizarr.group(store).attrs == {"a": 1}
    assert omnizarr.group(store, overwrite=True).attrs == {}
    assert omnizarr.group(store, path="x/y").path == "x/y"
    assert omnizarr.group().path == ""


def test_create_group() -> None:
    store = omnizarr.MemoryStore()
    assert omnizarr.create_group(store, path="a/b", attributes={"x": 1}).attrs == {"x": 1}
    with pytest.raises(NodeExistsError):
        omnizarr.create_group(store)
    assert omnizarr.create_group(store, overwrite=True).nmembers() == 0


def test_tree_of_a_place(tmp_path: Path) -> None:
    omnizarr.save(tmp_path, a=[1], b=[[2.5]])
    assert str(omnizarr.tree(tmp_path)) == "/\n├── a (1,) int64\n└── b (1, 1) float64"
    assert str(omnizarr.tree(tmp_path, path="a")) == "a (1,) int64"
    assert str(omnizarr.tree(tmp_path, level=0)) == "/"
