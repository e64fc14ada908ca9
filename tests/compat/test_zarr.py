"""The behaviour of zarr-python where it differs from omnizarr's own."""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.compat import zarr
from omnizarr.compat.zarr.abc.store import Store
from omnizarr.compat.zarr.api import asynchronous
from omnizarr.compat.zarr.core.buffer import default_buffer_prototype
from omnizarr.compat.zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from omnizarr.compat.zarr.core.sync import sync
from omnizarr.compat.zarr.storage import LocalStore, MemoryStore, StorePath, WrapperStore, ZipStore

DATA = np.arange(60, dtype="i4").reshape(6, 10)


@pytest.fixture(params=[2, 3])
def array(request: pytest.FixtureRequest) -> Any:
    array = zarr.create_array({}, shape=DATA.shape, chunks=(2, 5), dtype="i4", zarr_format=request.param)
    array[:] = DATA
    return array


@pytest.mark.smoke
def test_a_group_with_an_array(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", attributes={"title": "t"})
    array = group.create_array("x/y", shape=(4, 4), chunks=(2, 2), dtype="f4")
    array[1] = 2.5
    group = zarr.open(tmp_path / "a.zarr", mode="r")
    assert isinstance(group, zarr.Group)
    assert group.attrs["title"] == "t"
    assert [name for name, _ in group.members(max_depth=None)] == ["x", "x/y"]
    assert group["x/y"][1].tolist() == [2.5] * 4
    assert isinstance(omnizarr.open(tmp_path / "a.zarr"), omnizarr.Group)


def test_open_creates_a_group(tmp_path: Path) -> None:
    assert isinstance(zarr.open(tmp_path / "new.zarr"), zarr.Group)
    with pytest.raises(zarr.errors.GroupNotFoundError):
        zarr.open_group(tmp_path / "absent.zarr", mode="r+")
    with pytest.raises(FileNotFoundError):
        zarr.open_array(tmp_path / "absent.zarr", mode="r+")


def test_selections(array: Any) -> None:
    assert isinstance(array[1, 2], np.ndarray)
    assert isinstance(array[..., 1, 2], np.int32)
    assert array[1, 2] == DATA[1, 2]
    assert np.array_equal(array[[0, 2], [1, 3]], DATA[[0, 2], [1, 3]])
    assert np.array_equal(array[[0, 2], 1:4], DATA[[0, 2], 1:4])
    assert np.array_equal(array[1, :, None] if False else array.oindex[[0, 2], [1, 3]], DATA[np.ix_([0, 2], [1, 3])])
    assert np.array_equal(array.vindex[DATA % 7 == 0], DATA[DATA % 7 == 0])
    assert np.array_equal(array.blocks[1, 0], DATA[2:4, :5])
    with pytest.raises(zarr.errors.NegativeStepError):
        array[::-1]
    with pytest.raises(zarr.errors.BoundsCheckError):
        array[6]
    with pytest.raises(zarr.errors.VindexInvalidSelectionError):
        array.vindex[:, 1]
    with pytest.raises(IndexError):
        array[0, 0, 0]


def test_metadata_of_each_format(array: Any) -> None:
    metadata = array.metadata
    assert metadata.shape == DATA.shape
    assert metadata.zarr_format == array.zarr_format
    if array.zarr_format == 2:
        assert isinstance(metadata, ArrayV2Metadata)
        assert not hasattr(metadata, "dimension_names")
        assert metadata.compressor.codec_id == "zstd"
    else:
        assert isinstance(metadata, ArrayV3Metadata)
        assert metadata.dimension_names is None
        assert [codec.to_dict()["name"] for codec in metadata.codecs] == ["bytes", "zstd"]
    assert type(metadata).from_dict(metadata.to_dict()) == metadata


def test_shards_with_the_index_at_the_start() -> None:
    shards = {"shape": (4, 10), "index_location": "start"}
    array = zarr.create_array({}, shape=(6, 10), chunks=(2, 5), shards=shards, dtype="i4")
    array[:] = DATA
    assert array.shards == (4, 10)
    assert array.chunks == (2, 5)
    assert array.metadata.codecs[0].index_location == "start"
    assert np.array_equal(array[:], DATA)


def test_existing_nodes_and_read_only_stores(tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "a.zarr", shape=3, dtype="i4")
    with pytest.raises(zarr.errors.ContainsArrayError):
        zarr.create_array(tmp_path / "a.zarr", shape=3, dtype="i4")
    with pytest.raises(ValueError, match="read-only"):
        zarr.open_array(tmp_path / "a.zarr", mode="r")[0] = 1
    group = zarr.create_group({})
    group.create_group("g")
    with pytest.raises(zarr.errors.ContainsGroupError):
        group.create_group("g")
    with pytest.raises(KeyError):
        group["absent"]
    del group["absent"]


def test_a_wrapper_store_gets_every_request() -> None:
    class Counting(WrapperStore[Store]):
        calls: list[str] = []  # noqa: RUF012

        async def set(self, key: str, value: Any) -> None:
            self.calls.append(key)
            await super().set(key, value)

    store = Counting(MemoryStore())
    array = zarr.create_array(store, name="a", shape=4, chunks=2, dtype="i4")
    array[:] = 1
    assert {"a/c/0", "a/c/1", "a/zarr.json"} <= set(Counting.calls)
    assert zarr.open_array(store, path="a", mode="r")[:].tolist() == [1] * 4


def test_a_store_of_ones_own_needs_only_coroutines() -> None:
    class Own(Store):
        supports_writes = supports_deletes = supports_listing = True  # type: ignore[assignment]

        def __init__(self) -> None:
            super().__init__()
            self.values: dict[str, Any] = {}

        def __eq__(self, other: object) -> bool:
            return self is other

        async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
            return self.values.get(key)

        async def get_partial_values(self, prototype: Any, key_ranges: Any) -> Any:
            return [await self.get(key, prototype) for key, _ in key_ranges]

        async def exists(self, key: str) -> bool:
            return key in self.values

        async def set(self, key: str, value: Any) -> None:
            self.values[key] = value

        async def delete(self, key: str) -> None:
            del self.values[key]

        async def list(self) -> AsyncIterator[str]:
            for key in sorted(self.values):
                yield key

        async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
            async for key in self.list():
                if key.startswith(prefix):
                    yield key

        async def list_dir(self, prefix: str) -> AsyncIterator[str]:
            folder = prefix + "/" if prefix else ""
            for name in sorted({key[len(folder) :].partition("/")[0] for key in self.values if key.startswith(folder)}):
                yield name

    store = Own()
    zarr.open_group(store).create_array("a", data=DATA, chunks=(3, 10))
    assert sorted(store.values) == ["a/c/0/0", "a/c/1/0", "a/zarr.json", "zarr.json"]
    assert np.array_equal(zarr.open_group(store)["a"][:], DATA)
    assert list(zarr.open_group(store)) == ["a"]


def test_a_zip_store_is_complete_after_close(tmp_path: Path) -> None:
    with ZipStore(tmp_path / "a.zip", mode="w") as store:
        zarr.create_array(store, name="x", data=DATA)
    with ZipStore(tmp_path / "a.zip") as store:
        assert np.array_equal(zarr.open_group(store, mode="r")["x"][:], DATA)


def test_pickles_share_a_directory(tmp_path: Path, array: Any) -> None:
    stored = zarr.create_array(LocalStore(tmp_path), data=DATA)
    copy = pickle.loads(pickle.dumps(stored))
    copy[0] = 7
    assert stored[0].tolist() == [7] * 10
    assert np.array_equal(pickle.loads(pickle.dumps(array))[:], DATA)


def test_stores_hold_buffers() -> None:
    values: dict[str, Any] = {}
    zarr.create_array(values, data=DATA, chunks=(6, 10), compressors=None)
    assert values["c/0/0"].to_bytes() == DATA.tobytes()
    place = StorePath(MemoryStore(values)) / "c/0/0"
    assert len(sync(place.get(default_buffer_prototype()))) == DATA.nbytes


def test_consolidated_metadata() -> None:
    store = MemoryStore()
    zarr.open_group(store).create_array("a", data=DATA)
    with pytest.warns(zarr.errors.ZarrUserWarning):
        group = zarr.consolidate_metadata(store)
    assert list(group.metadata.consolidated_metadata.metadata) == ["a"]
    assert list(zarr.open_consolidated(store, mode="r")) == ["a"]
    with pytest.raises(ValueError, match="consolidated"):
        zarr.open_consolidated(MemoryStore(dict(zarr.group().store._store_dict)), mode="r")


def test_coroutines() -> None:
    async def work() -> Any:
        group = await asynchronous.open_group({})
        array = await group.create_array("a", shape=(6, 10), dtype="i4")
        await array.setitem(slice(None), DATA)
        names = [name async for name, _ in group.members()]
        return names, await array.getitem((0, slice(3))), await array.oindex.getitem(([0, 1], [2]))

    names, row, part = sync(work())
    assert names == ["a"]
    assert row.tolist() == [0, 1, 2]
    assert part.tolist() == [[2], [12]]


def test_settings_are_restored() -> None:
    assert zarr.config.get("array.order") == "C"
    with zarr.config.set({"array.order": "F", "async.concurrency": 3}):
        assert zarr.config.get("array.order") == "F"
        assert zarr.create_array({}, data=DATA)[:].flags.f_contiguous
    assert zarr.config.get("array.order") == "C"


@pytest.mark.parametrize("zarr_format", [1, "3-draft-2020", "3-draft-2022"])
def test_generations_that_zarr_python_does_not_know(tmp_path: Path, zarr_format: Any) -> None:
    omnizarr.create_array(tmp_path / "a", data=DATA, zarr_format=zarr_format)
    array = zarr.open_array(tmp_path / "a", mode="r")
    assert np.array_equal(array[:], DATA)
    assert array.metadata.shape == DATA.shape


def test_errors_of_selections_and_arguments(array: Any) -> None:
    for selection, message in (
        (np.s_[0, 0, 0], "too many indices for array; expected 2, got 3"),
        (np.s_[1.5], "expected integer or slice, got <class 'float'>"),
        (np.s_[..., ...], "can only have a single ellipsis"),
    ):
        with pytest.raises(IndexError, match=message):
            array[selection]
    with pytest.raises(ValueError, match="same number of dimensions"):
        array.resize((2, 2, 2))
    with pytest.raises(TypeError, match="ordr"):
        zarr.create_array({}, shape=3, dtype="i4", config={"ordr": "F"})
    with pytest.raises(TypeError, match="JSON"):
        zarr.create_group({}, attributes={"x": object()})
    with pytest.raises(TypeError, match="bogus"):
        zarr.create(shape=3, bogus=1)
    with pytest.raises(ValueError, match="Consolidated metadata requested"):
        zarr.open_group(zarr.group().store, use_consolidated=True)


def test_create_with_a_mode_and_data() -> None:
    store = MemoryStore()
    zarr.create(shape=(3,), store=store, data=[1, 2, 3])
    with pytest.raises(zarr.errors.ContainsArrayError):
        zarr.create(shape=(3,), store=store)
    assert zarr.create(shape=(2,), store=store, mode="w", data=[4, 5])[:].tolist() == [4, 5]
    with pytest.raises(FileExistsError):
        zarr.create(shape=(2,), store=store, mode="w-")


def test_from_array_keeps_chunks_of_different_lengths() -> None:
    with zarr.config.set({"array.rectilinear_chunks": True}):
        source = zarr.create_array({}, shape=DATA.shape, chunks=[[1, 5], [4, 6]], dtype="i4")
        source[...] = DATA
        copy = zarr.from_array({}, data=source)
        assert copy.metadata.chunk_grid == source.metadata.chunk_grid
        assert np.array_equal(copy[...], DATA)


def test_v2_nodes_have_a_file_of_attributes(tmp_path: Path) -> None:
    zarr.create_group(tmp_path / "a", zarr_format=2).create_array("b", shape=2, dtype="i4")
    assert (tmp_path / "a/.zattrs").read_text() == (tmp_path / "a/b/.zattrs").read_text() == "{}"


def test_the_config_of_an_array_is_checked() -> None:
    store = zarr.storage.MemoryStore()
    zarr.create_array(store, shape=4, dtype="u1")
    assert zarr.open(store, config={"order": "F", "sharding_coalesce_max_bytes": 1}).config.order == "F"
    with pytest.raises(TypeError, match=r"Unknown array config keys: \['nope'\]"):
        zarr.open_array(store, config={"nope": 1})
    with pytest.raises(ValueError, match="Expected instance of bool"):
        zarr.open_array(store, config={"read_missing_chunks": "yes"})
    with pytest.raises(TypeError, match="resolves to a group"):
        zarr.open(zarr.storage.MemoryStore(), mode="a", config={"order": "F"})
