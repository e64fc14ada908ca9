"""Array documents of v2, and their meaning for chunks."""

from __future__ import annotations

import gzip
import itertools
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.old_documents import array_v2, chunk, messages, model, parse, problem_paths, store_of, warning_paths

import omnizarr
from omnizarr.chunk_keys import V2Keys as Keys
from omnizarr.codecs import Blosc, Bytes, Crc32c, Gzip, StoredBytes, Transpose, VlenUtf8, Zstd
from omnizarr.codecs.numcodecs_ import Delta, FilterOnBytes, Shuffle, Zlib
from omnizarr.errors import MetadataError
from omnizarr.formats import dialect_for

REQUIRED = ["shape", "chunks", "dtype", "compressor", "order"]


def dumped(node: Any) -> Any:
    return dialect_for(2).dump("", node)[".zarray"]


def test_a_canonical_document_is_read_without_warnings_and_written_back() -> None:
    document = array_v2()
    node, problems = parse(document)
    assert not problems.warnings
    assert dumped(node) == document


@pytest.mark.parametrize("value", [None, 3, "text", [], [array_v2()]])
def test_V1_a_document_is_an_object(value: Any) -> None:
    assert problem_paths(value) == ["$"]


@pytest.mark.parametrize("value", [1, 3, 2.0, "2", None, True])
def test_V1_zarr_format_is_the_integer_2(value: Any) -> None:
    assert problem_paths(array_v2(zarr_format=value)) == ["$.zarr_format"]


@pytest.mark.parametrize("name", ["zarr_format", *REQUIRED])
def test_V1_members_are_mandatory(name: str) -> None:
    assert problem_paths(array_v2(name)) == [f"$.{name}"]


@pytest.mark.parametrize("value", [None, 10, "10", [-1, 6], [1.0, 6], [True, 6], [2**63, 6], {}])
def test_V1_shape_is_a_list_of_integers_of_at_least_0(value: Any) -> None:
    assert problem_paths(array_v2(shape=value)) == ["$.shape"]


@pytest.mark.parametrize("value", [None, 10, [4], [4, 3, 1], [0, 3], [-4, 3], [4.0, 3], ["4", 3]])
def test_V1_chunks_is_a_list_of_as_many_integers(value: Any) -> None:
    assert problem_paths(array_v2(chunks=value)) in (["$.chunks"], ["$.chunks[0]"])


@pytest.mark.parametrize("value", [None, "c", "A", 1, ["C"]])
def test_V1_order_is_C_or_F(value: Any) -> None:
    assert problem_paths(array_v2(order=value)) == ["$.order"]


def test_all_problems_are_reported_at_once_with_their_paths() -> None:
    document = array_v2(
        "chunks",
        zarr_format=3,
        shape=[-1],
        dtype="<q9",
        compressor={"level": 1},
        filters=[{"id": "delta"}, 5],
        order="A",
        dimension_separator="-",
    )
    assert sorted(problem_paths(document, [])) == [
        "$(.zattrs)",
        "$.chunks",
        "$.compressor.id",
        "$.dimension_separator",
        "$.dtype",
        "$.filters[0]",
        "$.filters[1]",
        "$.order",
        "$.shape",
        "$.zarr_format",
    ]


def test_V2_unknown_members_are_ignored_and_kept() -> None:
    document = array_v2(x={"a": [None]}, must_understand=True)
    node = model(document)
    assert warning_paths(document) == []
    assert node.extra == {"x": {"a": [None]}, "must_understand": True}
    assert dumped(node) == document


@pytest.mark.parametrize("value", ["zlib", 1, [], {}, {"level": 1}, {"id": 5}])
def test_V3_compressor_is_null_or_an_object_with_an_id(value: Any) -> None:
    assert problem_paths(array_v2(compressor=value)) in (["$.compressor"], ["$.compressor.id"])


def test_V3_no_compressor_is_null() -> None:
    node = model(array_v2(compressor=None))
    assert node.codecs == (Bytes("little"),)
    assert dumped(node)["compressor"] is None


def test_V3_an_unknown_compressor_is_refused_with_the_nearest_name() -> None:
    _, problems = parse(array_v2(compressor={"id": "zlip"}))
    assert [(problem.path, problem.hint) for problem in problems.found] == [("$.compressor.id", "did you mean `zlib`?")]


