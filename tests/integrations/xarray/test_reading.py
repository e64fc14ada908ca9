"""Reading with the engine `omnizarr` of xarray."""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray")

import omnizarr  # noqa: E402
import omnizarr.integrations.xarray  # noqa: E402
from omnizarr.errors import MetadataError, NodeNotFoundError  # noqa: E402
from omnizarr.store import Buffer, MemoryStore, Request, Store  # noqa: E402
from omnizarr.testing import RecordingStore  # noqa: E402

TEMPERATURE = np.arange(20 * 6 * 8, dtype="f4").reshape(20, 6, 8)
GENERATIONS: Sequence[Any] = (1, 2, "3-draft-2020", "3-draft-2022", 3, "n5")


def weather(store: Any, path: str | None = None, zarr_format: Any = 3, **options: Any) -> Any:
    """Writes a dataset with omnizarr, and returns its group."""
    group = omnizarr.create_group(store, path=path, zarr_format=zarr_format, attributes={"title": "weather"})
    fill = {} if zarr_format in (3, "3-draft-2022", "n5") else {"fill_value": None}
    values: dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]] = {
        "t": (("time", "y", "x"), TEMPERATURE, {"units": "K"}),
        "time": (("time",), np.arange(20), {"units": "days since 2000-01-01"}),
        "y": (("y",), np.arange(6) * 0.5, {}),
        "x": (("x",), np.arange(8) * 0.25, {}),
    }
    for name, (dimensions, data, attributes) in values.items():
        chunks = {"chunks": (5, 3, 4)} | options if name == "t" else {}
        group.create_array(name, data=data, dimension_names=dimensions, attributes=attributes, **fill, **chunks)
    return group


def check_weather(dataset: Any) -> None:
    assert dict(dataset.sizes) == {"time": 20, "y": 6, "x": 8}
    assert dataset.attrs == {"title": "weather"}
    assert set(dataset.coords) == {"time", "y", "x"}
    assert dataset.t.attrs == {"units": "K"}
    np.testing.assert_array_equal(dataset.t, TEMPERATURE)
    np.testing.assert_array_equal(dataset.time, np.datetime64("2000-01-01") + np.arange(20))
    np.testing.assert_array_equal(dataset.x, np.arange(8) * 0.25)


def open_weather(store: Any, **options: Any) -> Any:
    return xr.open_dataset(store, engine="omnizarr", **options)


@pytest.mark.smoke
@pytest.mark.parametrize("zarr_format", GENERATIONS[1:])  # v1 has no groups
def test_every_generation(tmp_path: Path, zarr_format: Any) -> None:
    place = str(tmp_path / ("w.n5" if zarr_format == "n5" else "w.zarr"))
    weather(place, zarr_format=zarr_format)
    with open_weather(place) as dataset:
        check_weather(dataset)


@pytest.mark.parametrize("address", ["w.zarr", "w.zarr.zip", "w.zarr.sqlite"])
def test_every_local_store(tmp_path: Path, address: str) -> None:
    place = f"{tmp_path}/{address}"
    weather(place).store.close()
    with open_weather(place) as dataset:
        check_weather(dataset)


@pytest.mark.parametrize("name", ["reference::{}/version0.json", "reference::{}/version1.json", "{}/refs.parq"])
def test_references(name: str) -> None:
    if name.endswith("parq"):
        pytest.importorskip("pyarrow")
    folder = Path(__file__).parents[2] / "corpora" / "references" / "kerchunk-0.2.10"
    dataset = open_weather(name.format(folder))
    assert dataset.temperature.shape == (10, 12)
    np.testing.assert_array_equal(dataset.temperature, omnizarr.open(name.format(folder), mode="r")["temperature"])


def test_stores_dicts_groups_and_paths() -> None:
    values: dict[str, bytes] = {}
    group = weather(values, "below")
    for given, options in ((values, {"group": "below"}), (group.store, {"group": "/below"}), (group, {})):
        check_weather(open_weather(given, **options))
    with pytest.raises(NodeNotFoundError):
        open_weather(values, group="above")


@pytest.mark.parametrize("consolidated", [None, True, False])
def test_consolidated_metadata_of_the_root_serves_groups_below(consolidated: bool | None) -> None:
    store = MemoryStore()
    weather(store, "a/b")
    if consolidated:
        with pytest.raises(MetadataError, match="has no consolidated metadata"):
            open_weather(store, group="a/b", consolidated=True)
    omnizarr.consolidate_metadata(store)
    recording = RecordingStore(store)
    dataset = open_weather(recording, group="a/b", consolidated=consolidated)
    assert ("list_dir" in recording.methods()) == (consolidated is False)
    check_weather(dataset)


