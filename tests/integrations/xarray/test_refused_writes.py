"""Writes that are refused before they change anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray")
pd = pytest.importorskip("pandas")

import omnizarr.integrations.xarray  # noqa: E402
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


def test_tasks_that_read_from_the_group_that_is_erased(tmp_path: Path) -> None:
    """Without the error, the tasks would read the new array, which is empty."""
    da = pytest.importorskip("dask.array")
    place, other = tmp_path / "x.zarr", tmp_path / "y.zarr"
    dataset = xr.Dataset({"a": ("x", np.arange(10.0), {"scale_factor": 0.5})}, coords={"x": np.arange(10)})
    for target in (place, other):
        dataset.omnizarr.to_zarr(target, encoding={"a": {"chunks": (3,)}})
    stored = omnizarr.open_array(place, path="a")
    opened = xr.open_dataset(place, engine="omnizarr", chunks={}).a
    assert opened.attrs == {}  # it is scaled in tasks
    sources = {
        "opened": opened,
        "computed": (opened.chunk(x=5).rolling(x=3).mean() + 1).cumsum(),
        "to_dask": ("x", stored.to_dask(chunks=4)),
        "from_array": ("x", da.from_array(stored, chunks=4) * 2),
        "view": ("x", stored.lazy[::-1].to_dask()),
        "concat": ("x", omnizarr.concat([stored.lazy[:5], stored.lazy[5:]]).to_dask()),
        "tree": xr.open_datatree(place, engine="omnizarr", chunks={}).a,
    }
    for name, values in sources.items():
        with pytest.raises(ArgumentError, match="erases .*x.zarr/a/, from which the values of variable `v`"):
            xr.Dataset({"v": values}).omnizarr.to_zarr(place, "w")
        assert stored[...].tolist() == dataset.a.values.tolist(), name
    from_other = xr.open_dataset(other, engine="omnizarr", chunks={})
    from_other.omnizarr.to_zarr(place, "w")
    xr.testing.assert_equal(xr.open_dataset(place, engine="omnizarr"), from_other)


NUMBERS = {"int": [1, 2], "float": [1.5, 2], "complex": [1j, 2], "bool": [True, False]}
TIMED = {"times": TIMES[:2].values, "differences": np.array([1, 2], "m8[D]").astype("m8[ns]")}
TEXTS = {"text": ["a", "b"], "objects": np.array(["a", "b"], object)}
VALUES = {**NUMBERS, **TIMED, **TEXTS}
LOSSES = [
    *((old, new) for old in (*NUMBERS, *TIMED) for new in TEXTS if (old, new) != ("bool", "objects")),
    *((old, new) for old in TEXTS for new in (*NUMBERS, *TIMED)),
    *((old, new) for old in NUMBERS for new in TIMED),
    *((old, "complex") for old in ("int", "float", "bool", *TIMED)),
    *(("times", "differences"), ("differences", "times")),
]


@pytest.mark.parametrize(("old", "new"), LOSSES)
def test_values_that_a_stored_type_cannot_hold_are_refused(old: str, new: str) -> None:
    """xarray would store something else, such as 0 and 1 for two days."""
    store = MemoryStore()
    before = xr.Dataset({"a": ("x", VALUES[old])})
    before.omnizarr.to_zarr(store)
    for options in ({"append_dim": "x"}, {"region": {"x": slice(0, 2)}}, {"mode": "a"}):
        with pytest.raises(ArgumentError, match="variable `a` exists with"):
            xr.Dataset({"a": ("x", VALUES[new])}).omnizarr.to_zarr(store, **options)
    assert read(store).sizes == {"x": 2}


def test_numbers_with_units_of_time_are_appended_as_they_are() -> None:
    """This is how a program continues that opened the dataset with `decode_times=False`."""
    store = MemoryStore()
    units = {"units": "days since 2000-01-01"}
    xr.Dataset({"a": ("x", TIMES[:2])}).omnizarr.to_zarr(store, encoding={"a": units})
    xr.Dataset({"a": ("x", [2, 3], units)}).omnizarr.to_zarr(store, append_dim="x")
    np.testing.assert_array_equal(read(store)["a"], TIMES[:4])


@pytest.mark.parametrize("options", [{"mode": "a"}, {"region": {"time": slice(2, 4)}, "mode": "a"}])
def test_a_new_variable_of_another_length_is_refused(options: dict[str, Any]) -> None:
    """xarray writes it, and cannot open the dataset afterwards."""
    store = MemoryStore()
    weather().omnizarr.to_zarr(store)
    with pytest.raises(ArgumentError, match="the stored length of 'time' is 20, found 2"):
        xr.Dataset({"new": ("time", [1, 2])}).omnizarr.to_zarr(store, **options)
    xr.testing.assert_identical(read(store), weather())


def test_an_append_to_nothing_creates_nothing() -> None:
    store = MemoryStore()
    with pytest.raises(FileNotFoundError):
        weather().omnizarr.to_zarr(store, append_dim="time")
    assert not list(store.list())


def test_an_empty_region_is_found() -> None:
    store = MemoryStore()
    weather().omnizarr.to_zarr(store)
    weather(3, 3).omnizarr.to_zarr(store, region="auto")
    xr.testing.assert_identical(read(store), weather())


@pytest.mark.parametrize("new", ["<U4", "S4", object, np.dtypes.StringDType()])
@pytest.mark.parametrize("old", ["<U2", "S2"])
def test_text_that_would_be_cut_off_is_refused(old: str, new: Any) -> None:
    store = MemoryStore()
    before = xr.Dataset({"a": ("x", np.array(["ab"]).astype(old))})
    before.omnizarr.to_zarr(store)
    text = np.array(["abcd"]).astype(new)
    with pytest.raises(ArgumentError, match="variable `a` exists with the"):
        xr.Dataset({"a": ("x", text)}).omnizarr.to_zarr(store, append_dim="x")
    xr.testing.assert_identical(read(store), before)
    if text.dtype.kind in "TO":  # the values decide, not the type
        xr.Dataset({"a": ("x", np.array(["c"]).astype(new))}).omnizarr.to_zarr(store, append_dim="x")
        assert read(store)["a"].astype(str).values.tolist() == ["ab", "c"]
