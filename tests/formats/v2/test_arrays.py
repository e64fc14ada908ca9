"""Array documents of v2."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.old_documents import array_v2, messages, model, parse, problem_paths, store_of, warning_paths

import omnizarr
from omnizarr.chunk_keys import V2Keys as Keys
from omnizarr.codecs import Blosc, Bytes, Crc32c, Gzip, StoredBytes, Zstd
from omnizarr.codecs.numcodecs_ import Zlib
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


@pytest.mark.parametrize("value", [None, "10", [-1, 6], [1.0, 6], [True, 6], [2**63, 6], {}])
def test_V1_shape_is_a_list_of_integers_of_at_least_0(value: Any) -> None:
    assert problem_paths(array_v2(shape=value)) == ["$.shape"]


@pytest.mark.parametrize("value", [None, 10, [4], [4, 3, 1], [0, 3], [-4, 3], [4.0, 3], ["4", 3]])
def test_V1_chunks_is_a_list_of_as_many_integers(value: Any) -> None:
    assert problem_paths(array_v2(chunks=value)) in (["$.chunks"], ["$.chunks[0]"])


@pytest.mark.parametrize("value", [None, "A", 1, ["C"]])
def test_V1_order_is_C_or_F(value: Any) -> None:
    assert problem_paths(array_v2(order=value)) == ["$.order"]


@pytest.mark.parametrize(
    ("odd", "usual"),
    [
        ({"order": "f"}, {"order": "F"}),
        ({"shape": 10, "chunks": 4}, {"shape": [10], "chunks": [4]}),
        ({"filters": {}}, {"filters": None}),
        ({"dtype": "float32"}, {"dtype": "<f4"}),
        ({"dtype": "uint8"}, {"dtype": "|u1"}),
    ],
    ids=str,
)
def test_V1_spellings_of_other_writers_are_read_with_a_warning(odd: dict[str, Any], usual: dict[str, Any]) -> None:
    assert warning_paths(array_v2(**odd)) == [f"$.{name}" for name in odd]
    assert dumped(model(array_v2(**odd))) == dumped(model(array_v2(**usual)))


@pytest.mark.parametrize("odd", [{"level": 5.0}, {"level": "5"}, {"level": None}])
def test_V3_numbers_of_codecs_in_other_spellings(odd: dict[str, Any]) -> None:
    level = {"5": 5, "N": 1}[str(odd["level"])[0]]
    codec = model(array_v2(compressor={"id": "zlib"} | odd)).codecs[-1]
    assert isinstance(codec, Zlib)
    assert codec.level == level


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


def test_V3_an_unknown_compressor_is_rejected_with_the_nearest_name() -> None:
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


@pytest.mark.parametrize("value", ["i2", "<i3", "<f3", "<a2", "float80", "<i2x", "", None, 5, {}, "<i2,<i2", "|S0"])
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
    elements = omnizarr.open_array(store_of(document, c0_0=stored.tobytes()), mode="r")[:4, :3]
    assert elements.dtype.names == stored.dtype.names
    for name in elements.dtype.names or ():
        assert (elements[name].reshape(-1) == stored[name].reshape(-1)).all()


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


@pytest.mark.parametrize("document", [array_v2("filters"), array_v2(filters=[]), array_v2("fill_value")])
def test_V26_members_that_writers_omit(document: Any) -> None:
    node = model(document)
    assert warning_paths(document) == []
    assert node.codecs == (Bytes("little"), Zlib(1))
    assert (node.fill is None) == ("fill_value" not in document)


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


def test_A61_pickles_are_rejected_with_their_path() -> None:
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