def test_V3_problems_of_a_compressor_have_its_path() -> None:
    assert problem_paths(array_v2(compressor={"id": "zlib", "level": 77})) == ["$.compressor.level"]
    assert problem_paths(array_v2(compressor={"id": "blosc", "cname": "lz5"})) == ["$.compressor.cname"]


@pytest.mark.parametrize(
    ("config", "codec"),
    [
        ({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}, Blosc("lz4", 5, "shuffle")),
        ({"id": "zstd", "level": 3}, Zstd(3)),
        ({"id": "gzip", "level": 1}, Gzip(1)),
        ({"id": "zlib", "level": 2}, Zlib(2)),
        ({"id": "crc32c"}, Crc32c()),
    ],
)
def test_V3_a_compressor_becomes_the_codec_with_the_same_bytes(config: dict[str, Any], codec: Any) -> None:
    document = array_v2(compressor=config)
    assert model(document).codecs[-1] == codec
    assert dumped(model(document)) == document


@pytest.mark.parametrize("value", [5, "delta", {"id": "delta"}])
def test_V4_filters_is_null_or_a_list(value: Any) -> None:
    assert problem_paths(array_v2(filters=value)) == ["$.filters"]


def test_V4_problems_of_a_filter_have_its_path() -> None:
    filters = [{"id": "delta", "dtype": "<i2"}, "shuffle", {"id": "shuffel"}, {"id": "delta", "dtype": "<i3"}]
    assert problem_paths(array_v2(filters=filters)) == ["$.filters[1]", "$.filters[2].id", "$.filters[3].dtype"]


def test_V4_a_filter_that_does_not_fit_is_reported_at_its_path() -> None:
    assert problem_paths(array_v2(filters=[{"id": "delta", "dtype": "<i4"}])) == ["$.filters[0]"]
    assert problem_paths(array_v2(dtype="|b1", fill_value=True, compressor={"id": "pcodec"})) == ["$.compressor"]


@pytest.mark.parametrize("value", ["", "-", 1, ["/"], True])
def test_V5_dimension_separator_is_a_dot_or_a_slash(value: Any) -> None:
    assert problem_paths(array_v2(dimension_separator=value)) == ["$.dimension_separator"]


@pytest.mark.parametrize("value", [".", "/"])
def test_V5_values_of_the_separator(value: str) -> None:
    node = model(array_v2(dimension_separator=value))
    assert node.chunk_keys == Keys(value)
    assert not node.guessed_keys
    assert dumped(node)["dimension_separator"] == value


@pytest.mark.parametrize("document", [array_v2("dimension_separator"), array_v2(dimension_separator=None)])
def test_V5_the_default_separator_is_a_dot(document: Any) -> None:
    assert model(document).chunk_keys == Keys(".")
    assert "dimension_separator" not in dumped(model(document))


@pytest.mark.parametrize(
    ("separator", "keys"), [(".", ["0.0", "0.1", "1.0", "1.1"]), ("/", ["0/0", "0/1", "1/0", "1/1"])]
)
def test_V6_V12_keys_of_chunks(separator: str, keys: list[str]) -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(
        store, shape=(4, 4), chunks=(2, 2), dtype="i1", zarr_format=2, chunk_key_encoding=separator
    )
    z[...] = 1
    assert sorted(key for key in store.list() if key[0] != ".") == keys
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=4, chunks=2, dtype="i1", zarr_format=2, chunk_key_encoding=separator)[...] = 1
    assert sorted(key for key in store.list() if key[0] != ".") == ["0", "1"]


@pytest.mark.parametrize("separator", [".", "/"])
def test_V6_chunks_with_slashes_lie_in_directories(separator: str, tmp_path: Path) -> None:
    omnizarr.create_array(
        tmp_path, data=np.ones((2, 2)), chunks=(1, 1), chunk_key_encoding=separator, compressors=None, zarr_format=2
    )
    assert (tmp_path / f"1{separator}0").read_bytes() == np.ones(1).tobytes()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == (["0", "1"] if separator == "/" else [])


