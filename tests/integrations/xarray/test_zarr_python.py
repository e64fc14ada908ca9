"""Datasets that go through the engine of zarr-python and that of omnizarr, in both directions; and Icechunk.

zarr-python is not in the environment of the other tests. This file therefore runs twice: one test starts pytest on it
in the environment `xarray`, which has both libraries. The other tests run only there.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.peers import environments

import omnizarr

TOGETHER = all(importlib.util.find_spec(name) is not None for name in ("zarr", "xarray", "icechunk"))


@pytest.mark.skipif(TOGETHER, reason="this is the environment `xarray`")
def test_in_the_environment_with_both_libraries() -> None:
    environment = environments.find("xarray")
    if environment is None or environment.missing:
        pytest.skip(f"there is no environment with xarray and zarr-python: {environment and environment.missing}")
    root = Path(__file__).parents[3]
    source = str(Path(omnizarr.__file__).parents[1])
    command = [str(environment.python), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-W", "ignore"]
    result = subprocess.run(
        [*command, "-o", "filterwarnings=", str(Path(__file__))],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([source, str(root)])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-2000:]
    assert " passed" in result.stdout


if TOGETHER:
    import icechunk
    import numcodecs
    import pandas as pd
    import xarray as xr
    import zarr

    import omnizarr.integrations.xarray

    def climate() -> Any:
        """A dataset as climate models write it: times, missing data, packed numbers, text, and coordinates in 2-D."""
        random = np.random.default_rng(0)
        temperature = random.normal(280, 10, (24, 9, 12)).astype("f4")
        temperature[3, 2:4, 5] = np.nan
        dataset = xr.Dataset(
            {
                "tas": (("time", "y", "x"), temperature, {"units": "K", "coordinates": "lat lon"}),
                "pr": (("time", "y", "x"), np.round(random.random((24, 9, 12)) * 100) / 10),
                "mask": (("y", "x"), random.random((9, 12)) > 0.5),
                "station": ("n", np.array(["Bern", "Zürich", ""], object)),
                "code": ("n", np.array(["BE", "ZH", "XX"])),
                "time_bnds": (("time", "b"), pd.date_range("2000-01-01", periods=48, freq="12h").values.reshape(24, 2)),
                "lead": ("n", pd.to_timedelta([1, 2, 36], "h")),
                "crs": ((), 0, {"grid_mapping_name": "latitude_longitude"}),
            },
            coords={
                "time": pd.date_range("2000-01-01", periods=24),
                "x": np.arange(12) * 0.5,
                "y": np.arange(9) * 0.5,
                "lat": (("y", "x"), random.random((9, 12))),
                "lon": (("y", "x"), random.random((9, 12))),
                "height": 2.0,
            },
            attrs={"title": "a model", "levels": [1, 2, 3], "version": 3, "nothing": None},
        )
        del dataset.tas.attrs["coordinates"]
        dataset.pr.encoding.update(dtype="i2", scale_factor=0.1, _FillValue=-1)
        return dataset

    def encodings(zarr_format: int) -> dict[str, Any]:
        if zarr_format == 2:
            return {"tas": {"chunks": (5, 4, 6), "compressors": (numcodecs.Blosc("zstd", 3),)}}
        codecs = zarr.codecs
        return {"tas": {"chunks": (5, 3, 6), "shards": (10, 9, 12), "compressors": (codecs.ZstdCodec(level=3),)}}

    @pytest.mark.parametrize("consolidated", [True, False])
    @pytest.mark.parametrize("zarr_format", [2, 3])
    def test_both_engines_see_what_the_other_writes(tmp_path: Path, zarr_format: int, consolidated: bool) -> None:
        dataset = climate()
        options: dict[str, Any] = {"zarr_format": zarr_format, "consolidated": consolidated}
        dataset.to_zarr(tmp_path / "theirs", encoding=encodings(zarr_format), **options)
        dataset.omnizarr.to_zarr(tmp_path / "ours", encoding=encodings(zarr_format), **options)
        expected = xr.open_dataset(tmp_path / "theirs", engine="zarr", consolidated=consolidated).load()
        for place in ("theirs", "ours"):
            for engine in ("zarr", "omnizarr"):
                found = xr.open_dataset(tmp_path / place, engine=engine, consolidated=consolidated)
                xr.testing.assert_identical(found.load(), expected)

    @pytest.mark.parametrize("zarr_format", [2, 3])
    def test_datasets_are_handed_on_from_engine_to_engine(tmp_path: Path, zarr_format: int) -> None:
        """Each engine opens what the other wrote, with its encoding, and writes it again."""
        dataset = climate()
        dataset.to_zarr(tmp_path / "0", encoding=encodings(zarr_format), zarr_format=zarr_format)
        expected = xr.open_dataset(tmp_path / "0", engine="zarr").load()
        for step in range(4):
            source, target = str(tmp_path / str(step)), str(tmp_path / str(step + 1))
            opened = xr.open_dataset(source, engine="omnizarr" if step in (1, 2) else "zarr")
            if step == 2:
                opened.to_zarr(target, zarr_format=zarr_format)
            else:
                opened.omnizarr.to_zarr(target, zarr_format=zarr_format)
        for place in range(5):
            xr.testing.assert_identical(xr.open_dataset(tmp_path / str(place), engine="omnizarr").load(), expected)
            array = omnizarr.open_array(tmp_path / str(place), path="tas")
            first = omnizarr.open_array(tmp_path / "0", path="tas")
            assert (array.chunks, array.shards, array.compressors) == (first.chunks, first.shards, first.compressors)

    @pytest.mark.parametrize("zarr_format", [2, 3])
    def test_both_engines_append_in_turns(tmp_path: Path, zarr_format: int) -> None:
        dataset = climate()
        dataset.isel(time=slice(6)).omnizarr.to_zarr(tmp_path, "w", zarr_format=zarr_format)
        dataset.isel(time=slice(6, 11)).to_zarr(tmp_path, append_dim="time")
        dataset.isel(time=slice(11, 18)).omnizarr.to_zarr(tmp_path, append_dim="time")
        dataset.isel(time=slice(18, None)).to_zarr(tmp_path, append_dim="time")
        for engine in ("zarr", "omnizarr"):
            found = xr.open_dataset(tmp_path, engine=engine).load()
            for name in dataset.variables:
                if name == "pr":  # stored as integers, scaled
                    np.testing.assert_allclose(found[name], dataset[name])
                else:
                    np.testing.assert_array_equal(found[name], dataset[name])

    def test_values_that_zarr_python_has_not_read_yet_survive_mode_w(tmp_path: Path) -> None:
        climate().to_zarr(tmp_path)
        expected = xr.open_dataset(tmp_path, engine="zarr").load()
        with pytest.raises(omnizarr.errors.ArgumentError, match="are still to be read"):
            xr.open_zarr(tmp_path).omnizarr.to_zarr(tmp_path, "w")
        xr.testing.assert_identical(xr.open_dataset(tmp_path, engine="zarr").load(), expected)
        xr.open_dataset(tmp_path, engine="zarr").omnizarr.to_zarr(tmp_path, "w")
        xr.testing.assert_identical(xr.open_dataset(tmp_path, engine="zarr").load(), expected)

    def test_trees(tmp_path: Path) -> None:
        tree = xr.DataTree.from_dict({"/": climate()[["crs"]], "/a": climate(), "/a/b": climate()[["pr"]]})
        tree.omnizarr.to_zarr(tmp_path / "ours")
        tree.to_zarr(tmp_path / "theirs")
        expected = xr.open_datatree(tmp_path / "theirs", engine="zarr").load()
        for place in ("ours", "theirs"):
            for engine in ("zarr", "omnizarr"):
                xr.testing.assert_identical(xr.open_datatree(tmp_path / place, engine=engine).load(), expected)

    @pytest.mark.parametrize("lazy", [False, True])
    def test_parts_of_a_dataset_in_a_session_of_icechunk(lazy: bool, capfd: pytest.CaptureFixture[str]) -> None:
        session = icechunk.Repository.create(icechunk.in_memory_storage()).writable_session("main")
        days = climate()[["tas", "pr"]].drop_vars(["height", "lat", "lon"])
        days = days.chunk(time=5, y=4) if lazy else days
        encoding = {"tas": {"chunks": (3, 3, 6), "shards": (6, 9, 12)}}
        days.isel(time=slice(10)).omnizarr.to_zarr(session.store, "w", encoding=encoding, consolidated=False)
        days.isel(time=slice(10, 20)).omnizarr.to_zarr(session.store, append_dim="time", consolidated=False)
        (days.isel(time=slice(7, 13)) + 1).omnizarr.to_zarr(session.store, region="auto")
        delayed = days.isel(time=slice(20, None)).omnizarr.to_zarr(
            session.store, append_dim="time", consolidated=False, compute=False
        )
        delayed.compute()
        session.commit("all days")
        found = xr.open_mfdataset([session.store], engine="omnizarr").load()
        found.close()
        expected = days.tas.values.copy()
        expected[7:13] += 1
        np.testing.assert_array_equal(found.tas, expected)
        assert "panicked" not in capfd.readouterr().err  # as for a range beyond the end of a document

    def test_sessions_of_icechunk() -> None:
        repository = icechunk.Repository.create(icechunk.in_memory_storage())
        session = repository.writable_session("main")
        days = climate()[["tas", "pr"]]
        days.isel(time=slice(10)).omnizarr.to_zarr(session.store, consolidated=False)
        session.commit("ten days")
        session = repository.writable_session("main")
        days.isel(time=slice(10, None)).omnizarr.to_zarr(session.store, append_dim="time", consolidated=False)
        session.commit("all days")
        store = repository.readonly_session("main").store
        found = xr.open_dataset(store, engine="omnizarr", consolidated=False).load()
        xr.testing.assert_identical(found, xr.open_dataset(store, engine="zarr", consolidated=False).load())
        np.testing.assert_array_equal(found.tas, days.tas)
