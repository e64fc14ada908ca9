"""Zarr v1: the documents `meta` and `attrs`, and the chunks."""

from __future__ import annotations

import bz2
import json
import lzma
import zlib
from typing import Any

import numcodecs
import numpy as np
import pytest
from tests.formats.old_documents import array_v1, chunk, messages, model, parse, problem_paths, store_of, warning_paths

import omnizarr
from omnizarr.codecs import Blosc, Bytes, Transpose
from omnizarr.codecs.numcodecs_ import Bz2, Lzma, Zlib
from omnizarr.errors import ArgumentError, NodeNotFoundError
from omnizarr.formats import ReadOptions, dialect_for

REQUIRED = ["shape", "chunks", "dtype", "compression", "compression_opts", "fill_value", "order"]
LZMA = {"format": 1, "check": 0, "preset": 1, "filters": None}


def dumped(node: Any) -> Any:
    return dialect_for(1).dump("", node)["meta"]


def meta(store: omnizarr.MemoryStore) -> Any:
    return json.loads(bytes(store.get("meta") or b""))


def test_a_canonical_document_is_read_without_warnings_and_written_back() -> None:
    document = array_v1()
    node, problems = parse(document, {"a": 1})
    assert not problems.warnings
    assert dialect_for(1).dump("", node) == {"meta": document, "attrs": {"a": 1}}  # type: ignore[arg-type]


def test_U1_keys() -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=(3, 3), chunks=(2, 2), dtype="<i2", zarr_format=1)
    z[...] = 1
    z.attrs["a"] = 1
    assert sorted(store.list()) == ["0.0", "0.1", "1.0", "1.1", "attrs", "meta"]
    assert all(key.isascii() for key in store.list())


def test_U1_reading_writing_and_deleting() -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=4, chunks=2, dtype="<i2", zarr_format=1)
    z[...] = [1, 2, 3, 4]
    assert omnizarr.open_array(store)[...].tolist() == [1, 2, 3, 4]
    z[2:] = 0  # the fill value: the chunk is erased
    assert sorted(store.list()) == ["0", "attrs", "meta"]
    z.resize(1)
    assert omnizarr.open_array(store)[...].tolist() == [1]


@pytest.mark.parametrize("name", ["zarr_format", *REQUIRED])
def test_U2_members_are_mandatory(name: str) -> None:
    assert problem_paths(array_v1(name), generation=1) == [f"$.{name}"]


@pytest.mark.parametrize("value", [None, 5, "text", []])
def test_U2_the_document_is_an_object(value: Any) -> None:
    assert problem_paths(value, generation=1) == ["$"]


def test_U2_all_problems_are_reported_at_once_with_their_paths() -> None:
    document = array_v1(
        "fill_value", shape="x", chunks=[0], dtype="|i3", compression="blosc", compression_opts=5, order=1
    )
    assert sorted(problem_paths(document, 5)) == [
        "$(attrs)",
        "$.chunks[0]",
        "$.compression_opts",
        "$.dtype",
        "$.fill_value",
        "$.order",
        "$.shape",
    ]


def test_U3_other_members_are_ignored_and_kept() -> None:
    document = array_v1(filters=[1], x=None)
    assert warning_paths(document) == []
    assert model(document).extra == {"filters": [1], "x": None}
    assert dumped(model(document)) == document


@pytest.mark.parametrize("value", [2, 0, "1", 1.0, True, None])
def test_U4_zarr_format_is_the_integer_1(value: Any) -> None:
    assert problem_paths(array_v1(zarr_format=value)) == ["$.zarr_format"]
    store = omnizarr.MemoryStore()
    store.set("meta", json.dumps(array_v1(zarr_format=value)).encode())
    with pytest.raises(NodeNotFoundError):  # it may be an unrelated file
        omnizarr.open(store)


def test_U5_all_chunks_have_the_same_shape() -> None:
    assert problem_paths(array_v1(chunks=[4])) == ["$.chunks"]
    assert problem_paths(array_v1(chunks=[[2, 2], 3])) in (["$.chunks"], ["$.chunks[0]"])


