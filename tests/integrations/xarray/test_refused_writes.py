"""Writes that are refused before they change anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray")
pd = pytest.importorskip("pandas")

import omnizarr.integrations.xarray  # noqa: E402, F401
from omnizarr.errors import ArgumentError  # noqa: E402
from omnizarr.store import MemoryStore  # noqa: E402

TIMES = pd.date_range("2000-01-01", periods=100)


def weather(begin: int = 0, end: int = 20, **more: Any) -> Any:
    values = np.arange(begin * 48, end * 48, dtype="f4").reshape(-1, 6, 8)
    return xr.Dataset({"t": (("time", "y", "x"), values)}, coords={"time": TIMES[begin:end]}).assign(**more)


def read(place: Any) -> Any:
    with xr.open_dataset(place, engine="omnizarr") as dataset:
        return dataset.load()


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ({"t": {"chunk": (1,)}}, "there is no option `chunk`"),
        ({"t": {"chunks": (1, 2)}}, "expected 3 lengths"),
        ({"nothing": {}}, "there is no variable"),
        ({"t": {"compressors": ["nothing"]}}, "nothing"),
        ({"t": {"chunks": (0, 6, 8)}}, "expected integers of at least 1"),
        ({"t": {"chunks": (2, 6, 8), "shards": (3, 6, 8)}}, "not a multiple"),
        ({"t": {"fill_value": "x"}}, "fill value"),
        ({"t": {"order": "Q"}}, "order"),
        ({"t": {"filters": [3]}}, "expected codecs"),
        ({"t": {"chunk_key_encoding": 3}}, "chunk_key_encoding"),
    ],
)
def test_a_wrong_encoding_fails_before_the_old_group_is_erased(encoding: dict[str, Any], message: str) -> None:
    store = MemoryStore()
    weather().omnizarr.to_zarr(store)
    with pytest.raises(ValueError, match=message):
        weather().omnizarr.to_zarr(store, "w", encoding=encoding)
    xr.testing.assert_identical(read(store), weather())


def test_a_wrong_name_fails_before_the_old_group_is_erased() -> None:
    store = MemoryStore()
    weather().omnizarr.to_zarr(store, zarr_format=2)
    with pytest.raises(ArgumentError, match="only ASCII"):
        weather().rename(t="é").omnizarr.to_zarr(store, "w", zarr_format=2)
    xr.testing.assert_identical(read(store), weather())


def test_a_wrong_encoding_of_a_new_variable_fails_before_an_append() -> None:
    store = MemoryStore()
    weather(0, 10).omnizarr.to_zarr(store)
    more = weather(10, 20, new=("x", np.arange(8)))
    with pytest.raises(ArgumentError, match="at least 1"):
        more.omnizarr.to_zarr(store, append_dim="time", encoding={"new": {"chunks": (0,)}})
    xr.testing.assert_identical(read(store), weather(0, 10))


@pytest.mark.filterwarnings("ignore:Times can't be serialized faithfully")
@pytest.mark.filterwarnings("ignore:Timedeltas can't be serialized faithfully")
@pytest.mark.parametrize("units", ["days since 2000-01-01", "day since 2000-1-1 0:0"])
def test_times_that_the_stored_units_cannot_hold_are_refused(units: str) -> None:
    """xarray would store hours, which every reader takes for days."""
    store = MemoryStore()
    days = xr.Dataset({"a": ("time", [1, 2])}, coords={"time": TIMES[:2]})
    days.omnizarr.to_zarr(store, encoding={"time": {"units": units, "dtype": "i8"}})
    later = days.assign_coords(time=TIMES[2:4])
    later.omnizarr.to_zarr(store, append_dim="time")
    with pytest.raises(ArgumentError, match="exists with the units"):
        days.assign_coords(time=TIMES[4:6] + pd.Timedelta("6h")).omnizarr.to_zarr(store, append_dim="time")
    np.testing.assert_array_equal(read(store).time, TIMES[:4])
