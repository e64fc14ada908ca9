"""v3 arrays with numcodecs codecs: creating, writing and reading."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.codecs import Bytes
from omnizarr.codecs import numcodecs_ as family
from omnizarr.errors import ArgumentError, ChunkError

DATA = (np.arange(100) % 3).reshape(10, 10)


@pytest.mark.parametrize(
    ("dtype", "filters", "compressors"),
    [
        ("uint8", [family.Delta("|u1", "<i2")], None),
        ("bool", [family.PackBits()], ["numcodecs.zlib"]),
        ("float64", [family.FixedScaleOffset(10, 0, astype="|u1")], [family.Shuffle(), family.Lz4()]),
        ("int32", [family.AsType("|i1"), family.Delta("|i1")], ["numcodecs.blosc", "numcodecs.crc32"]),
        ("float32", [family.BitRound(4), family.Quantize(2)], "auto"),
        ("float32", [], [family.Lzma(preset=0), family.Adler32(), family.Bz2()]),
    ],
    ids=str,
)
@pytest.mark.parametrize("shards", [None, (10, 8)], ids=["chunks", "shards"])
@pytest.mark.smoke
def test_round_trip(dtype: str, filters: Any, compressors: Any, shards: Any) -> None:
    data = DATA.astype(dtype)
    store: dict[str, bytes] = {}
    options = {"chunks": (5, 4), "shards": shards, "filters": filters, "compressors": compressors}
    omnizarr.create_array(store, shape=data.shape, dtype=dtype, **options)[...] = data
    array = omnizarr.open_array(store, mode="r+")
    assert np.array_equal(array[...], data)
    array[2:4, 1:7] = data[5:7, 1:7]
    data[2:4, 1:7] = data[5:7, 1:7]
    assert np.array_equal(array[...], data)


def test_resolved_parameters_are_recorded() -> None:
    array = omnizarr.create_array(
        None, shape=(8,), dtype="uint8", filters=family.AsType("<u4"), compressors=family.Shuffle()
    )
    assert array.filters == (family.AsType("<u4", "|u1"),)
    assert array.serializer == Bytes("little")
    assert array.compressors == (family.Shuffle(4),)


def test_a_filter_that_does_not_fit_the_data_type_is_named() -> None:
    with pytest.raises(ArgumentError, match="numcodecs.quantize"):
        omnizarr.create_array(None, shape=(8,), dtype="int32", filters=family.Quantize(2))


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    ("dtype", "codec"),
    [
        ("uint8", family.PackBits()),
        ("float32", family.Delta("<i4")),
        ("int32", family.Delta("<f4")),
        ("int32", family.FixedScaleOffset(1, 0, "<f4", "<i2")),
        ("int64", family.Quantize(2, "<f8")),
        ("uint32", family.AsType("|u1", "<f4")),
    ],
    ids=str,
)
def test_a_new_array_must_have_the_data_type_of_its_filter(dtype: str, codec: Any, zarr_format: Any) -> None:
    """numcodecs would reinterpret the bits of the elements, and lose most of them."""
    store: dict[str, bytes] = {}
    with pytest.raises(ArgumentError, match=f"`{codec.name}`: expected elements of type"):
        omnizarr.create_array(store, shape=8, dtype=dtype, filters=codec, zarr_format=zarr_format)
    assert not store


@pytest.mark.parametrize(
    ("dtype", "taken"), [("M8[s]", "<i8"), ("m8[ns]", "<i8"), ("uint32", "<i4"), ("int16", "<u2"), ("bool", "|i1")]
)
def test_signed_and_unsigned_integers_of_one_size_are_interchangeable(dtype: str, taken: str) -> None:
    data = np.array([1, 0, 1, 1]).astype(dtype)
    assert omnizarr.create_array(None, data=data, filters=family.Delta(taken))[...].tolist() == data.tolist()


def test_bytes_that_were_packed_as_booleans() -> None:
    store: dict[str, bytes] = {}
    omnizarr.create_array(store, shape=10, dtype="bool", filters="packbits", compressors=None, zarr_format=2)
    store[".zarray"] = store[".zarray"].replace(b"|b1", b"|u1").replace(b"false", b"0")
    array = omnizarr.open_array(store, mode="r+")
    array[2:4] = 1
    assert array[:5].tolist() == [0, 0, 1, 1, 0]
    with pytest.raises(ChunkError, match="other than 0 and 1"):
        array[5] = 7
    assert array[...].sum() == 2


def test_more_labels_than_codes() -> None:
    labels = [str(number) for number in range(300)]
    options: dict[str, Any] = {"shape": 3, "dtype": "U3", "zarr_format": 2}
    with pytest.raises(ArgumentError, match="300 labels are too many for type"):
        omnizarr.create_array(None, filters=family.Categorize(labels, "<U3"), **options)
    z = omnizarr.create_array(None, filters=family.Categorize(labels, "<U3", "<u2"), **options)
    z[...] = ["299", "x", "0"]
    assert z[...].tolist() == ["299", "", "0"]


def test_a_damaged_chunk_is_named() -> None:
    store: dict[str, bytes] = {}
    omnizarr.create_array(store, shape=(8,), dtype="int32", compressors="numcodecs.zlib")[...] = 7
    store["c/0"] = b"nonsense"
    with pytest.raises(ChunkError, match="codec `zlib`"):
        omnizarr.open_array(store, mode="r")[...]