@pytest.mark.parametrize(
    "value", ["|b1", "|i1", "|u1", "<i2", ">i8", "<u4", "<f2", ">f8", "<c16", "|S12", "<U3", "<M8[s]"]
)
def test_U6_types(value: str) -> None:
    document = array_v1(dtype=value, fill_value=None)
    assert model(document).dtype == np.dtype(value).newbyteorder("=")
    assert dumped(model(document)) == document


@pytest.mark.parametrize("value", ["float64", "<i3", "", None, "|O"])
def test_U6_invalid_types(value: Any) -> None:
    assert problem_paths(array_v1(dtype=value, fill_value=None)) in (["$.dtype"], ["$.filters"])


def test_U6_a_missing_byte_order_is_little_with_a_warning() -> None:
    document = array_v1(dtype="i2", shape=[2], chunks=[2], compression="none", compression_opts=None)
    assert warning_paths(document) == ["$.dtype"]
    assert model(document).codecs == (Bytes("little"),)


def test_U7_records_are_lists_of_pairs() -> None:
    document = array_v1(dtype=[["r", "|u1"], ["g", ">i2"], ["name", "|S4"]], fill_value=None, compression="none")
    document["compression_opts"] = None
    stored = np.array([(1, 258, b"ab")] * 12, [("r", "u1"), ("g", ">i2"), ("name", "S4")])
    z = omnizarr.open_array(store_of(document, c0_0=stored.tobytes()), mode="r")
    assert z[0, 0].tolist() == (1, 258, b"ab")
    assert dumped(model(document)) == document


@pytest.mark.parametrize(
    ("name", "options", "compress", "codec"),
    [
        ("zlib", 1, zlib.compress, Zlib(1)),
        ("bz2", 9, bz2.compress, Bz2(9)),
        ("lzma", LZMA, lzma.compress, Lzma(1, 0, 1, None)),
    ],
)
def test_U8_a_chunk_is_the_output_of_the_compressor_without_a_header(
    name: str, options: Any, compress: Any, codec: Any
) -> None:
    document = array_v1(shape=[4], chunks=[4], compression=name, compression_opts=options)
    assert model(document).codecs == (Bytes("little"), codec)
    assert dumped(model(document)) == document
    store = store_of(document, c0=compress(chunk(1, 2, 3, 4)))
    z = omnizarr.open_array(store)
    assert z[...].tolist() == [1, 2, 3, 4]
    z[...] = [5, 6, 7, 8]
    decompress = {"zlib": zlib.decompress, "bz2": bz2.decompress, "lzma": lzma.decompress}[name]
    assert decompress(bytes(store.get("0") or b"")) == chunk(5, 6, 7, 8)


def test_U8_blosc() -> None:
    options = {"cname": "blosclz", "clevel": 5, "shuffle": 2}
    document = array_v1(compression="blosc", compression_opts=options, shape=[4], chunks=[4])
    assert model(document).codecs[-1] == Blosc("blosclz", 5, "bitshuffle")
    assert dumped(model(document)) == document
    theirs = numcodecs.Blosc("blosclz", 5, 2)
    store = store_of(document, c0=bytes(theirs.encode(np.arange(4, dtype="<i2"))))
    z = omnizarr.open_array(store)
    assert z[...].tolist() == [0, 1, 2, 3]
    z[...] = [5, 6, 7, 8]
    assert bytes(theirs.decode(store.get("0"))) == chunk(5, 6, 7, 8)


@pytest.mark.parametrize(("shape", "key"), [((3,), "1"), ((3, 3), "1.1"), ((3, 3, 3), "1.1.1")])
def test_U9_keys_of_chunks(shape: tuple[int, ...], key: str) -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=shape, chunks=(2,) * len(shape), dtype="i1", zarr_format=1)
    z[(2,) * len(shape)] = 1
    assert sorted(store.list()) == [key, "attrs", "meta"]


@pytest.mark.parametrize("keys", ["/", "default", {"name": "v2", "separator": "/"}])
def test_U9_other_chunk_keys_are_rejected(keys: Any) -> None:
    with pytest.raises(ArgumentError, match=r"keys such as `0\.0`"):
        omnizarr.create_array(shape=3, dtype="i1", zarr_format=1, chunk_key_encoding=keys)


