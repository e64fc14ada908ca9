"""`pyramid`: values, metadata of OME-Zarr and GeoZarr, resumed runs; compared with ome-zarr-py and GDAL."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ArgumentError, NodeExistsError
from omnizarr.nodes import Group
from omnizarr.store import MemoryStore
from omnizarr.tools import pyramid, validate
from omnizarr.tools.plans.plan import run_task
from omnizarr.tools.pyramids import stage as stage_module
from tests.peers.environments import find
from tests.peers.process import Peer

_CORPUS = Path(__file__).parents[2] / "corpora" / "ome" / "ome-zarr-0.21.0"


def _group(location: Any) -> Group:
    return omnizarr.open_group(location, mode="r")


def _image(location: Any, shape: tuple[int, ...] = (3, 70, 64), **options: Any) -> np.ndarray:
    """An image `0` of 16-bit integers."""
    data = np.random.default_rng(4).integers(0, 60_000, shape).astype("u2")
    group = omnizarr.create_group(location, zarr_format=options.pop("zarr_format", 3))
    group.create_array("0", data=data, **({"chunks": (1, 32, 32)} | options))
    return data


def _check(location: Any, convention: str) -> None:
    report = validate(location, conventions=[convention], data=True, strict=True)
    assert report.valid, report.findings


# -- OME-Zarr


@pytest.mark.parametrize("name", [folder.name for folder in sorted(_CORPUS.iterdir())])
def test_levels_equal_those_of_ome_zarr_py(name: str) -> None:
    theirs = _group(_CORPUS / name)
    target = MemoryStore()
    version: Any = name[-3:]
    pyramid(theirs, target, levels=2, ome=version).run()
    ours = _group(target)
    for number in (0, 1, 2):
        expected, found = theirs[f"s{number}"][...], ours[str(number)][...]
        assert found.dtype == expected.dtype
        if expected.dtype.kind == "f":  # they add in single precision, and in another order
            np.testing.assert_allclose(found, expected, rtol=1e-5 if found.itemsize == 4 else 1e-13, atol=1e-6)
        else:
            np.testing.assert_array_equal(found, expected)
    if "odd" in name:
        return  # they stretch the pixels, as if the last row, which they drop, were part of the others
    members = [dict(group.attrs).get("ome", dict(group.attrs)) for group in (ours, theirs)]
    levels = [[_transforms(level) for level in one["multiscales"][0]["datasets"]] for one in members]
    assert levels[0] == levels[1]


def _transforms(level: dict[str, Any]) -> dict[str, list[float]]:
    stored = {one["type"]: one[one["type"]] for one in level["coordinateTransformations"]}
    return {"translation": [0.0] * len(stored["scale"])} | stored


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_in_place(tmp_path: Path, zarr_format: int) -> None:
    slashes = {"name": "v2", "separator": "/"} if zarr_format == 2 else None
    data = _image(tmp_path / "i.zarr", zarr_format=zarr_format, chunk_key_encoding=slashes)
    plan = pyramid(str(tmp_path / "i.zarr"), levels=3, axes="cyx", scale={"y": 0.5}, units={"y": "micrometer"})
    assert plan.describe().notes == (
        "level `2` leaves out the last element of dimension 1",
        "level `3` leaves out the last element of dimension 1",
    )
    assert plan.run(workers=1).finished
    group = _group(tmp_path / "i.zarr")
    assert {name: array.shape for name, array in group.arrays()} == {
        "0": (3, 70, 64),
        "1": (3, 35, 32),
        "2": (3, 17, 16),
        "3": (3, 8, 8),
    }
    np.testing.assert_array_equal(group["1"][...], data.reshape(3, 35, 2, 32, 2).mean((2, 4)).astype("u2"))
    _check(tmp_path / "i.zarr", "ome")
    members = group.attrs["ome"] if zarr_format == 3 else group.attrs
    image: Any = members["multiscales"][0]
    assert image["axes"][1] == {"name": "y", "type": "space", "unit": "micrometer"}
    assert image["datasets"][2]["coordinateTransformations"] == [
        {"type": "scale", "scale": [1.0, 2.0, 4.0]},
        {"type": "translation", "translation": [0.0, 0.75, 1.5]},
    ]
    assert image["type"] == "mean"
    assert zarr_format == 2 or group["0"].dimension_names == ("c", "y", "x")
    assert not any(tmp_path.rglob(".omnizarr-plan"))


def test_a_second_run_needs_force_and_keeps_other_metadata() -> None:
    store = MemoryStore()
    _image(store, dimension_names=("c", "y", "x"))
    group = omnizarr.open_group(store)
    pyramid(group, levels=1, scale={"x": 3}).run()
    group = omnizarr.open_group(store)
    ome: Any = group.attrs["ome"]
    group.attrs["ome"] = {**ome, "omero": {"channels": []}}
    with pytest.raises(NodeExistsError, match="node at .*1"):
        pyramid(omnizarr.open_group(store), levels=2).run()
    pyramid(omnizarr.open_group(store), levels=2, method="nearest", force=True).run()
    ome = _group(store).attrs["ome"]
    assert ome["omero"] == {"channels": []}
    assert [one["coordinateTransformations"] for one in ome["multiscales"][0]["datasets"]] == [
        [{"type": "scale", "scale": [1.0, step, 3.0 * step]}] for step in (1.0, 2.0, 4.0)
    ]  # the first element of a window lies where the window begins


def test_labels_take_the_mode() -> None:
    store = MemoryStore()
    group = omnizarr.create_group(store, attributes={"ome": {"version": "0.5", "image-label": {}}})
    labels = np.array([[7, 7, 0, 1], [7, 2, 0, 3]], "u4").repeat(2, 0)
    group.create_array("s0", data=labels, dimension_names=("y", "x"))
    pyramid(group).run()
    assert _group(store)["s1"][...].tolist() == [[7, 0], [2, 0]]
    assert _group(store).attrs["ome"]["image-label"] == {}


def test_zarr_python_reads_every_version(zarr3_peer: Peer, tmp_path: Path) -> None:
    data = _image(tmp_path / "i.zarr", shape=(2, 40, 64), dimension_names=("c", "y", "x"), shards=(1, 64, 64))
    for version in ("0.4", "0.5"):
        pyramid(str(tmp_path / "i.zarr"), tmp_path / version, ome=version, method="max").run()  # type: ignore[arg-type]
        _check(tmp_path / version, "ome")
        level = zarr3_peer.read("zarr", tmp_path / version / "1")
        np.testing.assert_array_equal(level, data.reshape(2, 20, 2, 32, 2).max((2, 4)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dims": "z"}, "`dims`: there is no axis `z`"),
        ({"levels": 9}, "`levels`: expected 1 to 7 for 70 × 64, found 9"),
        ({"ome": "0.4"}, "OME-Zarr 0.4 needs Zarr v2"),
        ({"ome": "0.6"}, "`ome`: expected one of 0.4, 0.5"),
        ({"ome": "0.5", "geo": True}, "exclude each other"),
        ({"method": "median"}, "`method`: expected one of"),
        ({"axes": "yxc"}, "t, c, z, y and x in this order"),
        ({"axes": "yx"}, "3 dimensions, and there are 2 axes"),
        ({"axes": "abc"}, "`a` is no axis"),
        ({"missing": "none"}, "`missing`: expected a value of type uint16"),
        ({"missing": 70_000}, "`missing`: expected a value of type uint16"),
        ({"scale": {"q": 1}}, "`scale`: there is no axis `q`"),
        ({"units": {"q": "m"}}, "`units`: there is no axis `q`"),
        ({"edges": "cut"}, "`edges`: expected"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    store = MemoryStore()
    _image(store)
    before = dict(store.mapping) if hasattr(store, "mapping") else set(store.list_prefix(""))
    with pytest.raises(ArgumentError, match=message):
        pyramid(omnizarr.open_group(store), **({"axes": "cyx"} | options))
    assert before == (dict(store.mapping) if hasattr(store, "mapping") else set(store.list_prefix("")))


def test_arrays_without_names_or_group() -> None:
    store = MemoryStore()
    _image(store)
    with pytest.raises(ArgumentError, match="3 dimensions, and there are 0 axes"):
        pyramid(omnizarr.open_group(store))
    alone = omnizarr.create_array(MemoryStore(), data=np.zeros((600, 600)))
    with pytest.raises(ArgumentError, match="not in a group"):
        pyramid(alone)
    target = MemoryStore()
    pyramid(alone, target).run()
    assert [array.shape for _, array in sorted(_group(target).arrays())] == [(600, 600), (300, 300), (150, 150)]


# -- tasks


def test_interrupted_runs_and_parts_end_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = _image(tmp_path / "i.zarr", shape=(3, 70, 61), chunks=(1, 8, 8), shards=(1, 16, 16))
    monkeypatch.setattr("omnizarr.tools.plans.regions._REGION_BYTES", 600)
    monkeypatch.setattr("omnizarr.tools.pyramids.plan.group_chunks", lambda array: (1,) * array.ndim)
    monkeypatch.setattr(stage_module, "_BLOCK_BYTES", 300)  # several blocks per shard
    arguments: Any = {"levels": 2, "axes": "cyx", "edges": "keep"}
    plan = pyramid(str(tmp_path / "i.zarr"), **arguments)
    assert [stage.count for stage in plan.stages] == [18, 6]
    plan._start(False)
    for task in (3, 17, 3):
        run_task(plan.stages[0], plan.journal, 0, task, task)
    with pytest.raises(NodeExistsError, match="did not finish"):
        pyramid(str(tmp_path / "i.zarr"), **arguments).run()
    assert "ome" not in _group(tmp_path / "i.zarr").attrs, "readers must not see levels that are not complete"
    result = pyramid(str(tmp_path / "i.zarr"), resume=True, **arguments).run(resume=True)
    assert (result.tasks, result.skipped) == (22, 2)
    padded = np.pad(data, ((0, 0), (0, 0), (0, 1)), mode="edge").astype("u8")
    expected = padded.reshape(3, 35, 2, 31, 2).sum((2, 4)) // 4
    np.testing.assert_array_equal(_group(tmp_path / "i.zarr")["1"][...], expected)
    copy = tmp_path / "copy.zarr"
    for part in (1, 0):
        pyramid(str(tmp_path / "i.zarr" / "0"), copy, resume=True, **arguments).run_part(part, 2, stage=1)
    for stage in (2, 3):
        for part in (1, 0, 1):
            pyramid(str(tmp_path / "i.zarr" / "0"), copy, resume=True, **arguments).run_part(part, 2, stage=stage)
    pyramid(str(tmp_path / "i.zarr" / "0"), copy, resume=True, **arguments).finish()
    for number in (0, 1, 2):
        left, right = (_group(folder)[str(number)][...] for folder in (copy, tmp_path / "i.zarr"))
        np.testing.assert_array_equal(left, right)


def test_verify_and_zip_target(tmp_path: Path) -> None:
    _image(tmp_path / "i.zarr", dimension_names=("c", "y", "x"))
    pyramid(str(tmp_path / "i.zarr"), str(tmp_path / "i.zip"), levels=2, verify=True).run()
    _check(str(tmp_path / "i.zip"), "ome")


def test_memory_of_a_task_is_that_of_its_region() -> None:
    array = omnizarr.create_array(MemoryStore(), shape=(10**6, 10**6), dtype="f8", chunks=(1000, 1000))
    plan = pyramid(array, MemoryStore(), levels=3)
    cost = plan.describe().cost
    assert cost.memory < 300 * 2**20
    assert plan.tasks < 400_000


# -- GeoZarr


def _weather(location: Any, **options: Any) -> np.ndarray:
    group = omnizarr.create_group(location, attributes={"Conventions": "CF-1.11"}, **options)
    data = np.random.default_rng(5).random((2, 41, 80)).astype("f4")
    data[:, 3:9, 10:20] = np.nan
    data[:, 20:30, 20:30] = -999
    names = {"attributes": {"_FillValue": -999.0, "grid_mapping": "crs"}, "dimension_names": ("time", "lat", "lon")}
    group.create_array("t", data=data, chunks=(1, 20, 40), **names)
    group.create_array("lat", data=np.linspace(80.0, -80, 41), dimension_names=("lat",))
    group.create_array("lon", data=np.arange(80.0) * 4, dimension_names=("lon",))
    group.create_array("time", data=np.arange(2), dimension_names=("time",))
    group.create_array("crs", data=np.array(0), attributes={"grid_mapping_name": "latitude_longitude"})
    group.create_array("names", data=np.arange(7), dimension_names=("station",))
    return data


@pytest.mark.parametrize("copies", [False, True])
def test_variables_with_coordinates(tmp_path: Path, copies: bool) -> None:
    data = _weather(tmp_path / "w.zarr")
    target = tmp_path / "p.zarr" if copies else None
    plan = pyramid(str(tmp_path / "w.zarr"), target, geo=True, levels=2)
    assert plan.notes == ("elements of `/t` that are -999.0 count as missing",)
    plan.run()
    place = target or tmp_path / "w.zarr"
    _check(place, "geozarr")
    group = _group(place)
    assert group.consolidated == copies
    level = group["1/t"]
    assert level.shape == (2, 21, 40)
    assert level.attrs["grid_mapping"] == "crs"
    padded = np.where(data == -999, np.nan, data).astype("f8")
    padded = np.concatenate([padded, np.full((2, 1, 80), np.nan)], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # windows without elements
        expected = np.nanmean(padded.reshape(2, 21, 2, 40, 2), (2, 4)).astype("f4")
    np.testing.assert_array_equal(level[...], np.where(np.isnan(expected), np.float32(-999), expected))
    assert group["2/lon"][:2].tolist() == [6.0, 22.0]
    assert "names" not in group["1"]
    assert "crs" in group["2"]
    layout: Any = group.attrs["multiscales"]
    first = "0" if copies else "t"
    second = "1" if copies else "1/t"
    assert [level["asset"] for level in layout["layout"]][:2] == [first, second]
    assert layout["layout"][1] == {
        "asset": second,
        "derived_from": first,
        "transform": {"scale": [2.0, 2.0], "translation": [0.0, 0.0]},
        "spatial:shape": [21, 40],
        "spatial:transform": [8.0, 0.0, -2.0, 0.0, -8.0, 82.0],
    }
    assert layout["resampling_method"] == "average"


def test_one_array_with_spatial_attributes() -> None:
    store = MemoryStore()
    group = omnizarr.create_group(store)
    spatial: dict[str, Any] = {
        "zarr_conventions": [{"name": "spatial"}],
        "spatial:dimensions": ["row", "col"],
        "spatial:transform": [10, 0, 5, 0, -10, 9],
        "spatial:shape": [8, 6],
    }
    group.create_array("0", data=np.ones((8, 6), "u1"), dimension_names=("row", "col"), attributes=spatial)
    pyramid(group["0"], geo=True, levels=2, method="max").run()
    _check(store, "geozarr")
    group = _group(store)
    assert sorted(group) == ["0", "1", "2"]
    assert group["2"].attrs["spatial:transform"] == [40.0, 0.0, 5.0, 0.0, -40.0, 9.0]
    assert group["2"].attrs["spatial:shape"] == [2, 2]


def test_geo_needs_names() -> None:
    store = MemoryStore()
    _image(store)
    with pytest.raises(ArgumentError, match="names of the two spatial dimensions") as error:
        pyramid(omnizarr.open_group(store), geo=True)
    assert "--dims" in str(error.value.hint)
    with pytest.raises(ArgumentError, match="`scale` belongs to OME-Zarr"):
        pyramid(omnizarr.open_group(store), geo=True, scale={"y": 1})


_GDAL = """
import json, sys, rasterio
for name in sys.argv[1:]:
    with rasterio.open(name) as file:
        print(json.dumps([file.shape, file.read(1).tolist()]))