def test_drop_variables() -> None:
    group = weather({})
    assert set(open_weather(group, drop_variables="t").variables) == {"time", "y", "x"}
    assert set(open_weather(group, drop_variables=["t", "x"]).variables) == {"time", "y"}


def test_an_unreadable_variable_raises_its_error_unless_it_is_dropped() -> None:
    values: dict[str, bytes] = {}
    weather(values)
    values["t/zarr.json"] = b'{"zarr_format": 3, "node_type": "array"}'
    with pytest.raises(MetadataError, match="drop_variables='t'"):
        open_weather(values)
    assert "x" in open_weather(values, drop_variables="t").variables


# -- lazy indexing


@pytest.mark.parametrize("shards", [None, (10, 6, 8)])
@pytest.mark.parametrize("native", [True, False])
def test_selections_agree_with_numpy(tmp_path: Path, shards: Any, native: bool) -> None:
    weather(tmp_path, shards=shards)
    loaded = open_weather(tmp_path).load()
    places = {"y": xr.DataArray([1, 5, 3], dims="p"), "x": xr.DataArray([0, 7, 7], dims="p")}
    grid = xr.DataArray([[1, 5, 3], [19, 0, 4]], dims=("q", "p"))
    selections: Sequence[dict[str, Any]] = (
        {"time": 3},
        {"time": -1, "x": slice(None, None, -2)},
        {"time": slice(2, 18, 3), "y": 2},
        {"time": [3, 1, 1], "x": [7, 0]},
        {"y": np.array([True, False, True, True, False, False])},
        {"time": [], "x": slice(3, 3)},
        places,
        {**places, "time": slice(1, 17, 4)},
        {**places, "time": [4, 4, 0]},
        {"time": grid, "x": places["x"]},
        {"time": grid},
        {"time": xr.DataArray([3], dims="p"), "x": xr.DataArray([2, 3, 4], dims="x")},
        {"time": xr.DataArray([2, 4, 6], dims="p"), "y": xr.DataArray([3, 1], dims="q"), "x": xr.DataArray(1)},
    )
    with omnizarr.config(native=int(native)):
        for selection in selections:
            xr.testing.assert_identical(open_weather(tmp_path).t.isel(selection), loaded.t.isel(selection))
            for again in ({"y": 0}, {"y": slice(None, None, -1)}):  # lazy indexing composes
                if set(again) <= set(loaded.t.isel(selection).dims):
                    lazy = open_weather(tmp_path).t.isel(selection).isel(again)
                    xr.testing.assert_identical(lazy, loaded.t.isel(selection).isel(again))


def test_series_at_points_read_each_chunk_once_and_no_mesh_of_points() -> None:
    store = RecordingStore(MemoryStore())
    dataset = open_weather(weather(store))
    store.reset()
    points = {"y": xr.DataArray([0, 1, 5], dims="p"), "x": xr.DataArray([0, 1, 7], dims="p")}
    np.testing.assert_array_equal(dataset.t.isel(points), TEMPERATURE[:, [0, 1, 5], [0, 1, 7]])
    assert store.requests == 4 * 2  # four chunks in time, two places


def test_variables_stay_lazy_and_pickles_are_small() -> None:
    store = RecordingStore(MemoryStore())
    dataset = open_weather(weather(store))
    store.reset()
    assert not dataset.t._in_memory
    assert dataset.isel(time=0).t.shape == (6, 8)
    assert store.calls == []


def test_pickled_datasets_read_without_the_original(tmp_path: Path) -> None:
    weather(tmp_path)
    pickled = pickle.dumps(open_weather(tmp_path))
    assert len(pickled) < 20_000
    check_weather(pickle.loads(pickled))


# -- dask


@pytest.mark.parametrize(
    ("options", "chunks"),
    [
        ({}, ((5, 5, 5, 5), (3, 3), (4, 4))),
        ({"shards": (10, 6, 8)}, ((10, 10), (6,), (8,))),
        ({"chunks": ([4, 6, 10], 3, 4)}, ((4, 6, 10), (3, 3), (4, 4))),
        ({"chunks": (2, 3, 4), "shards": ([4, 6, 10], 6, 8)}, ((4, 6, 10), (6,), (8,))),
    ],
)
def test_chunks_follow_shards_then_chunks(tmp_path: Path, options: dict[str, Any], chunks: Any) -> None:
    weather(tmp_path, **options)
    dataset = open_weather(tmp_path, chunks={})
    assert dataset.t.chunks == chunks
    check_weather(dataset)


def test_several_files(tmp_path: Path) -> None:
    for number in range(3):
        weather(tmp_path / f"{number}.zarr")
    paths = [tmp_path / f"{number}.zarr" for number in range(3)]
    dataset = xr.open_mfdataset(paths, engine="omnizarr", combine="nested", concat_dim="run")
    assert dataset.t.shape == (3, 20, 6, 8)
    np.testing.assert_array_equal(dataset.t[2], TEMPERATURE)