def test_U10_a_missing_chunk_contains_the_fill_value() -> None:
    assert (omnizarr.open_array(store_of(array_v1()), mode="r")[...] == 7).all()
    z = omnizarr.open_array(store_of(array_v1(fill_value=None)), mode="r")
    assert z.fill_value is None
    assert z[...].shape == (10, 6)


def test_U11_the_part_outside_the_array_has_no_meaning() -> None:
    document = array_v1(shape=[3], chunks=[2])
    store = store_of(document, c1=zlib.compress(chunk(5, -1)))
    assert omnizarr.open_array(store)[...].tolist() == [7, 7, 5]


def test_U12_attributes_are_an_object_and_always_written() -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=3, dtype="i1", zarr_format=1)
    assert json.loads(bytes(store.get("attrs") or b"")) == {}
    z.attrs["a"] = [1]
    assert json.loads(bytes(store.get("attrs") or b"")) == {"a": [1]}
    del z.attrs["a"]
    assert json.loads(bytes(store.get("attrs") or b"")) == {}
    assert problem_paths(array_v1(), [1]) == ["$(attrs)"]


def test_U12_U15_missing_attributes_are_empty() -> None:
    z = omnizarr.open_array(store_of(array_v1()))
    assert z.attrs.asdict() == {}


@pytest.mark.parametrize("value", [None, "A", "c", 1])
def test_U13_order_is_C_or_F(value: Any) -> None:
    assert problem_paths(array_v1(order=value)) == ["$.order"]


@pytest.mark.parametrize(("order", "elements"), [("C", (1, 2, 3, 4, 5, 6)), ("F", (1, 4, 2, 5, 3, 6))])
def test_U13_C_is_row_major_and_F_column_major_with_blosc(order: str, elements: tuple[int, ...]) -> None:
    options = {"cname": "lz4", "clevel": 5, "shuffle": 1}
    document = array_v1(compression="blosc", compression_opts=options, order=order, shape=[2, 3], chunks=[2, 3])
    assert warning_paths(document) == []
    first = (Transpose((1, 0)),) if order == "F" else ()
    assert model(document).codecs == (*first, Bytes("little"), Blosc("lz4", 5, "shuffle"))
    assert dumped(model(document)) == document
    theirs = numcodecs.Blosc("lz4", 5, 1)
    store = store_of(document, c0_0=bytes(theirs.encode(np.array(elements, "<i2"))))
    z = omnizarr.open_array(store)
    assert z[...].tolist() == [[1, 2, 3], [4, 5, 6]]
    z[...] = z[...] * 10
    assert bytes(theirs.decode(store.get("0.0"))) == chunk(*(10 * element for element in elements))


@pytest.mark.parametrize(
    ("name", "options", "place"),
    [
        ("zlib", "one", "$.compression_opts"),
        ("zlib", "{}", "$.compression_opts"),
        ("zlib", "1" * 2000, "$.compression_opts"),
        ("blosc", "lz4", "$.compression_opts"),
        ("zlib", 1.5, "$.compression_opts"),
        ("zlib", 10, "$.compression_opts.level"),
        ("bz2", {}, "$.compression_opts"),
        ("bz2", 0, "$.compression_opts.level"),
        ("blosc", [], "$.compression_opts"),
        ("blosc", {"cname": "lz9"}, "$.compression_opts.cname"),
        ("blosc", {"cname": "lz4", "clevel": 10, "shuffle": 1}, "$.compression_opts.clevel"),
        ("lzma", 1, "$.compression_opts"),
        ("lz77", None, "$.compression"),
        (5, None, "$.compression"),
    ],
)
def test_U14_options_depend_on_the_compressor(name: Any, options: Any, place: str) -> None:
    paths = problem_paths(array_v1(compression=name, compression_opts=options))
    assert paths == [place] or (place.endswith("level") and paths == ["$.compression_opts"])


