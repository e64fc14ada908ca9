"""Reading with the engine `omnizarr` of xarray."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray")

from tests.integrations.xarray.weather import GENERATIONS, TEMPERATURE, check_weather, open_weather, weather  # noqa: E402

import omnizarr  # noqa: E402
import omnizarr.integrations.xarray  # noqa: E402
from omnizarr.errors import MetadataError, NodeNotFoundError  # noqa: E402
from omnizarr.store import MemoryStore  # noqa: E402
from omnizarr.testing import RecordingStore  # noqa: E402


@pytest.mark.smoke
@pytest.mark.parametrize("zarr_format", GENERATIONS[1:])  # v1 has no groups
def test_every_generation(tmp_path: Path, zarr_format: Any) -> None:
    place = str(tmp_path / ("w.n5" if zarr_format == "n5" else "w.zarr"))
    weather(place, zarr_format=zarr_format)
    with open_weather(place) as dataset:
        check_weather(dataset)


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_an_array_opens_as_a_dataset_with_one_variable(tmp_path: Path, zarr_format: Any) -> None:
    place = tmp_path / "deep" / ("rain.n5" if zarr_format == "n5" else "rain.zarr")
    values = np.arange(12).reshape(3, 4)
    omnizarr.create_array(place, data=values, chunks=(2, 2), zarr_format=zarr_format, attributes={"units": "mm"})
    with open_weather(place, use_zarr_fill_value_as_mask=False) as dataset:
        assert dataset.attrs == {}
        assert dataset.rain.attrs == {"units": "mm"}
        np.testing.assert_array_equal(dataset.rain, values)
    with xr.open_dataarray(place, engine="omnizarr", chunks={}, use_zarr_fill_value_as_mask=False) as array:
        assert (array.name, array.chunks) == ("rain", ((2, 1), (2, 2)))
        np.testing.assert_array_equal(array, values)
    assert list(xr.open_datatree(place, engine="omnizarr").data_vars) == ["rain"]
    assert list(open_weather(omnizarr.create_array({}, data=values).store).data_vars) == ["array"]


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


def test_consolidated_metadata_of_the_group_only() -> None:
    """xarray writes it there: `ds.to_zarr(store, group="a/b")`."""
    store = MemoryStore()
    weather(store, "a/b")
    omnizarr.consolidate_metadata(store, path="a/b")
    for consolidated in (True, None):
        recording = RecordingStore(store)
        check_weather(open_weather(recording, group="a/b", consolidated=consolidated))
        assert "list_dir" not in recording.methods()


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
    dataset.close()
    stores = [omnizarr.LocalStore(path) for path in paths]
    with xr.open_mfdataset(stores, engine="omnizarr", combine="nested", concat_dim="run") as dataset:
        assert dataset.t.shape == (3, 20, 6, 8)
    assert omnizarr.open_group(stores[0])["x"].shape == (8,)  # the store is still open


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