# -- trees


def test_trees() -> None:
    store = MemoryStore()
    omnizarr.create_group(store, attributes={"title": "root"})
    weather(store, "a")
    weather(store, "a/b")
    omnizarr.create_group(store, path="empty")
    tree = xr.open_datatree(store, engine="omnizarr")
    assert set(tree.groups) == {"/", "/a", "/a/b", "/empty"}
    assert tree.attrs == {"title": "root"}
    check_weather(tree["a/b"].to_dataset())
    below = xr.open_datatree(store, engine="omnizarr", group="a")
    assert set(below.groups) == {"/", "/b"}
    check_weather(below.to_dataset())
    assert set(xr.open_groups(store, engine="omnizarr")) == {"/", "/a", "/a/b", "/empty"}


# -- fill values


@pytest.mark.parametrize(
    ("zarr_format", "mask", "expected"),
    [(2, None, [1.0, np.nan]), (2, False, [1, 0]), (3, None, [1, 0]), (3, True, [1.0, np.nan]), ("n5", None, [1, 0])],
)
def test_fill_values_mask_in_generations_that_can_leave_them_undefined(
    zarr_format: Any, mask: bool | None, expected: list[float]
) -> None:
    group = omnizarr.create_group({}, zarr_format=zarr_format)
    group.create_array("a", data=np.array([1, 0]), dimension_names=("x",))
    dataset = open_weather(group, use_zarr_fill_value_as_mask=mask)
    np.testing.assert_array_equal(dataset.a, expected)
    assert dataset.a.dtype.kind == np.asarray(expected).dtype.kind


@pytest.mark.parametrize("stored", ["AAAAAACAVsA=", -90.0])
def test_the_attribute_of_missing_data_is_decoded(stored: Any) -> None:
    group = omnizarr.create_group({})
    group.create_array("a", data=[1.0, -90.0], dimension_names=("x",), attributes={"_FillValue": stored})
    np.testing.assert_array_equal(open_weather(group).a, [1, np.nan])
    assert open_weather(group).a.encoding["_FillValue"] == -90.0


def test_scale_and_offset() -> None:
    group = omnizarr.create_group({})
    group.create_array(
        "a", data=np.array([1, 2], "i2"), dimension_names=("x",), attributes={"scale_factor": 0.5, "add_offset": 10.0}
    )
    np.testing.assert_array_equal(open_weather(group).a, [10.5, 11])
    np.testing.assert_array_equal(open_weather(group, decode_cf=False).a, [1, 2])


# -- names of dimensions


def test_dimensions_without_names_are_named_by_their_length() -> None:
    group = omnizarr.create_group({})
    group.create_array("a", shape=(3, 4), dtype="i1")
    group.create_array("b", shape=(4, 4), dtype="i1", dimension_names=(None, "x"))
    group.create_array("square", shape=(3, 3), dtype="i1")
    dataset = open_weather(group)
    assert dataset.a.dims == ("phony_dim_0", "phony_dim_1")
    assert dataset.b.dims == ("phony_dim_1", "x")
    assert dataset.square.dims == ("phony_dim_0", "phony_dim_0_1")


def test_dimensions_of_netcdf() -> None:
    array = {"zarr_format": 2, "shape": [2, 3], "chunks": [2, 3], "dtype": "<i4", "compressor": None, "order": "C"}
    names = {"_nczarr_array": {"dimension_references": ["/lat", "/g/lon"]}}
    documents: dict[str, Any] = {
        ".zgroup": {"zarr_format": 2},
        "a/.zarray": {**array, "_NCZARR_ARRAY": {"dimrefs": ["/lat", "/lon"]}},
        "b/.zarray": array,
        "b/.zattrs": {**names, "_NCProperties": "version=2", "units": "K"},
    }
    dataset = open_weather({key: json.dumps(document).encode() for key, document in documents.items()})
    assert dataset.a.dims == dataset.b.dims == ("lat", "lon")
    assert dataset.b.attrs == {"units": "K"}


# -- requests


class Remote(MemoryStore):
    """A store in memory that counts as remote. Reads of chunks wait until `parties` of them are under way."""

    remote = True

    def __init__(self, parties: int = 1) -> None:
        super().__init__()
        self.barrier = threading.Barrier(parties)

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        if any("/c/" in key for key, _ in requests):
            self.barrier.wait(60)  # fails the test if fewer than all variables are read at the same time
        return Store.get_each(self, requests)


