"""A small dataset of weather, written with omnizarr, for the tests of the engine of xarray."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

import omnizarr

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