@pytest.mark.parametrize("value", ["i2", "<i3", "<f3", "<a2", "float64", "<i2x", "", None, 5, {}, "<i2,<i2", "|S0"])
def test_V7_dtype_is_a_typestring(value: Any) -> None:
    if value == "i2":
        assert warning_paths(array_v2(dtype=value)) == ["$.dtype"]
    else:
        assert problem_paths(array_v2(dtype=value)) == ["$.dtype"]


@pytest.mark.parametrize(
    "value", ["|b1", "|i1", "|u1", "<i2", ">i4", "<i8", ">u2", "<u4", "<u8", "<f2", ">f4", "<f8", "<c8", ">c16"]
)
def test_V7_numbers(value: str) -> None:
    fill: Any = False if value == "|b1" else [1.0, 0.0] if "c" in value else 1
    document = array_v2(dtype=value, fill_value=fill)
    node = model(document)
    assert node.dtype == np.dtype(value).newbyteorder("=")
    assert warning_paths(document) == []
    assert dumped(node) == document


@pytest.mark.parametrize("value", ["<M8", "<m8", "<M8[foo]", "<M8[0s]"])
def test_V8_times_need_a_unit(value: str) -> None:
    assert problem_paths(array_v2(dtype=value, fill_value=0)) == ["$.dtype"]


@pytest.mark.parametrize("value", ["<M8[ns]", ">m8[10us]", "<M8[D]"])
def test_V8_times(value: str) -> None:
    document = array_v2(dtype=value, fill_value=5)
    assert model(document).dtype == np.dtype(value).newbyteorder("=")
    assert dumped(model(document)) == document


RECORDS: list[Any] = [
    [["a", "<i2"], ["b", "|S3"]],
    [["a", "<i2"], ["b", ">f4"]],
    [["a", "<i2", [2]], ["b", "<f4", [2, 1]]],
    [["a", [["x", "<i4"], ["y", "|u1"]]], ["b", "<M8[s]"]],
    [["a", "|i1"], ["", "|V3"], ["b", "<i4"]],
]


@pytest.mark.parametrize("value", RECORDS)
def test_V9_records(value: Any) -> None:
    document = array_v2(dtype=value, fill_value=None, compressor=None)
    node = model(document)
    assert dumped(node) == document
    stored = np.zeros(12, _dtype(value))
    stored["a"] = np.ones((), stored.dtype["a"].base)
    found = omnizarr.open_array(store_of(document, c0_0=stored.tobytes()), mode="r")[:4, :3]
    assert found.dtype.names == stored.dtype.names
    for name in found.dtype.names or ():
        assert (found[name].reshape(-1) == stored[name].reshape(-1)).all()


def _dtype(value: Any) -> np.dtype[Any]:
    """A record dtype of NumPy; padding is a field of its own."""
    fields: list[Any] = []
    for name, kind, *shape in value:
        inner: Any = _dtype(kind) if isinstance(kind, list) else np.dtype(kind)
        fields.append((name, np.dtype((inner, tuple(shape[0]))) if shape else inner))
    offsets = [0, *itertools.accumulate(kind.itemsize for _, kind in fields)]
    named = [(name, kind, offset) for (name, kind), offset in zip(fields, offsets, strict=False) if name]
    names, formats, places_ = zip(*named, strict=True)
    return np.dtype({"names": list(names), "formats": list(formats), "offsets": list(places_), "itemsize": offsets[-1]})


@pytest.mark.parametrize(
    "value",
    [[], [["a"]], [["a", "<i2", "x"]], [[1, "<i2"]], [["a", "<i2"], ["a", "<i2"]], [["a", "|O2"]], [["", "<i2"]]],
)
def test_V9_invalid_records(value: Any) -> None:
    assert problem_paths(array_v2(dtype=value, fill_value=None))[0].startswith("$.dtype")


def test_V9_mixed_byte_orders_are_stored_as_they_are() -> None:
    node = model(array_v2(dtype=RECORDS[1], fill_value=None))
    assert isinstance(node.codecs[0], StoredBytes)


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


def test_V15_a_filter_of_another_byte_order_is_refused() -> None:
    document = array_v2(dtype="<i2", filters=[{"id": "delta", "dtype": ">i2"}])
    assert problem_paths(document) == ["$.filters[0]"]
    assert "another byte order" in messages(document)