def remote_weather(variables: int, parties: int, *, consolidate: bool) -> RecordingStore:
    store = Remote()
    group = weather(store)
    for number in range(variables - 4):
        group.create_array(f"v{number}", data=TEMPERATURE, chunks=(20, 6, 8), dimension_names=("time", "y", "x"))
    group.create_array("run", data=[3, 4, 5], dimension_names=("n",), attributes={"units": "hours since 2000-01-01"})
    if consolidate:
        omnizarr.consolidate_metadata(store)
    store.barrier = threading.Barrier(parties)
    return RecordingStore(store)


@pytest.mark.parametrize(("consolidate", "before"), [(True, 1), (False, 3)])
def test_opening_takes_two_or_four_round_trips(consolidate: bool, before: int) -> None:
    """The documents; the listing and the documents of all variables; the coordinates, and the ends of a time."""
    store = remote_weather(50, 5, consolidate=consolidate)
    dataset = open_weather(store)
    assert [call.method for call in store.calls if call.method != "get_each"] == (
        ["get_partial_values"] if consolidate else ["get_partial_values", "list_dir", "get_partial_values"]
    )
    assert len([call for call in store.calls if call.method == "get_each"]) == 5  # the barrier lets them pass together
    assert before + 1 <= (2 if consolidate else 4)
    assert len(dataset.variables) == 51
    store.reset()
    np.testing.assert_array_equal(dataset.time, np.datetime64("2000-01-01") + np.arange(20))
    assert store.calls == []  # each coordinate was read once


def test_opening_a_tree_reads_the_coordinates_of_all_groups_together() -> None:
    store = Remote()
    for name in "abc":
        weather(store, name)
    omnizarr.consolidate_metadata(store)
    store.barrier = threading.Barrier(9)
    recording = RecordingStore(store)
    tree = xr.open_datatree(recording, engine="omnizarr")
    assert len([call for call in recording.calls if call.method == "get_each"]) == 9
    np.testing.assert_array_equal(tree["b"].x, np.arange(8) * 0.25)


def test_the_accessor_loads_all_variables_together() -> None:
    store = remote_weather(10, 5, consolidate=True)
    dataset = open_weather(store)
    inner = store.inner
    assert isinstance(inner, Remote)
    inner.barrier = threading.Barrier(8)  # `t` and `v0` … `v5`, and `run`
    assert dataset.omnizarr.load() is dataset
    assert all(variable._in_memory for variable in dataset.variables.values())
    np.testing.assert_array_equal(dataset.v5, TEMPERATURE)
    array = open_weather(weather({})).t
    np.testing.assert_array_equal(array.omnizarr.load(), TEMPERATURE)
    tree = xr.open_datatree(weather({}).store, engine="omnizarr")
    assert tree.omnizarr.load()["t"].variable._in_memory


@pytest.mark.skipif(not hasattr(xr.Dataset, "load_async"), reason="this xarray has no asynchronous loading")
def test_asynchronous_loading_reads_variables_together() -> None:
    store = remote_weather(10, 5, consolidate=True)
    dataset = open_weather(store)
    inner = store.inner
    assert isinstance(inner, Remote)
    inner.barrier = threading.Barrier(8)
    asyncio.run(dataset.load_async())
    np.testing.assert_array_equal(dataset.v5, TEMPERATURE)


# -- options of omnizarr


def test_damaged_chunks_can_be_filled() -> None:
    values: dict[str, bytes] = {}
    weather(values, compressors="crc32c")
    values["t/c/0/0/0"] = b"damaged"
    with pytest.raises(omnizarr.errors.ChunkError):
        open_weather(values).t.load()
    dataset = open_weather(values, on_corrupt="fill")
    np.testing.assert_array_equal(dataset.t[:5, :3, :4], 0)
    np.testing.assert_array_equal(dataset.t[5:], TEMPERATURE[5:])


def test_a_cache_of_chunks(tmp_path: Path) -> None:
    weather(tmp_path)
    cache = omnizarr.ChunkCache("1 MiB")
    open_weather(tmp_path, chunk_cache=cache).t.load()
    assert cache.misses == 16 + 3  # chunks, coordinates included; a file that was just written has no reliable version


# -- registration


def test_the_engine_does_not_claim_paths(tmp_path: Path) -> None:
    weather(tmp_path / "w.zarr")
    assert not xr.backends.list_engines()["omnizarr"].guess_can_open(str(tmp_path / "w.zarr"))


def test_importing_omnizarr_does_not_import_xarray() -> None:
    program = "import sys, omnizarr; omnizarr.open; assert not {'xarray', 'pandas', 'dask'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_registering_the_engine_does_not_import_the_rest_of_omnizarr() -> None:
    program = (
        "import sys, omnizarr.integrations.xarray; "
        "assert not {'omnizarr.api', 'omnizarr.nodes', 'omnizarr.store', 'dask'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
