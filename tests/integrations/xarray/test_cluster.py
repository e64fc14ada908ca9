"""Datasets on a cluster of processes, of which one dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytest.importorskip("dask.array")


def days(begin: int, end: int, chunk: int = 3) -> Any:
    number = np.arange(begin, end)
    values = number[:, None, None] * 1000 + np.arange(48).reshape(6, 8)
    dataset = xr.Dataset({"t": (("time", "y", "x"), values), "rain": (("time", "y", "x"), values * 2)})
    return dataset.assign_coords(time=number).chunk(time=chunk, y=5)


def read(place: Any) -> Any:
    return xr.open_dataset(place, engine="omnizarr").load()


def die_once(block: Any, place: str) -> Any:
    """Kills its process the first time that it sees a certain block."""
    if block.size and block.flat[0] >= 24_000:
        try:
            os.close(os.open(place, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def always_fail(block: Any) -> Any:
    if block.size and block.flat[0] >= 24_000:
        raise ValueError("as planned")
    return block


@pytest.mark.filterwarnings("ignore")
def test_workers_share_shards_die_and_fail(tmp_path: Path) -> None:
    """Blocks do not fit the shards; a worker dies during an append, and another append fails."""
    place = tmp_path / "x.zarr"
    encoding = {name: {"chunks": (2, 3, 4), "shards": (10, 6, 8)} for name in ("t", "rain")}
    settings = {"distributed.worker.daemon": False, "distributed.admin.log-format": "%(message)s"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(2, processes=True, threads_per_worker=2, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        days(0, 17).omnizarr.to_zarr(place, encoding=encoding, safe_chunks=False)
        xr.testing.assert_identical(read(place), days(0, 17).load())

        more = days(17, 30)
        more["rain"] = more.rain.copy(data=more.rain.data.map_blocks(die_once, str(tmp_path / "died"), dtype="i8"))
        more.omnizarr.to_zarr(place, append_dim="time")
        assert (tmp_path / "died").exists()
        xr.testing.assert_identical(read(place), days(0, 30).load())

        failing = days(30, 40)
        failing["t"] = failing.t.copy(data=failing.t.data.map_blocks(always_fail, dtype="i8"))
        with pytest.raises(ValueError, match="as planned"):
            failing.omnizarr.to_zarr(place, append_dim="time")
    xr.testing.assert_identical(read(place), days(0, 30).load())
    days(30, 33).omnizarr.to_zarr(place, append_dim="time")
    xr.testing.assert_identical(read(place), days(0, 33).load())
