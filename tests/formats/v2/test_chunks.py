"""Chunks of v2: fill values, filters, element order and objects (V13–V15, V21, V24, V25, V30)."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import conventions
from tests.formats.old_documents import array_v2, chunk, messages, model, problem_paths, store_of, warning_paths

import omnizarr
from omnizarr.codecs import Bytes, Transpose, VlenUtf8
from omnizarr.codecs.numcodecs_ import Delta, FilterOnBytes, Shuffle, Zlib
from omnizarr.formats import dialect_for


def dumped(node: Any) -> Any:
    return dialect_for(2).dump("", node)[".zarray"]


def test_V13_a_missing_chunk_contains_the_fill_value() -> None:
    z = omnizarr.open_array(store_of(array_v2()), mode="r")
    assert (z[...] == 7).all()


def test_V13_without_a_fill_value_a_missing_chunk_is_undefined() -> None:
    z = omnizarr.open_array(store_of(array_v2(fill_value=None)), mode="r")
    assert z.fill_value is None
    assert z[...].shape == (10, 6)


@pytest.mark.parametrize("zarr_format", [1, 2])
def test_V13_U10_zeros_are_stored_if_there_is_no_fill_value(zarr_format: Any) -> None:
    """A missing chunk is undefined, so zeros that were written must be stored."""
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=4, chunks=2, dtype="<i2", fill_value=None, zarr_format=zarr_format)
    z[...] = 0
    assert {"0", "1"} <= set(store.list())
    z[0] = 5
    z[0] = 0
    assert "0" in set(store.list())


def test_V14_chunks_at_the_border_have_full_size() -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=(3,), chunks=2, dtype="<i2", zarr_format=2, compressors=None, fill_value=9)
    z[...] = [1, 2, 3]
    assert len(store.get("1") or b"") == 4
    store.set("1", chunk(5, -1))  # the part outside the array has no meaning
    assert z[...].tolist() == [1, 2, 5]


def test_V15_filters_come_before_the_compressor_in_their_order() -> None:
    filters = [{"id": "delta", "dtype": "<i2"}, {"id": "shuffle", "elementsize": 2}]
    document = array_v2(shape=[4], chunks=[4], filters=filters)
    assert model(document).codecs == (Delta("<i2"), Bytes("little"), Shuffle(2), Zlib(1))
    deltas = chunk(10, 1, 1, 1)
    stored = deltas[0::2] + deltas[1::2]
    store = store_of(document, c0=zlib.compress(stored))
    assert omnizarr.open_array(store, mode="r")[...].tolist() == [10, 11, 12, 13]
    store.erase("0")
    omnizarr.open_array(store)[...] = [10, 11, 12, 13]
    assert zlib.decompress(bytes(store.get("0") or b"")) == stored


def test_V15_an_array_filter_after_bytes_treats_them_as_elements() -> None:
    filters = [{"id": "shuffle", "elementsize": 2}, {"id": "delta", "dtype": "|u1"}]
    document = array_v2(shape=[4], chunks=[4], filters=filters, compressor=None)
    assert model(document).codecs == (Bytes("little"), Shuffle(2), FilterOnBytes(Delta("|u1")))
    assert dumped(model(document)) == document
    shuffled = np.frombuffer(chunk(10, 11, 12, 300), "u1").reshape(4, 2).T.reshape(-1)
    stored = np.diff(shuffled, prepend=np.uint8(0)).tobytes()
    assert omnizarr.open_array(store_of(document, c0=stored), mode="r")[...].tolist() == [10, 11, 12, 300]


def test_V15_a_filter_of_another_byte_order_is_rejected() -> None:
    document = array_v2(dtype="<i2", filters=[{"id": "delta", "dtype": ">i2"}])
    assert problem_paths(document) == ["$.filters[0]"]
    assert "another byte order" in messages(document)


def test_V15_big_endian_filters() -> None:
    document = array_v2(dtype=">i2", filters=[{"id": "delta", "dtype": ">i2", "astype": ">i2"}])
    assert model(document).codecs[:2] == (Delta(">i2"), Bytes("big"))
    assert dumped(model(document)) == document
    document = array_v2(dtype="<i2", filters=[{"id": "delta", "dtype": "<i2", "astype": ">i4"}], compressor=None)
    stored = np.array([5, 1] * 6, ">i4").tobytes()
    row = omnizarr.open_array(store_of(document, c0_0=stored), mode="r")[0]
    assert row.tolist() == [5, 6, 11, 7, 7, 7]


def test_V21_F_is_column_major() -> None:
    document = array_v2(shape=[2, 3], chunks=[2, 3], order="F", compressor=None)
    assert model(document).codecs[0] == Transpose((1, 0))
    store = store_of(document, c0_0=chunk(1, 4, 2, 5, 3, 6))
    z = omnizarr.open_array(store)
    assert z.order == "F"
    assert z[...].tolist() == [[1, 2, 3], [4, 5, 6]]
    z[...] = [[6, 5, 4], [3, 2, 1]]
    assert store.get("0.0") == chunk(6, 3, 5, 2, 4, 1)


def test_V21_C_is_row_major() -> None:
    document = array_v2(shape=[2, 3], chunks=[2, 3], compressor=None)
    store = store_of(document, c0_0=chunk(1, 2, 3, 4, 5, 6))
    z = omnizarr.open_array(store)
    assert (z.order, z[...].tolist()) == ("C", [[1, 2, 3], [4, 5, 6]])
    z[...] = [[6, 5, 4], [3, 2, 1]]
    assert store.get("0.0") == chunk(6, 5, 4, 3, 2, 1)


@pytest.mark.parametrize("shape", [[], [3], [3, 2], [3, 2, 1]])
@pytest.mark.parametrize("order", ["C", "F"])
def test_V21_the_order_is_written_back(order: str, shape: list[int]) -> None:
    document = array_v2(shape=shape, chunks=shape, order=order)
    assert dumped(model(document)) == document


@pytest.mark.parametrize("shape", [(3,), (3, 2)])
def test_V21_F_is_recorded_for_any_number_of_dimensions(shape: tuple[int, ...]) -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=shape, dtype="<i2", order="F", zarr_format=2)
    z[...] = 3
    assert json.loads(bytes(store.get(".zarray") or b""))["order"] == "F"
    assert (omnizarr.open_array(store)[...] == 3).all()


def test_V21_filters_see_elements_in_the_order_of_memory() -> None:
    filters = [{"id": "delta", "dtype": "<i2"}]
    document = array_v2(shape=[2, 2], chunks=[2, 2], order="F", compressor=None, filters=filters)
    z = omnizarr.open_array(store_of(document, c0_0=chunk(1, 2, 3, 4)), mode="r")
    assert z[...].tolist() == [[1, 6], [3, 10]]


@pytest.mark.parametrize("id", ["json", "json2", "msgpack", "msgpack2"])
def test_V24_objects_that_are_stored_with_their_shape_ignore_the_order(id: str) -> None:
    document = array_v2(dtype="|O", fill_value=None, order="F", filters=[{"id": id}], compressor=None)
    node = model(document)
    assert not any(isinstance(codec, Transpose) for codec in node.codecs)
    assert dumped(node)["order"] == "F"


def test_V24_the_codec_determines_the_type_of_objects() -> None:
    document = array_v2(dtype="|O", fill_value="", filters=[{"id": "vlen-utf8"}])
    node = model(document)
    assert node.data_type.name == "string"
    assert node.codecs == (VlenUtf8(), Zlib(1))
    assert dumped(node) == document
    assert model(array_v2(dtype="|O", fill_value="", filters=[{"id": "vlen-bytes"}])).data_type.name == "bytes"
    assert model(array_v2(dtype="|O", fill_value=0, filters=[{"id": "json2"}])).data_type.name == "object"


@pytest.mark.parametrize("filters", [None, [], [{"id": "shuffle", "elementsize": 4}]])
def test_V24_A56_objects_need_a_codec(filters: Any) -> None:
    document = array_v2(dtype="|O", fill_value=None, filters=filters)
    assert problem_paths(document) == ["$.filters"]
    assert "no codec that turns objects into bytes" in messages(document)


def test_V24_an_object_codec_may_be_the_compressor() -> None:
    document = array_v2(dtype="|O", fill_value="", filters=None, compressor={"id": "vlen-utf8"})
    assert model(document).codecs == (VlenUtf8(),)
    assert dumped(model(document)) == document


@pytest.mark.parametrize("value", ["|O8", "|O4", "O", "|O"])
def test_V24_old_forms_of_object_types(value: str) -> None:
    assert model(array_v2(dtype=value, fill_value="", filters=[{"id": "vlen-utf8"}])).data_type.name == "string"


@pytest.mark.parametrize("separator", [".", "/"])
def test_V25_the_chunk_of_an_array_without_dimensions_has_the_key_0(separator: str) -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=(), dtype="<f8", zarr_format=2, chunk_key_encoding=separator)
    z[...] = 2.5
    assert sorted(store.list()) == [".zarray", "0"]
    assert omnizarr.open_array(store)[()] == 2.5


@pytest.mark.parametrize("compress", [zlib.compress, gzip.compress])
@pytest.mark.parametrize("id", ["gzip", "zlib"])
def test_V30_A49_gzip_may_be_zlib_and_the_reverse(id: str, compress: Any) -> None:
    document = array_v2(shape=[4], chunks=[4], compressor={"id": id, "level": 1})
    z = omnizarr.open_array(store_of(document, c0=compress(chunk(1, 2, 3, 4))), mode="r")
    assert z[...].tolist() == [1, 2, 3, 4]


def test_A52_text_without_a_byte_order_is_little() -> None:
    document = array_v2(dtype="|U3", fill_value="x")
    assert warning_paths(document) == []
    assert model(document).codecs[0] == Bytes("little")
    assert dumped(model(document)) == document


@pytest.mark.parametrize("zarr_format", [2, "3-draft-2020"])
def test_V24_the_codec_of_objects_determines_the_type_of_new_text(zarr_format: Any) -> None:
    array = omnizarr.create_array(
        {}, shape=2, dtype="string", filters=["json2"], zarr_format=zarr_format, **conventions(zarr_format)
    )
    array[...] = ["a", "ü"]
    assert array.dtype == omnizarr.open_array(array.store).dtype == np.dtype(object)
    assert array[...].tolist() == ["a", "ü"]