"""


def test_gdal_reads_the_levels(tmp_path: Path) -> None:
    environment = find("gdal")
    if environment is None or not environment.python:
        pytest.skip("no environment with rasterio")
    _image(tmp_path / "i.zarr", dimension_names=("c", "y", "x"))
    pyramid(str(tmp_path / "i.zarr"), levels=2).run()
    pyramid(str(tmp_path / "i.zarr"), tmp_path / "old.zarr", levels=2, ome="0.4").run()
    _weather(tmp_path / "w.zarr")
    pyramid(str(tmp_path / "w.zarr"), geo=True, levels=2).run()
    names = {
        f'ZARR:"{tmp_path}/i.zarr":/2:0': _group(tmp_path / "i.zarr")["2"][0],
        f'ZARR:"{tmp_path}/old.zarr":/1:0': _group(tmp_path / "old.zarr")["1"][0],
        f'ZARR:"{tmp_path}/w.zarr":/1/t:0': _group(tmp_path / "w.zarr")["1/t"][0],
    }
    output = subprocess.run(
        [str(environment.python), "-W", "ignore", "-c", _GDAL, *names], capture_output=True, text=True, check=True
    ).stdout
    for line, expected in zip(output.splitlines(), names.values(), strict=True):
        shape, values = json.loads(line)
        assert tuple(shape) == expected.shape
        np.testing.assert_array_equal(np.array(values, expected.dtype), expected)


def test_consolidated_metadata_know_the_levels(tmp_path: Path) -> None:
    _image(tmp_path / "i.zarr", dimension_names=("c", "y", "x"))
    omnizarr.consolidate_metadata(tmp_path / "i.zarr")
    pyramid(str(tmp_path / "i.zarr"), levels=1).run()
    group = _group(tmp_path / "i.zarr")
    assert group.consolidated
    assert "1" in group
    assert "ome" in group.attrs
    assert validate(tmp_path / "i.zarr", strict=True).valid
    shutil.rmtree(tmp_path / "i.zarr")
