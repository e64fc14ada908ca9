"""Creating arrays: shape, data type, data, fill value and other options, and the documents that they give."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.nodes.create.arrays import create, document

import omnizarr
from omnizarr.chunk_keys import DefaultKeys, V2Keys
from omnizarr.errors import ArgumentError, MetadataError, NodeExistsError, OmnizarrError
from omnizarr.model import MOST_DIMENSIONS


def test_help_shows_the_options() -> None:
    names = list(inspect.signature(omnizarr.create_array).parameters)
    assert names[:4] == ["store", "name", "shape", "dtype"]
    for name in ("data", "chunks", "shards", "filters", "compressors", "serializer", "fill_value", "order"):
        assert name in names
    for name in ("zarr_format", "attributes", "chunk_key_encoding", "dimension_names", "storage_options", "overwrite"):
        assert name in names
    assert "write_empty_chunks" in names
    assert list(inspect.signature(omnizarr.Group.create_array).parameters)[:3] == ["self", "name", "shape"]


# -- shape, data type, data


@pytest.mark.parametrize(
    ("shape", "expected"),
    [(5, (5,)), ((), ()), ([2, 3], (2, 3)), (np.array([2, 3]), (2, 3)), (np.int8(4), (4,)), (0, (0,))],
)
def test_shapes_as_users_give_them(shape: Any, expected: tuple[int, ...]) -> None:
    z = create(shape=shape)
    assert z.shape == expected
    assert all(type(length) is int for length in z.shape)


@pytest.mark.parametrize("shape", [-1, (2, -1), 2.5, (2.0, 3), "23", ("2",), True, (2, None), 2**63, {3: 4}.items()])
def test_invalid_shapes(shape: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        create(shape=shape)
    assert caught.value.argument == "shape"


def test_more_dimensions_than_numpy_holds() -> None:
    with pytest.raises(ArgumentError, match="dimensions"):
        create(shape=(1,) * (MOST_DIMENSIONS + 1))
    z = create(shape=(1,) * 32, chunks=1)
    z[...] = 4
    assert omnizarr.open_array(z.store)[(0,) * 32] == 4


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("int16", "int16"),
        (np.int16, "int16"),
        (">i2", "int16"),
        (np.dtype("f4"), "float32"),
        (float, "float64"),
        (bool, "bool"),
        ("complex128", "complex128"),
        ("r24", "r24"),
        ("V3", "r24"),
        ({"name": "int8"}, "int8"),
    ],
)
def test_data_types_as_users_give_them(dtype: Any, name: str) -> None:
    assert document(create(dtype=dtype))["data_type"] == name


def test_structured_types() -> None:
    z = create(dtype=[("a", ">i2"), ("b", [("c", "f4")])], fill_value={"a": 1, "b": {"c": 2.5}})
    assert document(z)["data_type"]["name"] == "struct"
    assert document(z)["fill_value"] == {"a": 1, "b": {"c": 2.5}}


@pytest.mark.parametrize("dtype", ["int61", "O", object, 3, "M8[nothing]", [("a", "O")]])
def test_data_types_that_cannot_be_stored(dtype: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        create(dtype=dtype)
    assert caught.value.argument == "dtype"


def test_missing_arguments_are_named() -> None:
    with pytest.raises(ArgumentError, match="`shape` is missing"):
        omnizarr.create_array(None, dtype="int8")
    with pytest.raises(ArgumentError, match="`dtype` is missing"):
        omnizarr.create_array(None, shape=3)


@pytest.mark.parametrize("data", [[[1, 2], [3, 4]], np.arange(4.0).reshape(2, 2), 5, np.float32(2.5)])
def test_data_determine_shape_and_data_type(data: Any) -> None:
    z = omnizarr.create_array(None, data=data)
    assert (z.shape, z.dtype) == (np.asarray(data).shape, np.asarray(data).dtype)
    np.testing.assert_array_equal(z[...], data)


def test_data_can_be_an_array_of_another_type() -> None:
    source = omnizarr.create_array(None, data=[1, 2, 3])
    z = omnizarr.create_array(None, data=source, dtype="float32")
    assert z.dtype == "float32"
    assert z[...].tolist() == [1, 2, 3]


def test_data_must_have_the_shape() -> None:
    with pytest.raises(ArgumentError, match="the shape of `data`"):
        create(data=np.zeros((2, 2)))


def test_invalid_options_store_nothing() -> None:
    store = omnizarr.MemoryStore()
    for wrong in ({"chunks": 0}, {"fill_value": "x"}, {"attributes": {"a": {1}}}, {"compressors": "gzap"}):
        with pytest.raises(OmnizarrError):
            omnizarr.create_array(store, name="a/b", shape=4, dtype="int8", **wrong)
    assert list(store.list()) == []


# -- fill values


def test_R16_the_default_fill_value_is_recorded() -> None:
    assert document(create())["fill_value"] == 0
    assert document(create(dtype="bool"))["fill_value"] is False
    assert document(create(dtype="r16"))["fill_value"] == [0, 0]


@pytest.mark.parametrize(
    ("dtype", "value", "stored"),
    [
        ("int16", 7, 7),
        ("int16", np.int64(7), 7),
        ("float32", np.nan, "NaN"),
        ("float32", "NaN", "NaN"),
        ("float32", -np.inf, "-Infinity"),
        ("float32", 1, 1.0),
        ("float32", "0x7fc00001", "0x7fc00001"),
        ("bool", True, True),
        ("complex64", 1 + 2j, [1.0, 2.0]),
        ("r16", b"\x01\x02", [1, 2]),
    ],
)
def test_fill_values_as_users_give_them(dtype: str, value: Any, stored: Any) -> None:
    z = create(dtype=dtype, fill_value=value)
    assert document(z)["fill_value"] == stored
    again = omnizarr.open_array(z.store)
    assert np.asarray(again.fill_value).tobytes() == np.asarray(z.fill_value).tobytes()


@pytest.mark.parametrize(
    ("dtype", "value"), [("int8", 300), ("int8", 1.5), ("int8", "x"), ("bool", 7), ("r16", b"x"), ("int8", [1])]
)
def test_invalid_fill_values(dtype: str, value: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        create(dtype=dtype, fill_value=value)
    assert caught.value.argument == "fill_value"
    assert caught.value.message.count("fill") == 1


# -- other options


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, DefaultKeys("/")),
        ("/", DefaultKeys("/")),
        (".", DefaultKeys(".")),
        ("default", DefaultKeys("/")),
        ("v2", V2Keys(".")),
        ({"name": "v2", "separator": "/"}, V2Keys("/")),
        ({"name": "v2", "configuration": {"separator": "/"}}, V2Keys("/")),
        (V2Keys("."), V2Keys(".")),
    ],
)
def test_chunk_key_encodings_as_users_give_them(value: Any, expected: Any) -> None:
    assert create(chunk_key_encoding=value).metadata.chunk_keys == expected


@pytest.mark.parametrize("value", ["defalt", ":", 3, {"name": "v2", "separator": ":"}, {}])
def test_invalid_chunk_key_encodings(value: Any) -> None:
    with pytest.raises(MetadataError, match="chunk_key_encoding"):
        create(chunk_key_encoding=value)


def test_R22_dimension_names() -> None:
    assert create(dimension_names=["y", None]).dimension_names == ("y", None)
    assert create(shape=3, dimension_names="x").dimension_names == ("x",)
    for wrong in (["x"], ["x", 1], "xyz", 5):
        with pytest.raises(ArgumentError) as caught:
            create(dimension_names=wrong)
        assert caught.value.argument == "dimension_names"


def test_attributes_are_converted_to_json() -> None:
    given: dict[str, Any] = {"a": (1, 2), "b": np.float32(0.5), "c": {"d": np.arange(2)}}
    z = create(attributes=given)
    assert z.attrs.asdict() == {"a": [1, 2], "b": 0.5, "c": {"d": [0, 1]}} == document(z)["attributes"]
    given["c"]["d"] = 5
    assert z.attrs["c"] == {"d": [0, 1]}


@pytest.mark.parametrize("attributes", [{1: 2}, {"a": {1, 2}}, {"a": np.nan}, 5, "text", [1]])
def test_attributes_that_cannot_be_stored(attributes: Any) -> None:
    with pytest.raises(ArgumentError, match="attributes"):
        create(attributes=attributes)


def test_an_unknown_option_is_rejected_with_a_suggestion() -> None:
    with pytest.raises(ArgumentError, match="there is no option `compressor`") as caught:
        create(compressor="gzip")
    assert caught.value.hint == "did you mean `compressors`?"
    with pytest.raises(ArgumentError, match="there is no option `fill`"):
        omnizarr.create_group(None).create_array("a", shape=3, dtype="i1", fill=3)  # type: ignore[call-arg]


def test_an_unknown_generation_is_rejected() -> None:
    for wrong in (7, True, "3"):
        with pytest.raises(ArgumentError, match="zarr_format"):
            create(zarr_format=wrong)


def test_overwrite_replaces_everything(tmp_path: Path) -> None:
    for store in (omnizarr.MemoryStore(), omnizarr.LocalStore(tmp_path)):
        group = omnizarr.create_group(store)
        group.create_array("a/b/c", shape=4, dtype="int8", chunks=1)[...] = 1
        with pytest.raises(NodeExistsError) as caught:
            group.create_array("a", shape=4, dtype="int8")
        assert "overwrite" in (caught.value.hint or "")
        z = group.create_array("a", shape=4, dtype="int8", chunks=1, overwrite=True)
        assert z[...].tolist() == [0, 0, 0, 0]
        assert sorted(store.list()) == ["a/zarr.json", "zarr.json"]


def test_overwrite_erases_chunks_of_a_half_erased_array() -> None:
    z = omnizarr.create_array(None, name="a", shape=4, dtype="int8", chunks=1)
    z[...] = 1
    z.store.erase("a/zarr.json")
    again = omnizarr.create_array(z.store, name="a", shape=4, dtype="int8", chunks=1, overwrite=True)
    assert again[...].tolist() == [0, 0, 0, 0]


def test_overwrite_of_a_root_without_a_node_keeps_other_files(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    omnizarr.create_group(tmp_path, overwrite=True)
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_overwrite_erases_nothing_when_an_option_or_an_ancestor_is_wrong() -> None:
    group = omnizarr.create_group(None)
    group.create_array("a", data=[1, 2])
    with pytest.raises(ArgumentError):
        group.create_array("a", shape=4, dtype="int8", fill_value="x", overwrite=True)
    with pytest.raises(TypeError):
        group.create_array("a/b", shape=4, dtype="int8", overwrite=True)
    assert group["a"][...].tolist() == [1, 2]  # type: ignore[union-attr]


def test_write_empty_chunks() -> None:
    z = create(chunks=(50, 60))
    z[...] = 0
    assert z.nchunks_initialized == 0
    z = create(chunks=(50, 60), write_empty_chunks=True)
    z[...] = 0
    assert z.nchunks_initialized == 2


def test_an_opened_array_equals_the_created_one() -> None:
    z = create(
        chunks=(10, 10),
        shards=(20, 20),
        order="F",
        compressors=["zstd", "crc32c"],
        attributes={"a": 1},
        dimension_names=("y", "x"),
        fill_value=3,
    )
    again = omnizarr.open_array(z.store)
    assert again.same_array(z)
    assert again.metadata == z.metadata
