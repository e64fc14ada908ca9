"""Writing with the accessor `ds.omnizarr`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray")
pd = pytest.importorskip("pandas")

import omnizarr  # noqa: E402
import omnizarr.integrations.xarray  # noqa: E402
from omnizarr.errors import ArgumentError, NodeExistsError, NodeNotFoundError  # noqa: E402
from omnizarr.nodes.joint_append.journal import JOURNAL  # noqa: E402
from omnizarr.store import MemoryStore  # noqa: E402
from omnizarr.testing import RecordingStore  # noqa: E402

TIMES = pd.date_range("2000-01-01", periods=100)


def weather(begin: int = 0, end: int = 20, **more: Any) -> Any:
    """Days of weather; the same day always has the same values."""
    days = np.arange(begin, end)
    grid = np.arange(6 * 8).reshape(6, 8)
    temperature = (days[:, None, None] * 100 + grid).astype("f4")
    return xr.Dataset(
        {
            "t": (("time", "y", "x"), temperature, {"units": "K"}),
            "rain": (("time", "y", "x"), np.where(grid % 5 == 0, np.nan, temperature)),
            "height": (("y", "x"), grid * 1.5),
        },
        coords={
            "time": TIMES[begin:end],
            "y": np.arange(6) * 0.5,
            "x": np.arange(8) * 0.25,
            "lat": (("y", "x"), grid * 2.0),
            "day": ("time", days),
            "run": 7,
        },
        attrs={"title": "weather"},
    ).assign(**more)


def read(place: Any, **options: Any) -> Any:
    with xr.open_dataset(place, engine="omnizarr", **options) as dataset:
        return dataset.load()


@pytest.mark.smoke
@pytest.mark.parametrize("zarr_format", [2, 3, "3-draft-2020", "3-draft-2022", "n5"])
@pytest.mark.parametrize("suffix", ["", ".zip", ".sqlite"])
def test_round_trips(tmp_path: Path, zarr_format: Any, suffix: str) -> None:
    if zarr_format == "n5" and suffix:
        pytest.skip("N5 is a tree of files")
    place = f"{tmp_path}/w.{'n5' if zarr_format == 'n5' else 'zarr'}{suffix}"
    weather().omnizarr.to_zarr(place, zarr_format=zarr_format)
    xr.testing.assert_identical(read(place), weather())
    xr.testing.assert_identical(read(place, consolidated=False), weather())


def test_buckets() -> None:
    """A store without locks: appends wait for each other by their journals."""
    obstore = pytest.importorskip("obstore.store")
    store = omnizarr.ObjectStore(obstore.MemoryStore())
    weather(0, 5).omnizarr.to_zarr(store, group="a")
    for begin in range(5, 20, 5):
        weather(begin, begin + 5).chunk(time=2).omnizarr.to_zarr(store, append_dim="time", group="a")
    xr.testing.assert_identical(read(store, group="a"), weather())
    xr.testing.assert_identical(read(store, group="a", consolidated=False), weather())


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    "values",
    [
        np.array(["a", "bcd", "ü"], object),
        np.array(["a", "bcd", "ü"]),
        np.array([b"a", b"bcd", b""]),
        np.array([True, False, True]),
        np.array([1.5, np.nan, np.inf], "f2"),
        np.array([1, 2, 3], ">i4"),
        np.array([1 + 2j, 0, 3], "c8"),
        np.array([0, 1, 2], "u1"),
        TIMES[:3].values,
        np.array([1, 2, 90], "m8[h]").astype("m8[ns]"),
        np.array([], "f8"),
    ],
    ids=lambda values: str(values.dtype),
)
def test_types(zarr_format: Any, values: Any) -> None:
    store = MemoryStore()
    dataset = xr.Dataset({"a": ("x", values)})
    dataset.omnizarr.to_zarr(store, zarr_format=zarr_format)
    xr.testing.assert_identical(read(store), dataset)


def test_integers_of_v2_keep_their_zeros() -> None:
    store = MemoryStore()
    xr.Dataset({"a": ("x", [1, 0])}).omnizarr.to_zarr(store, zarr_format=2)
    assert omnizarr.open_array(store, path="a").fill_value is None
    assert read(store).a.dtype == np.int64


def test_missing_data_and_fill_values_are_independent() -> None:
    store = MemoryStore()
    dataset = xr.Dataset({"a": ("x", [1.0, np.nan])})
    dataset.omnizarr.to_zarr(store, encoding={"a": {"_FillValue": -9.0, "fill_value": 5.0}})
    array = omnizarr.open_array(store, path="a")
    np.testing.assert_array_equal(array, [1, -9])
    assert array.fill_value == 5
    again = read(store)
    xr.testing.assert_identical(again, dataset)
    assert (again.a.encoding["_FillValue"], again.a.encoding["fill_value"]) == (-9, 5)


# -- encodings


@pytest.mark.parametrize(
    "encoding",
    [
        {"chunks": (5, 3, 4)},
        {"chunks": (5, 3, 4), "shards": (10, 6, 8), "compressors": [{"name": "gzip", "configuration": {"level": 2}}]},
        {"chunks": ([4, 6, 10], 6, 8)},
        {"chunks": (2, 3, 4), "shards": ([4, 6, 10], 6, 8)},
        {"compressors": None, "filters": [{"name": "transpose", "configuration": {"order": [2, 0, 1]}}]},
        {"serializer": {"name": "bytes", "configuration": {"endian": "big"}}, "fill_value": 3.0},
        {"dtype": "i2", "scale_factor": 0.5, "add_offset": 100.0, "_FillValue": -1},
        {"chunk_key_encoding": "."},
    ],
)
def test_opening_and_writing_again_keeps_the_encoding(encoding: dict[str, Any]) -> None:
    first, second = MemoryStore(), MemoryStore()
    weather().omnizarr.to_zarr(first, encoding={"t": encoding})
    opened = xr.open_dataset(first, engine="omnizarr")
    opened.omnizarr.to_zarr(second)
    before, after = (omnizarr.open_array(store, path="t").metadata for store in (first, second))
    if "chunk_key_encoding" not in encoding:  # a name, not a part of the layout of the data
        assert before == after
    xr.testing.assert_identical(read(first), read(second))


@pytest.mark.parametrize(("old", "new"), [(2, 3), (3, 2), (2, "n5"), ("3-draft-2020", 3), (3, "3-draft-2022")])
def test_codecs_are_kept_in_another_generation(old: Any, new: Any) -> None:
    first, second = MemoryStore(), MemoryStore()
    dataset = xr.Dataset({"a": (("y", "x"), np.arange(12).reshape(3, 4))})
    dataset.omnizarr.to_zarr(first, zarr_format=old, encoding={"a": {"chunks": (2, 3), "compressors": ["gzip"]}})
    xr.open_dataset(first, engine="omnizarr").omnizarr.to_zarr(second, zarr_format=new)
    copy = omnizarr.open_array(second, path="a")
    assert copy.chunks == (2, 3)
    assert [codec.name for codec in copy.compressors] == ["gzip"]
    xr.testing.assert_identical(read(second), dataset)


def test_text_is_kept_in_another_generation() -> None:
    first, second = MemoryStore(), MemoryStore()
    dataset = xr.Dataset({"a": ("x", np.array(["a", "bcd"], object))})
    dataset.omnizarr.to_zarr(first, zarr_format=2)
    xr.open_dataset(first, engine="omnizarr").omnizarr.to_zarr(second, zarr_format=3)
    xr.testing.assert_identical(read(second), dataset)
    xr.open_dataset(second, engine="omnizarr").omnizarr.to_zarr(first, "w", zarr_format=2)
    xr.testing.assert_identical(read(first), dataset)


@pytest.mark.parametrize(
    ("shards", "chunks", "expected"),
    [
        ("auto", None, ((20, 6, 8), (20, 6, 8))),
        ({"time": 10}, {"time": 5}, ((5, 6, 8), (10, 6, 8))),
        ({"time": 10}, None, ((10, 6, 8), (10, 6, 8))),
        ({"time": 8, "x": 4}, {"time": 20, "x": 2}, ((8, 6, 2), (8, 6, 4))),
        ({"nothing": 3}, {"time": 5}, ((5, 6, 8), None)),
    ],
)
def test_shards_of_new_variables(shards: Any, chunks: Any, expected: Any) -> None:
    store = MemoryStore()
    dataset = weather() if chunks is None else weather().chunk(chunks)
    dataset.omnizarr.to_zarr(store, shards=shards)
    array = omnizarr.open_array(store, path="t")
    assert (array.chunks, array.shards) == expected
    assert omnizarr.open_array(store, path="time").shards is None
    xr.testing.assert_identical(read(store), weather())


# -- modes


def test_modes(tmp_path: Path) -> None:
    place = tmp_path / "w.zarr"
    for mode in ("r+", None):
        with pytest.raises(NodeNotFoundError if mode else NodeExistsError):  # noqa: PT012
            if mode is None:
                weather().omnizarr.to_zarr(place)
            weather().omnizarr.to_zarr(place, mode)
    weather(0, 5).omnizarr.to_zarr(place, "w")
    xr.testing.assert_identical(read(place), weather(0, 5))
    (weather(0, 5) + 1).omnizarr.to_zarr(place, "a")
    np.testing.assert_array_equal(read(place).t, weather(0, 5).t + 1)
    weather(0, 5)[["t"]].omnizarr.to_zarr(place, "r+")
    np.testing.assert_array_equal(read(place).t, weather(0, 5).t)
    xr.Dataset({"new": ("y", np.arange(6))}).omnizarr.to_zarr(place, "a")
    np.testing.assert_array_equal(read(place).new, np.arange(6))
    np.testing.assert_array_equal(read(place, consolidated=False).new, np.arange(6))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "x"}, "`mode`"),
        ({"mode": "w", "append_dim": "time"}, "`append_dim`"),
        ({"mode": "w", "region": {"time": slice(3)}}, "`region`"),
        ({"append_dim": "nothing"}, "expected one of the dimensions time, x, y"),
        ({"region": {"nothing": slice(3)}}, "no dimension 'nothing'"),
        ({"region": {"time": 3}}, "expected a slice"),
        ({"region": {"time": slice(0, 20, 2)}}, "step 1"),
        ({"region": {"time": slice(0, 20)}}, "none of its dimensions: height, y, x, lat, run"),
        ({"region": {"time": slice(0, 20)}, "append_dim": "time", "mode": "a"}, "dimension of `append_dim`"),
        ({"mode": "a", "encoding": {"t": {"chunks": (1, 1, 1)}}}, "exists already"),
    ],
)
def test_wrong_arguments_change_nothing(options: dict[str, Any], message: str) -> None:
    store = MemoryStore()
    weather().omnizarr.to_zarr(store)
    before = {key: bytes(store.get(key) or b"") for key in store.list()}
    with pytest.raises(ArgumentError, match=message):
        weather().omnizarr.to_zarr(store, **options)
    assert {key: bytes(store.get(key) or b"") for key in store.list()} == before


@pytest.mark.parametrize("group", [None, "a"])
def test_a_group_can_be_replaced_by_its_own_values(tmp_path: Path, group: str | None) -> None:
    weather().omnizarr.to_zarr(tmp_path / "w.zarr", group=group)
    for _ in range(2):
        opened = xr.open_dataset(tmp_path / "w.zarr", engine="omnizarr", group=group)
        opened.isel(time=slice(3, None)).omnizarr.to_zarr(tmp_path / "w.zarr", "w", group=group)
    xr.testing.assert_identical(read(tmp_path / "w.zarr", group=group), weather(6))


@pytest.mark.parametrize("consolidated", [None, True, False])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata(zarr_format: Any, consolidated: bool | None) -> None:
    store = MemoryStore()
    weather().omnizarr.to_zarr(store, zarr_format=zarr_format, consolidated=consolidated, group="a/b")
    recording = RecordingStore(store)
    dataset = xr.open_dataset(recording, engine="omnizarr", group="a/b")
    assert ("list_dir" in recording.methods()) == (consolidated is False)
    xr.testing.assert_identical(dataset.load(), weather())


# -- append and region


@pytest.mark.parametrize("zarr_format", [2, 3, "3-draft-2020", "3-draft-2022", "n5"])
@pytest.mark.parametrize("chunked", [False, True])
def test_append(tmp_path: Path, zarr_format: Any, chunked: bool) -> None:
    place = tmp_path / ("w.n5" if zarr_format == "n5" else "w.zarr")
    weather(0, 7).omnizarr.to_zarr(place, zarr_format=zarr_format, encoding={"t": {"chunks": (5, 3, 4)}})
    for begin, end in ((7, 8), (8, 20), (20, 23)):
        more = weather(begin, end)
        (more.chunk(time=2, y=5) if chunked else more).omnizarr.to_zarr(place, append_dim="time")
        xr.testing.assert_identical(read(place), weather(0, end))
        xr.testing.assert_identical(read(place, consolidated=False), weather(0, end))
    assert JOURNAL not in omnizarr.open_group(place, mode="r")._model.attributes


def test_append_without_the_other_variables() -> None:
    store = MemoryStore()
    weather(0, 5).omnizarr.to_zarr(store)
    (weather(5, 6) + 1000).omnizarr.to_zarr(store, "a-", append_dim="time")
    np.testing.assert_array_equal(read(store).height, weather().height)
    assert read(store).sizes["time"] == 6


def test_an_append_that_would_leave_a_variable_behind_is_refused() -> None:
    store = MemoryStore()
    weather(0, 5).omnizarr.to_zarr(store)
    with pytest.raises(ArgumentError, match="lacks the stored variable `rain`"):
        weather(5, 6).drop_vars("rain").omnizarr.to_zarr(store, append_dim="time")
    with pytest.raises(ArgumentError, match="`wind` has the dimension 'time' and does not exist"):
        weather(5, 6, wind=("time", [1.0])).omnizarr.to_zarr(store, append_dim="time")
    xr.testing.assert_identical(read(store), weather(0, 5))


def test_text_that_would_be_cut_off_is_refused() -> None:
    store = MemoryStore()
    xr.Dataset({"a": ("x", np.array(["ab"]))}).omnizarr.to_zarr(store)
    with pytest.raises(ArgumentError, match="cuts off"):
        xr.Dataset({"a": ("x", np.array(["abc"]))}).omnizarr.to_zarr(store, append_dim="x")


def test_a_failed_append_changes_nothing(tmp_path: Path) -> None:
    dask = pytest.importorskip("dask.array")

    def fail(block: Any) -> Any:
        if block.size and block.flat[0] >= 1200:
            raise ValueError("as planned")
        return block

    for store in (tmp_path / "w.zarr", MemoryStore()):
        weather(0, 5).omnizarr.to_zarr(store, encoding={"t": {"chunks": (2, 6, 8)}})
        more = weather(5, 20)
        more["rain"] = more.rain.copy(data=dask.from_array(more.rain.values, chunks=(2, 6, 8)).map_blocks(fail))
        more["t"] = more.t.copy(data=dask.from_array(more.t.values, chunks=(2, 6, 8)).map_blocks(fail))
        with pytest.raises(ValueError, match="as planned"):
            more.omnizarr.to_zarr(store, append_dim="time")
        for consolidated in (None, False):
            xr.testing.assert_identical(read(store, consolidated=consolidated), weather(0, 5))
        weather(5, 9).omnizarr.to_zarr(store, append_dim="time")
        xr.testing.assert_identical(read(store), weather(0, 9))


@pytest.mark.parametrize("region", [{"time": slice(3, 8)}, {"time": "auto"}, "auto", {"time": slice(-17, -12)}])
@pytest.mark.parametrize("chunked", [False, True])
def test_region(region: Any, chunked: bool) -> None:
    store = MemoryStore()
    weather().omnizarr.to_zarr(store, encoding={"t": {"chunks": (5, 3, 4)}})
    part = weather(3, 8).drop_vars(["height", "lat", "run"]) + 5000
    if region != "auto":
        part = part.drop_vars(["y", "x"])
    (part.chunk(time=2) if chunked else part).omnizarr.to_zarr(store, region=region)
    expected = weather()
    for name in ("t", "rain"):
        expected[name][3:8] = expected[name][3:8] + 5000
    xr.testing.assert_identical(read(store), expected)


def test_a_region_must_be_in_the_store() -> None:
    store = MemoryStore()
    weather().omnizarr.to_zarr(store)
    part = weather(3, 8)[["t"]].drop_vars(["y", "x", "lat", "run"])
    with pytest.raises(KeyError, match="some coordinates of 'time' are not in the store"):
        weather(18, 23)[["t"]].drop_vars(["y", "x", "lat", "run"]).omnizarr.to_zarr(store, region={"time": "auto"})
    with pytest.raises(ValueError, match="not contiguous"):
        part.isel(time=[0, 2]).omnizarr.to_zarr(store, region={"time": "auto"})
    with pytest.raises(ValueError, match="length 5 of 'time', found 3"):
        part.isel(time=slice(3)).omnizarr.to_zarr(store, region={"time": slice(5)})


# -- dask


@pytest.mark.parametrize("shards", [None, (10, 6, 8)])
@pytest.mark.parametrize("safe_chunks", [True, False])
def test_blocks_of_dask_that_do_not_fit_the_chunks(tmp_path: Path, shards: Any, safe_chunks: bool) -> None:
    encoding = {"t": {"chunks": (5, 3, 4), "shards": shards}}
    chunked = weather().chunk(time=(3, 8, 1, 8), y=5, x=3)
    chunked.omnizarr.to_zarr(tmp_path, "w", encoding=encoding, safe_chunks=safe_chunks)
    xr.testing.assert_identical(read(tmp_path), weather())
    chunked = weather(20, 33).chunk(time=(1, 7, 5))
    chunked.omnizarr.to_zarr(tmp_path, append_dim="time", safe_chunks=safe_chunks)
    xr.testing.assert_identical(read(tmp_path), weather(0, 33))


def test_aligned_tasks_write_each_chunk_once() -> None:
    store = RecordingStore(MemoryStore())
    encoding = {"t": {"chunks": (5, 3, 4), "shards": (10, 6, 8)}}
    weather()[["t"]].chunk(time=3, y=2, x=5).omnizarr.to_zarr(store, encoding=encoding)
    written = [key for call in store.calls if call.method in ("set", "updates.write") for key in [call.key]]
    assert sorted(key for key in written if str(key).startswith("t/c/")) == ["t/c/0/0/0", "t/c/1/0/0"]


def test_a_template_and_a_delayed_write(tmp_path: Path) -> None:
    delayed = weather().chunk(time=5).omnizarr.to_zarr(tmp_path / "w.zarr", compute=False)
    template = read(tmp_path / "w.zarr")
    assert template.sizes == weather().sizes
    assert np.isnan(template.t).all()
    np.testing.assert_array_equal(template.time, weather().time)
    delayed.compute()
    xr.testing.assert_identical(read(tmp_path / "w.zarr"), weather())
    more = weather(20, 25).chunk(time=2).omnizarr.to_zarr(tmp_path / "w.zarr", append_dim="time", compute=False)
    assert read(tmp_path / "w.zarr").sizes["time"] == 25
    more.compute()
    xr.testing.assert_identical(read(tmp_path / "w.zarr"), weather(0, 25))


def test_template_then_regions(tmp_path: Path) -> None:
    template = weather()
    template["t"] = template.t.chunk(time=5)
    template["rain"] = template.rain.chunk(time=5)
    template.omnizarr.to_zarr(tmp_path, "w", compute=False)
    assert np.isnan(read(tmp_path).t).all()
    for begin in range(0, 20, 4):  # not aligned with the chunks
        part = weather(begin, begin + 4)[["t", "rain"]].drop_vars(["y", "x", "lat", "run", "day"])
        part.omnizarr.to_zarr(tmp_path, region="auto")
    xr.testing.assert_identical(read(tmp_path), weather())


# -- data arrays and trees


@pytest.mark.parametrize("name", ["t", "x", None])
def test_data_arrays(name: str | None) -> None:
    store = MemoryStore()
    array = weather().t.rename(name)
    array.omnizarr.to_zarr(store)
    with xr.open_dataarray(store, engine="omnizarr") as opened:
        xr.testing.assert_identical(opened.load(), array)


@pytest.mark.parametrize("options", [{"append_dim": "x"}, {"region": {"x": slice(2)}}])
def test_a_tree_has_no_part_to_write_to(options: dict[str, Any]) -> None:
    tree = xr.DataTree.from_dict({"/a": xr.Dataset({"v": ("x", [1, 2])})})
    store = MemoryStore()
    tree.omnizarr.to_zarr(store)
    with pytest.raises(ArgumentError, match="expected a dataset, found a tree"):
        tree.omnizarr.to_zarr(store, **options)


def test_trees(tmp_path: Path) -> None:
    below = xr.Dataset({"sum": ("time", np.arange(20.0))})
    tree = xr.DataTree.from_dict({"/": weather()[["height"]], "/a": weather(), "/a/b": below})
    for mode in ("w-", "w", "a"):
        encoding = {"/a": {"t": {"chunks": (2, 6, 8)}}} if mode != "a" else None
        tree.omnizarr.to_zarr(tmp_path / "w.zarr", mode, encoding=encoding)
        opened = xr.open_datatree(tmp_path / "w.zarr", engine="omnizarr").load()
        xr.testing.assert_identical(opened, tree)
    assert omnizarr.open_array(tmp_path / "w.zarr", path="a/t").chunks == (2, 6, 8)
    assert "x" not in omnizarr.open_group(tmp_path / "w.zarr", path="a")
    with pytest.raises(ArgumentError, match="found a tree"):
        tree.omnizarr.to_zarr(tmp_path / "w.zarr", append_dim="time")
    with pytest.raises(ArgumentError, match="there is no group '/c'"):
        tree.omnizarr.to_zarr(tmp_path / "w.zarr", "w", encoding={"/c": {}})


@pytest.mark.parametrize("target_format", [2, 3])
def test_the_byte_order_is_kept(target_format: int) -> None:
    store, copy = MemoryStore(), MemoryStore()
    group = omnizarr.create_group(store, zarr_format=2)
    options = {"data": np.arange(4, dtype=">i4"), "dimension_names": ["x"], "fill_value": -1}
    group.create_array("plain", **options)
    group.create_array("packed", attributes={"scale_factor": 0.5}, **options)
    with xr.open_dataset(store, engine="omnizarr") as dataset:
        assert dataset["plain"].encoding["dtype"] == ">i4"
        dataset.omnizarr.to_zarr(copy, zarr_format=target_format)
        xr.testing.assert_identical(xr.open_dataset(copy, engine="omnizarr").load(), dataset)
    if target_format == 2:
        documents = [json.loads(bytes(copy.get(f"{name}/.zarray"))) for name in ("plain", "packed")]
        assert [document["dtype"] for document in documents] == [">i4", ">i4"]
