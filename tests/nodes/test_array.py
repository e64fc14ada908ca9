"""`Array`: its properties, and the protocols of Python and NumPy."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.codecs import Bytes, Gzip, Sharding, Transpose
from omnizarr.display.texts import human_bytes
from omnizarr.errors import ArgumentError, NodeNotFoundError, NodeTypeError, OmnizarrError
from omnizarr.store import PrefixStore
from omnizarr.testing import RecordingStore


def create(**options: Any) -> omnizarr.Array:
    return omnizarr.create_array(
        options.pop("store", None), **{"shape": (10, 6), "dtype": "int16", "chunks": (4, 3), **options}
    )


def test_properties() -> None:
    z = create(name="a/b", fill_value=3, attributes={"x": 1}, dimension_names=["y", None], compressors="gzip")
    assert (z.shape, z.ndim, z.size, z.dtype, z.itemsize, z.nbytes) == ((10, 6), 2, 60, np.dtype("int16"), 2, 120)
    assert (z.chunks, z.shards, z.cdata_shape, z.nchunks) == ((4, 3), None, (3, 2), 6)
    assert (z.path, z.name, z.basename) == ("a/b", "/a/b", "b")
    assert (z.fill_value, z.order, z.zarr_format, z.read_only) == (3, "C", 3, False)
    assert (z.filters, z.serializer, z.compressors) == ((), Bytes("little"), (Gzip(),))
    assert z.dimension_names == ("y", None)
    assert z.attrs == {"x": 1}
    assert z.metadata.shape == (10, 6)
    assert z.data_type.name == "int16"
    assert repr(z) == f"<Array `a/b` in {z.store!r} shape=(10, 6) dtype=int16>"


def test_chunks_of_a_sharded_array_are_the_inner_chunks() -> None:
    z = create(chunks=(2, 3), shards=(4, 6), compressors="gzip", order="F")
    assert (z.chunks, z.shards, z.cdata_shape, z.nchunks) == ((2, 3), (4, 6), (5, 2), 10)
    assert (z.filters, z.serializer, z.compressors, z.order) == ((Transpose((1, 0)),), Bytes("little"), (Gzip(),), "F")


@pytest.mark.parametrize(("shape", "count"), [((), 1), ((0,), 0), ((5, 0), 0), ((1,), 1)])
def test_R66_chunks_of_small_arrays(shape: tuple[int, ...], count: int) -> None:
    z = create(shape=shape, chunks=1)
    assert z.nchunks == count
    assert z.size == np.zeros(shape).size


def test_nchunks_initialized() -> None:
    z = create()
    assert z.nchunks_initialized == 0
    z[0, 0] = 1
    z[9, 5] = 1
    assert z.nchunks_initialized == 2
    z.store.set("c/7/7", b"outside")
    z.store.set("c/x", b"not a chunk")
    assert z.nchunks_initialized == 2
    z[...] = 1
    assert z.nchunks_initialized == z.nchunks


def test_nchunks_initialized_of_shards_counts_inner_chunks_inside_the_array() -> None:
    z = create(chunks=(2, 3), shards=(4, 6))
    z[0, 0] = 1
    assert z.nchunks_initialized == 1
    z[...] = 1
    assert z.nchunks_initialized == z.nchunks == 10
    wide = create(chunks=(2, 3), shards=(4, 6), write_empty_chunks=True)
    larger = create(shape=(12, 6), chunks=(2, 3), shards=(4, 6))
    larger[...] = 1
    wide.store.set("c/2/0", larger.store.get("c/2/0") or b"")  # another writer also stored chunks outside the array
    assert wide.nchunks_initialized == 2


def test_nchunks_initialized_behind_a_transpose() -> None:
    z = create(chunks=(4, 6), filters=[Transpose((1, 0))], serializer=Sharding((3, 2)), compressors=None)
    z[...] = 1
    assert z.chunks == (2, 3)
    assert z.nchunks_initialized == z.nchunks == 10


def test_nbytes_stored() -> None:
    z = create(compressors=None)
    empty = z.nbytes_stored()
    z[...] = 1
    assert z.nbytes_stored() == empty + 6 * 24
    group = omnizarr.create_group(None)
    group.create_array("a", data=[1])
    b = group.create_array("b", data=np.zeros(0))
    assert b.nbytes_stored() == len(b.store.get("b/zarr.json") or b"")


def test_info_reads_only_the_metadata() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    z = create(store=store, chunks=(2, 3), shards=(4, 6), dimension_names=["y", "x"], order="F")
    store.reset()
    text = str(z.info)
    assert store.calls == []
    for part in ("int16", "(10, 6)", "Chunk shape", "Shard shape", "y, x", "blosc", "transpose", "120 B"):
        assert part in text
    z[...] = 1
    complete = str(z.info_complete())
    assert "10 of 10" in complete
    assert "Stored" in complete
    assert repr(z.info) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (2**20, "1.0 MiB"),
        (5 * 2**30 + 2**29, "5.5 GiB"),
        (3 * 2**60, "3.0 EiB"),
        (2**4000, f"{2**3940}.0 EiB"),
    ],
)
def test_human_bytes(count: int, text: str) -> None:
    assert human_bytes(count) == text


# -- Python protocols


def test_len_and_iteration() -> None:
    values = np.arange(60, dtype="int16").reshape(10, 6)
    for options in ({}, {"shards": (8, 6)}):
        z = create(data=values, **options)
        assert len(z) == 10
        rows = list(z)
        assert len(rows) == 10
        np.testing.assert_array_equal(rows, values)
    assert list(omnizarr.create_array(None, data=[5, 6, 7], chunks=2)) == [5, 6, 7]
    assert list(create(shape=(0, 3))) == []


def test_iteration_decodes_every_chunk_once() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    z = create(store=store, data=np.ones((10, 6), "int16"))
    store.reset()
    assert len(list(z)) == 10
    assert store.requests == z.nchunks


def test_an_array_without_dimensions_has_no_length_and_no_rows() -> None:
    z = create(shape=(), chunks=())
    with pytest.raises(TypeError):
        len(z)
    with pytest.raises(TypeError):
        iter(z)


def test_conversion_to_numpy() -> None:
    values = np.arange(60, dtype="int16").reshape(10, 6)
    z = create(data=values)
    np.testing.assert_array_equal(np.asarray(z), values)
    assert np.asarray(z, dtype="float32").dtype == "float32"
    assert np.array(z, dtype="int16").dtype == "int16"
    np.testing.assert_array_equal(np.add(z, 1), values + 1)
    assert np.sum(z) == values.sum()
    with pytest.raises(ValueError, match="always a copy") as caught:
        z.__array__(copy=False)
    assert isinstance(caught.value, OmnizarrError)
    assert z.__array__(copy=True).flags.writeable
    assert z.__array__("int32").dtype == "int32"


def test_truth_value_is_that_of_numpy() -> None:
    assert bool(omnizarr.create_array(None, data=[5]))
    assert not bool(omnizarr.create_array(None, data=0))
    assert not bool(create(shape=(0, 3)))


def test_same_array_compares_location_and_metadata() -> None:
    z = create(name="a")
    assert z.same_array(omnizarr.open_array(z.store, path="a"))
    assert not z.same_array(create(name="a"))
    other = omnizarr.create_array(z.store, name="b", shape=(10, 6), dtype="int16", chunks=(4, 3))
    assert not z.same_array(other)
    other = omnizarr.open_array(z.store, path="a")
    other.attrs["x"] = 1
    assert not z.same_array(other)
    assert z.refresh().same_array(other)
    assert not z.same_array("text")


def test_same_array_with_nan_as_fill_value() -> None:
    z = create(dtype="float32", fill_value=np.nan)
    assert z.same_array(omnizarr.open_array(z.store))
    assert not create(store=z.store, dtype="float32", fill_value=0.0, overwrite=True).same_array(z)


def test_pickling_sends_no_request(tmp_path: Path) -> None:
    store = RecordingStore(omnizarr.LocalStore(tmp_path))
    z = create(store=store, name="a", chunks=(2, 3), shards=(4, 6), write_empty_chunks=True)
    z[...] = 7
    store.reset()
    again = pickle.loads(pickle.dumps(z))
    assert store.calls == []
    assert again.store.calls == []
    assert again.same_array(z)
    assert (again[...] == 7).all()
    again[...] = 0
    assert again.nchunks_initialized == 10  # the copy also writes empty chunks


def test_pickles_and_copies_of_read_only_arrays_stay_read_only(tmp_path: Path) -> None:
    create(store=tmp_path)
    z = omnizarr.open_array(tmp_path, mode="r")
    for again in (pickle.loads(pickle.dumps(z)), copy.copy(z), copy.deepcopy(z)):
        assert again.read_only
        with pytest.raises(PermissionError):
            again[...] = 1


def test_dask_tokens_are_deterministic(tmp_path: Path) -> None:
    z = create(store=tmp_path, name="a", attributes={"b": 1, "a": 2})
    token = z.__dask_tokenize__()
    assert token == omnizarr.open_array(tmp_path, path="a").__dask_tokenize__()
    assert token == pickle.loads(pickle.dumps(z)).__dask_tokenize__()
    z.attrs["c"] = 1
    assert z.__dask_tokenize__() != token
    assert create(store=tmp_path, name="b").__dask_tokenize__() != token


@pytest.mark.parametrize("zarr_format", [1, 2, 3, "3-draft-2020", "3-draft-2022", "n5"])
def test_tokens_do_not_depend_on_how_the_array_is_reached(tmp_path: Path, zarr_format: Any) -> None:
    name = None if zarr_format == 1 else "g/t"
    create(store=tmp_path / "x", name=name, zarr_format=zarr_format)
    modes: tuple[Any, ...] = ("r", "r+")
    handles = [omnizarr.open_array(tmp_path / "x" / (name or ""), mode=mode) for mode in modes]
    handles.append(omnizarr.open_array(tmp_path / "x", path=name))
    handles.append(omnizarr.open_array(PrefixStore(omnizarr.LocalStore(tmp_path), "x"), path=name))
    if zarr_format in (1, 2, 3):
        handles.append(omnizarr.open_array(tmp_path, path=f"x/{name or ''}"))
    assert len({handle.__dask_tokenize__() for handle in handles}) == 1


@pytest.mark.parametrize("kind", ["folder", "memory", "sqlite"])
def test_tokens_change_when_another_handle_writes(tmp_path: Path, kind: str) -> None:
    stores = {"folder": tmp_path, "memory": omnizarr.MemoryStore(), "sqlite": omnizarr.SQLiteStore(tmp_path / "x.db")}
    store = stores[kind]
    first = create(store=store, name="a")
    second, reader = omnizarr.open_array(store, path="a"), omnizarr.open_array(store, path="a", mode="r")
    tokens = set()
    for change in (
        lambda: None,
        lambda: first.__setitem__(0, 1),
        lambda: second.__setitem__((0, 0), 2),
        lambda: second.__setitem__((0, 0), 3),
        lambda: second.resize(2, second.shape[1]),
    ):
        change()
        assert reader.__dask_tokenize__() not in tokens
        tokens.add(reader.__dask_tokenize__())
        assert reader.__dask_tokenize__() in tokens


def test_tokens_change_when_another_process_writes(tmp_path: Path) -> None:
    z = create(store=tmp_path, name="a")
    token = z.__dask_tokenize__()
    code = f"import omnizarr; omnizarr.open_array({str(tmp_path)!r}, path='a')[0, 0] = 1"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert z.__dask_tokenize__() != token


# -- refresh


def test_refresh_loads_the_changes_of_another_handle() -> None:
    z = create()
    other = omnizarr.open_array(z.store)
    other.resize((3, 3))
    other.attrs["x"] = 1
    assert z.shape == (10, 6)
    assert z.refresh() is z
    assert z.shape == (3, 3)
    assert z.attrs == {"x": 1}
    assert z[...].shape == (3, 3)


def test_refresh_detects_a_replaced_array() -> None:
    z = create(compressors=None)
    omnizarr.create_array(z.store, shape=4, dtype="float32", chunks=2, fill_value=1.5, overwrite=True)
    z.refresh()
    assert z[...].tolist() == [1.5] * 4
    omnizarr.create_array(z.store, shape=4, dtype="float32", chunks=2, fill_value=2.5, overwrite=True)
    assert z.refresh()[...].tolist() == [2.5] * 4


def test_refresh_detects_an_erased_array() -> None:
    z = create(name="a")
    del omnizarr.open_group(z.store)["a"]
    with pytest.raises(NodeNotFoundError):
        z.refresh()
    with pytest.raises(NodeNotFoundError):
        z.attrs["x"] = 1
    omnizarr.create_group(z.store, path="a")
    with pytest.raises(NodeTypeError):
        z.refresh()
    with pytest.raises(NodeTypeError):
        z.attrs["x"] = 1
    with pytest.raises(NodeTypeError):
        z.resize((1, 1))


# -- reading into a caller's array


def test_read_into_out() -> None:
    values = np.arange(60, dtype="int16").reshape(10, 6)
    z = create(data=values)
    out = np.zeros((3, 6), "int32")
    assert z.read(slice(2, 5), out=out) is out
    np.testing.assert_array_equal(out, values[2:5])
    assert z.read((1, 1)).shape == ()
    assert isinstance(z.read((1, 1)), np.ndarray)
    np.testing.assert_array_equal(z.read(), values)


def test_reading_into_array_subclasses(tmp_path: Path) -> None:
    """Reading into a masked array unmasks its elements."""
    for z in (create(), omnizarr.create_array(tmp_path / "z", data=np.arange(8), chunks=2)):
        out = np.ma.masked_all(z.shape, z.dtype)
        assert z.read(out=out) is out
        assert not out.mask.any()
        np.testing.assert_array_equal(out, z[...])
    mapped = np.memmap(tmp_path / "mapped", z.dtype, "w+", shape=z.shape)
    assert z.read(out=mapped) is mapped
    np.testing.assert_array_equal(mapped, z[...])


@pytest.mark.parametrize(
    "out", [np.zeros((3, 5), "int16"), [[1, 2]], np.zeros((10, 6), "bool"), np.broadcast_to(np.int16(1), (10, 6))]
)
def test_an_invalid_out_is_rejected(out: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        create().read(out=out)
    assert caught.value.argument == "out"