def test_V15_big_endian_filters() -> None:
    document = array_v2(dtype=">i2", filters=[{"id": "delta", "dtype": ">i2", "astype": ">i2"}])
    assert model(document).codecs[:2] == (Delta(">i2"), Bytes("big"))
    assert dumped(model(document)) == document
    document = array_v2(dtype="<i2", filters=[{"id": "delta", "dtype": "<i2", "astype": ">i4"}], compressor=None)
    stored = np.array([5, 1] * 6, ">i4").tobytes()
    found = omnizarr.open_array(store_of(document, c0_0=stored), mode="r")[0]
    assert found.tolist() == [5, 6, 11, 7, 7, 7]


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


@pytest.mark.parametrize("document", [array_v2("filters"), array_v2(filters=[]), array_v2("fill_value")])
def test_V26_members_that_writers_omit(document: Any) -> None:
    node = model(document)
    assert warning_paths(document) == []
    assert node.codecs == (Bytes("little"), Zlib(1))
    assert (node.fill is None) == ("fill_value" not in document)


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


def test_A57_the_separator_is_always_written() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=3, dtype="i1", zarr_format=2)
    assert json.loads(bytes(store.get(".zarray") or b""))["dimension_separator"] == "."


def test_A60_bare_tokens_are_read_and_kept_but_never_created() -> None:
    store = omnizarr.MemoryStore()
    store.set(".zarray", json.dumps(array_v2(dtype="<f4", fill_value=float("nan"))).encode())
    store.set(".zattrs", b'{"a": NaN, "b": [-Infinity]}')
    z = omnizarr.open_array(store)
    assert np.isnan(z.fill_value)
    assert np.isnan(z.attrs["a"])
    z.attrs["c"] = 1
    assert b"NaN" in bytes(store.get(".zattrs") or b"")
    z.resize(5, 5)
    assert json.loads(bytes(store.get(".zarray") or b""))["fill_value"] == "NaN"
    with pytest.raises(omnizarr.OmnizarrError):
        z.attrs["d"] = float("nan")


@pytest.mark.parametrize("zarr_format", [1, 2])
def test_documents_are_ASCII(zarr_format: Any) -> None:
    """zarr-python 1 and early versions of 2 read nothing else."""
    store = omnizarr.MemoryStore()
    options: dict[str, Any] = {"fill_value": "ü", "attributes": {"größe": "\U0001f600"}, "zarr_format": zarr_format}
    omnizarr.create_array(store, shape=3, dtype="<U1", **options)
    for key in store.list():
        assert bytes(store.get(key) or b"").isascii()
    z = omnizarr.open_array(store)
    assert z.attrs.asdict() == {"größe": "\U0001f600"}
    assert z.fill_value == "ü"


def test_A61_pickles_are_refused_with_their_path() -> None:
    document = array_v2(dtype="|O", fill_value=None, filters=[{"id": "pickle", "protocol": 4}])
    assert problem_paths(document) == ["$.filters[0]"]
    assert "allow_pickle=True" in messages(document)
    store = store_of(document)
    with pytest.raises(MetadataError, match=r"\$\.filters\[0\]: codec `pickle` can execute arbitrary code"):
        omnizarr.open_array(store)
    z = omnizarr.open_array(store, allow_pickle=True)
    z[0] = {"a": [1]}
    assert omnizarr.open_array(store, allow_pickle=True)[0, 0] == {"a": [1]}


def test_unchanged_members_are_written_back_verbatim() -> None:
    store = omnizarr.MemoryStore()
    text = json.dumps(array_v2(dtype="|S3", fill_value="YQ=="), indent=7).encode()
    store.set(".zarray", text)
    store.set(".zattrs", b"{}")
    z = omnizarr.open_array(store)
    z.attrs["a"] = 1
    assert bytes(store.get(".zarray") or b"") == text
    store.set(".zattrs", b"{ }")
    z.resize(5, 5)
    assert bytes(store.get(".zattrs") or b"") == b"{ }"
    assert json.loads(bytes(store.get(".zarray") or b""))["shape"] == [5, 5]
