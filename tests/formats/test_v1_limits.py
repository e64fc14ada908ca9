"""Fill values of v1, and what v1 cannot express."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
import pytest
from tests.formats.old_documents import array_v1, chunk, model, problem_paths, store_of

import omnizarr
from omnizarr.codecs import Blosc, Transpose
from omnizarr.errors import ArgumentError


def meta(store: omnizarr.MemoryStore) -> Any:
    return json.loads(bytes(store.get("meta") or b""))


# -- fill values: plain JSON as NumPy interprets it


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("|S4", "abcd", b"abcd"),  # in v2 this would be base64
        ("|S3", 0, b"0"),
        ("<U3", "ü", "ü"),
        ("<U3", 0, "0"),
        ("|b1", 1, True),
        ("<i4", -7, -7),
        ("<c8", 1.5, 1.5),
        ("<f4", 3, 3.0),
        ("<M8[s]", 5, np.datetime64(5, "s")),
        ([["a", "<i2"], ["b", "|S2"]], 0, (0, b"0")),
    ],
)
def test_fill_values_are_read_as_in_zarr_1(dtype: Any, value: Any, expected: Any) -> None:
    document = array_v1(dtype=dtype, fill_value=value)
    fill = model(document).fill
    assert fill is not None
    assert (fill.tolist() if isinstance(dtype, list) else fill[()]) == expected


@pytest.mark.parametrize(
    ("dtype", "value"), [("|S3", "é"), ("<i2", "x"), ("<i2", 2**15), ("|S3", [1]), ("|V3", "AAAA"), ("<f4", [1])]
)
def test_invalid_fill_values(dtype: Any, value: Any) -> None:
    assert problem_paths(array_v1(dtype=dtype, fill_value=value)) == ["$.fill_value"]


@pytest.mark.parametrize(
    ("dtype", "value", "written"),
    [
        ("<f4", np.nan, "NaN"),
        ("<f8", -np.inf, "-Infinity"),
        ("<c8", 1.5, 1.5),
        ("S3", b"no", "no"),
        ("<U3", "ü", "ü"),
        ("<M8[s]", np.datetime64("NaT", "s"), -(2**63)),
        ([("a", "<i2"), ("b", "<f4")], (0, 0.0), 0),
        ("?", True, True),
    ],
)
def test_round_trip_of_fill_values(dtype: Any, value: Any, written: Any) -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=3, dtype=dtype, fill_value=value, zarr_format=1)
    assert meta(store)["fill_value"] == written
    fill = omnizarr.open_array(store).fill_value
    assert repr(np.asarray(fill).tolist()) == repr(np.asarray(z.fill_value).tolist())


def test_a_fill_value_that_cannot_be_written_is_kept() -> None:
    store = store_of(array_v1(dtype=[["a", "<i2"], ["b", "|S2"]], fill_value=5))
    z = omnizarr.open_array(store)
    z.resize(5, 5)
    assert meta(store)["fill_value"] == 5
    assert z[0, 0].tolist() == (5, b"5")


# -- what v1 cannot express


@pytest.mark.parametrize(
    ("reason", "options"),
    [
        ("no arrays without dimensions", {"shape": ()}),
        ("no filters", {"filters": [{"id": "delta", "dtype": "<i2"}]}),
        ("no filters", {"serializer": "numcodecs.pcodec"}),
        ("no filters", {"serializer": "numcodecs.pcodec", "compressors": None}),
        ("no filters", {"compressors": "pcodec"}),
        ("a time needs a unit", {"dtype": [("a", "<i2"), ("b", "<m8")]}),
        ("cannot compress times with blosc", {"dtype": "<M8[s]", "compressors": "blosc"}),
        ("cannot compress times with blosc", {"dtype": [("a", "<i2"), ("b", "<m8[s]")], "compressors": "blosc"}),
        ("one compressor", {"compressors": ["zlib", "zlib"]}),
        ("one compressor", {"compressors": "zstd"}),
        ("one compressor", {"filters": ["shuffle"], "compressors": "zlib"}),
        ("neither zstd nor snappy", {"compressors": Blosc("zstd")}),
        ("F order only with blosc", {"order": "F", "compressors": None}),
        ("no shards", {"shards": (4, 4), "chunks": (2, 2)}),
        ("not otherwise", {"shape": (2, 2, 2), "chunks": (2, 2, 2), "filters": [Transpose((1, 0, 2))]}),
        ("only the default NaN", {"dtype": "<f4", "fill_value": np.array(0x7FC00001, "u4").view("f4")[()]}),
        ("cannot express this fill value", {"dtype": "<c8", "fill_value": 1j}),
        ("cannot express this fill value", {"dtype": "S3", "fill_value": b"\xff"}),
        ("cannot express this fill value", {"dtype": [("a", "<i2")], "fill_value": (1,)}),
        ("cannot express this fill value", {"dtype": [("a", "S2")], "fill_value": (b"x",)}),
        ("is a number or a string", {"dtype": [("a", "<i2", (2,))], "fill_value": None}),
        ("is a number or a string", {"dtype": [("a", [("b", "<i2")])], "fill_value": None}),
        ("no arrays of objects", {"dtype": "string"}),
    ],
)
def test_options_that_v1_cannot_express_are_rejected_before_writing(reason: str, options: dict[str, Any]) -> None:
    store = omnizarr.MemoryStore()
    with pytest.raises(ArgumentError, match=reason):
        omnizarr.create_array(store, **{"shape": (4, 4), "dtype": "<i2", "zarr_format": 1} | options)
    assert list(store.list()) == []


@pytest.mark.parametrize("dtype", ["<M8[s]", ">m8[10us]", [("a", "<i2"), ("b", "<M8[D]")]])
def test_times_are_not_compressed_with_blosc_by_default(dtype: Any) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=3, dtype=dtype, zarr_format=1)
    assert meta(store)["compression"] == "zlib"


def test_raw_bytes_have_no_fill_value_that_zarr_1_reads() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=3, dtype="V3", zarr_format=1)
    assert meta(store)["fill_value"] is None
    with pytest.raises(ArgumentError, match="cannot express this fill value"):
        omnizarr.create_array(shape=3, dtype="V3", fill_value=np.void(b"abc"), zarr_format=1)


def test_there_are_no_groups_and_no_paths() -> None:
    store = omnizarr.MemoryStore()
    with pytest.raises(ArgumentError, match="v1 has no groups"):
        omnizarr.create_group(store, zarr_format=1)
    with pytest.raises(ArgumentError, match="has no path"):
        omnizarr.create_array(store, name="a", shape=3, dtype="i1", zarr_format=1)
    assert list(store.list()) == []


def test_an_array_below_a_path_is_still_read() -> None:
    inner = store_of(array_v1(), c0_0=zlib.compress(chunk(*range(12))))
    store = omnizarr.MemoryStore()
    for key in inner.list():
        store.set(f"a/b/{key}", inner.get(key) or b"")
    z = omnizarr.open_array(store, path="a/b")
    assert z.zarr_format == 1
    assert z[1].tolist() == [3, 4, 5, 7, 7, 7]


def test_dimension_names_are_an_attribute() -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=(3, 3), dtype="i1", zarr_format=1, dimension_names=["y", None])
    assert z.dimension_names == ("y", None)
    assert json.loads(bytes(store.get("attrs") or b"")) == {"_ARRAY_DIMENSIONS": ["y", None]}


def test_U10_a_fill_value_of_records_with_times_is_undefined_or_rejected() -> None:
    """Undefined elements are read as zeros, which is a time in 1970; the default of a record with a time is NaT."""
    dtype = [("a", "<M8[s]"), ("b", "S2")]
    assert omnizarr.create_array(shape=3, dtype=dtype, zarr_format=1).metadata.fill is None
    source = omnizarr.create_array(shape=3, dtype=dtype, zarr_format=3)
    with pytest.raises(ArgumentError, match="`fill_value=None` leaves it undefined"):
        omnizarr.from_array({}, data=source, zarr_format=1, compressors="auto")