@pytest.mark.parametrize(
    ("name", "options", "meaning"),
    [
        *(("zlib", "3", 3), ("zlib", None, 1), ("zlib", "", 1), ("gzip", "null", 1), ("bz2", "None", 1)),
        ("blosc", None, {"cname": "lz4", "clevel": 5, "shuffle": 1}),
        ("blosc", '{"cname": "zlib", "clevel": 2, "shuffle": 0}', {"cname": "zlib", "clevel": 2, "shuffle": 0}),
        ("blosc", {"cname": "zlib", "clevel": "2", "shuffle": "BIT"}, {"cname": "zlib", "clevel": 2, "shuffle": 2}),
        ("lzma", None, {"preset": None}),
    ],
)
def test_U14_options_as_text_and_null(name: str, options: Any, meaning: Any) -> None:
    codec = model(array_v1(compression=name, compression_opts=options)).codecs[-1]
    assert codec == model(array_v1(compression=name, compression_opts=meaning)).codecs[-1]


@pytest.mark.parametrize("value", [None, "none"])
def test_U15_no_compression(value: Any) -> None:
    document = array_v1(compression=value, compression_opts=None, shape=[2], chunks=[2])
    assert model(document).codecs == (Bytes("little"),)
    assert dumped(model(document)) == document
    assert omnizarr.open_array(store_of(document, c0=chunk(1, 2)))[...].tolist() == [1, 2]


def test_U15_gzip_is_an_alias_of_zlib() -> None:
    document = array_v1(compression="gzip")
    assert model(document).codecs[-1] == Zlib(1)
    assert dumped(model(document)) == document


@pytest.mark.parametrize(("token", "value"), [(b"NaN", np.nan), (b"Infinity", np.inf), (b"-Infinity", -np.inf)])
def test_U15_A60_bare_tokens_are_read_and_written_as_text(token: bytes, value: float) -> None:
    store = omnizarr.MemoryStore()
    text = json.dumps(array_v1(dtype="<f4", fill_value="here")).encode().replace(b'"here"', token)
    store.set("meta", text)
    z = omnizarr.open_array(store)
    assert np.array_equal(z.fill_value, value, equal_nan=True)
    z.resize(5, 5)
    assert meta(store)["fill_value"] == token.decode()


@pytest.mark.parametrize("name", ["zlib", "bz2", "none"])
def test_U16_A55_F_without_blosc_is_read_in_C_order_with_one_warning(name: str) -> None:
    document = array_v1(shape=[2, 3], chunks=[2, 3], compression=name, compression_opts=None, order="F")
    compress = {"zlib": zlib.compress, "bz2": bz2.compress, "none": bytes}[name]
    store = store_of(document, c0_0=compress(chunk(1, 2, 3, 4, 5, 6)))
    with pytest.warns(omnizarr.OmnizarrWarning, match=r'\$\.order: .*v1_f_order="document"') as caught:
        z = omnizarr.open_array(store)
    assert len(caught) == 1
    assert z[...].tolist() == [[1, 2, 3], [4, 5, 6]]
    z = omnizarr.open_array(store, v1_f_order="document")
    assert z[...].tolist() == [[1, 3, 5], [2, 4, 6]]


@pytest.mark.parametrize("how", ["written", "document"])
def test_U16_writing_into_such_an_array_keeps_its_order(how: Any) -> None:
    document = array_v1(order="F")
    node = model(document, read_options=ReadOptions(v1_f_order=how))
    assert dumped(node) == document
    assert dialect_for(1).losses("", node) == []


@pytest.mark.filterwarnings("error")
def test_U16_order_has_no_effect_on_one_dimension() -> None:
    document = array_v1(shape=[4], chunks=[4], order="F")
    assert warning_paths(document) == []
    assert dumped(model(document)) == document
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=3, dtype="i1", order="F", zarr_format=1, compressors=None)
    assert meta(store)["order"] == "F"
    omnizarr.open_array(store)


def test_U16_F_is_written_with_blosc_only() -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=(2, 3), dtype="<i2", order="F", zarr_format=1)
    z[...] = [[1, 2, 3], [4, 5, 6]]
    assert meta(store)["order"] == "F"
    assert omnizarr.open_array(store)[...].tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(ArgumentError, match="F order only with blosc"):
        omnizarr.create_array(shape=(2, 3), dtype="<i2", order="F", zarr_format=1, compressors="zlib")


def test_messages_say_what_was_expected_and_found() -> None:
    assert messages(array_v1(order="A")) == 'expected "C" or "F", found "A"'
