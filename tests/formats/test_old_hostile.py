"""Hostile data of v1 and v2: mutated documents, and damaged chunks of every codec, give elements or our own errors."""

from __future__ import annotations

import copy
import json
import tracemalloc
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numcodecs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.old_documents import array_v1, array_v2

import omnizarr
from omnizarr.errors import OmnizarrError, OmnizarrWarning

often = settings(max_examples=max(100, settings().max_examples))

# -- documents


def of_objects(id: str, **changes: Any) -> dict[str, Any]:
    """A `.zarray` of objects."""
    codec = {"id": id} | ({"dtype": "<i4"} if id == "vlen-array" else {})
    return array_v2(dtype="|O", filters=[codec], fill_value=None, compressor={"id": "blosc"}, **changes)


NUMBERS = [
    {"id": "fixedscaleoffset", "offset": 1, "scale": 2, "dtype": "<f8", "astype": "<i4"},
    {"id": "delta", "dtype": "<i4"},
    {"id": "shuffle", "elementsize": 4},
    {"id": "crc32", "location": "end"},
]
LABELS = {"id": "categorize", "labels": ["a", "b"], "dtype": "<U4", "astype": "|u1"}
RAW = {"id": "lzma", "format": 3, "filters": [{"id": 33, "dict_size": 65536}]}
RECORD = [["a", "<i2"], ["b", [["c", ">f4"], ["d", "|S3", [2]]]], ["", "|V3"]]
BLOSC = {"cname": "lz4", "clevel": 1, "shuffle": 1}

DOCUMENTS: list[dict[str, Any]] = [
    array_v2(),
    array_v2("dimension_separator", "filters", "fill_value"),
    *(of_objects(id) for id in ("vlen-utf8", "vlen-bytes", "vlen-array", "json2", "msgpack2", "json", "msgpack")),
    array_v2(dtype=RECORD, fill_value="A" * 20, compressor={"id": "lz4"}, filters=[], order="F"),
    array_v2(dtype="<f8", fill_value="NaN", compressor={"id": "zstd"}, filters=NUMBERS, order="F"),
    array_v2(dtype="|b1", fill_value=True, filters=[{"id": "packbits"}], compressor={"id": "bz2", "level": 1}),
    array_v2(dtype="<M8[ns]", filters=[{"id": "quantize", "digits": 3, "dtype": "<f8"}], compressor=RAW),
    array_v2(dtype="<U4", fill_value="a", filters=[LABELS], compressor={"id": "gzip"}, dimension_separator="/"),
    array_v2(dtype="<f4", compressor={"id": "zfpy", "mode": 4, "tolerance": 0.1}),
    array_v2(dtype="<f4", compressor={"id": "pcodec"}, filters=[{"id": "bitround", "keepbits": 3}]),
    array_v1(),
    array_v1(dtype=[["a", "<i2"]], compression="blosc", compression_opts=BLOSC, fill_value=0, order="F"),
    array_v1(dtype="|S3", compression="lzma", compression_opts={"format": 1, "preset": 1}, fill_value="x"),
]

LENGTHS = [0, 1, 2, 3, 5, 8, 33, 255, 10**6, 10**9, 2**31, 2**62, 2**63, 2**64, 10**400, -1]
WORDS = ["", "x", "NaN", "AAAA", "C", "F", "/", "zlib", "gzip", "lz4", "zstd", "snappy", "start", "utf-16", "\ud800"]
TYPES = ["<i2", ">f8", "|u1", "<c16", "|O", "|S3", "<U4", "|b1", "<M8[s]", "|V5", "|S99999999999", "<U33000000", "<f16"]
IDS = [
    "zlib",
    "delta",
    "pickle",
    "vlen-utf8",
    "base64",
    "crc32c",
    "fletcher32",
    "astype",
    "json2",
    "nobody",
    "packbits",
]
LIKE: dict[type, list[Any]] = {
    int: LENGTHS,
    str: [*WORDS, *TYPES],
    float: [0.0, -0.5, 1e308, float("nan"), float("inf")],
    bool: [True, False],
    list: [[], [0], [1, 2, 3], [[]], [["a", "<i2"]], [["a", "|O"]], *([{"id": id}] for id in IDS)],
    dict: [{}, {"a": 1}, *({"id": id} for id in IDS)],
}
ANYTHING = [None, *(value for values in LIKE.values() for value in values)]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The positions of all values in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, below in items:
        yield (*path, name)
        yield from places(below, (*path, name))


@st.composite
def changed(draw: Any) -> dict[str, Any]:
    """A document with one to three changes: a value is removed, replaced by one of the same or any kind, or nested."""
    document = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 3))):
        *above, name = draw(st.sampled_from(list(places(document))))
        holder: Any = document
        for one in above:
            holder = holder[one]
        how = draw(st.sampled_from(["alike", "alike", "alike", "anything", "missing", "more", "nested"]))
        if how == "missing" and len(document) > 1:
            del holder[name]
        elif how == "more" and isinstance(holder, list):
            holder.insert(name, copy.deepcopy(draw(st.sampled_from(ANYTHING))))
        elif how == "nested":
            for _ in range(draw(st.sampled_from([1, 40, 200]))):
                holder[name] = [holder[name]]
            break
        else:
            values = LIKE.get(type(holder[name]), ANYTHING) if how == "alike" else ANYTHING
            holder[name] = copy.deepcopy(draw(st.sampled_from(values)))
    return document


CHUNKS = [b"", b"[1]", bytes(24), zlib.compress(bytes(24)), zlib.compress(bytes(2**16)), b"\xff" * 40]


def use(store: omnizarr.MemoryStore) -> None:
    """Opens the array and reads a few elements."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OmnizarrWarning)
        try:
            node = omnizarr.open(store)
            repr(node)
            if isinstance(node, omnizarr.Array):
                for side in (slice(0, 1), slice(-1, None)):
                    node[(side,) * len(node.shape)]
            else:
                list(node.members())
        except OmnizarrError:
            pass


@often
@given(document=changed(), chunk=st.sampled_from(CHUNKS))
def test_mutated_array_documents(document: dict[str, Any], chunk: bytes) -> None:
    store = omnizarr.MemoryStore()
    store.set("meta" if "compression" in document else ".zarray", json.dumps(document).encode())
    for key in ("0", "0.0", "0/0"):
        store.set(key, chunk)
    use(store)


TEXTS = st.sampled_from(
    [b"", b"{", b"null", b"[]", b"{}", b'{"a": NaN}', b"\xff", b'"\\ud800"', b"[" * 10**5, b"1" * 5000]
)


@often
@given(key=st.sampled_from([".zarray", ".zgroup", ".zattrs", ".zmetadata", "meta", "attrs"]), text=TEXTS)
def test_invalid_documents(key: str, text: bytes) -> None:
    store = omnizarr.MemoryStore()
    first = "meta" if key in ("meta", "attrs") else ".zarray" if key == ".zarray" else ".zgroup"
    store.set(first, json.dumps(array_v1() if first == "meta" else {"zarr_format": 2}).encode())
    store.set(key, text)
    use(store)


@pytest.mark.parametrize("fill", [7, 1.5, True, "x"])
@pytest.mark.parametrize("dtype", ["|S9999999", "<U2499999", [["a", "<U2499999"], ["b", "<i2"]]])
def test_a_fill_value_needs_no_more_memory_than_a_few_elements(dtype: Any, fill: Any) -> None:
    """NumPy needs 100 times the memory to convert a number to text."""
    store = omnizarr.MemoryStore()
    store.set("meta", json.dumps(array_v1(dtype=dtype, fill_value=fill)).encode())
    assert peak(lambda: use_metadata(store)) < 10 * 10**7


def use_metadata(store: omnizarr.MemoryStore) -> None:
    try:
        omnizarr.open_array(store)
    except OmnizarrError:
        pass


def peak(function: Any) -> int:
    """The peak of additional memory, in bytes, while `function` runs."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# -- chunks


def objects(*values: Any) -> Any:
    array = np.empty(len(values), object)
    for index, value in enumerate(values):
        array[index] = value
    return array


INTEGERS = (np.arange(96, dtype="<i4") // 5).reshape(8, 12)
FLOATS = INTEGERS.astype("<f8") / 4
FLAGS = INTEGERS % 3 == 0
TEXT = objects("abc", "", "ü" * 5, "d")
BYTES = objects(b"abc", b"", b"\xff\0", b"d")
RAGGED = objects(*(np.arange(length, dtype="<i4") for length in range(4)))
ANY = objects("a", 1, 2.5, None, [1, ["x"]], {"k": [True]})
RECORDS = np.array([(True, "ü", [1, 2])] * 4, [("a", "?"), ("b", ">U2"), ("c", "<f4", (2,))])

COMPRESSORS: list[Any] = [
    *(None, "zlib", "gzip", "bz2", "lz4", "zstd", "lzma", "pcodec"),
    {"id": "zstd", "checksum": True},
    {"id": "lzma", "format": 2},
    {"id": "lzma", "format": 3, "filters": [{"id": 33}]},
    {"id": "zfpy", "mode": 4, "tolerance": -1},
    {"id": "zfpy", "mode": 2, "rate": 16},
    *({"id": "blosc", "cname": name, "shuffle": 1} for name in ("lz4", "lz4hc", "blosclz", "zlib", "zstd")),
    *({"id": "blosc", "cname": "lz4", "shuffle": shuffle, "blocksize": 128} for shuffle in (0, 2)),
]
BYTE_FILTERS = ["crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3", "base64", "shuffle"]
FILTERS: list[tuple[Any, Any]] = [
    *((INTEGERS, filter) for filter in BYTE_FILTERS),
    (INTEGERS, {"id": "crc32c", "location": "start"}),
    (INTEGERS, {"id": "delta", "dtype": "<i4"}),
    (INTEGERS, {"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<i4"}),
    (INTEGERS, {"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": "<i4", "astype": "<f4"}),
    (FLOATS, {"id": "quantize", "digits": 3, "dtype": "<f8"}),
    (FLOATS, {"id": "bitround", "keepbits": 9}),
    (FLAGS, "packbits"),
    (np.array(["a", "b"] * 4), {"id": "categorize", "labels": ["a"], "dtype": "<U1"}),
    (TEXT, "vlen-utf8"),
    (BYTES, "vlen-bytes"),
    (RAGGED, {"id": "vlen-array", "dtype": "<i4"}),
    *((ANY, id) for id in ("json2", "json", "msgpack2", "msgpack")),
    (TEXT, {"id": "categorize", "labels": ["abc"], "dtype": "|O"}),
]
CASES: list[tuple[Any, Any, Any]] = [
    *((INTEGERS, None, compressor) for compressor in COMPRESSORS),
    *((data, filter, None) for data, filter in FILTERS),
    *((data, filter, "zlib") for data, filter in FILTERS[::3]),
    # types without a size in the metadata, after every library that could trust a size in the data
    *((TEXT, "vlen-utf8", compressor) for compressor in ("blosc", "lz4", "zstd", "lzma", "bz2", "gzip")),
    *((data, None, None) for data in (FLAGS, RECORDS, np.array(["ab", "ü"]))),
]


def written(data: Any, filter: Any, compressor: Any) -> tuple[omnizarr.MemoryStore, str]:
    """A store with one chunk, and the key of the chunk."""
    store = omnizarr.MemoryStore()
    filters = None if filter is None else [filter]
    options: dict[str, Any] = {"zarr_format": 2, "filters": filters, "compressors": compressor, "chunks": data.shape}
    omnizarr.create_array(store, data=data, dtype=data.dtype, write_empty_chunks=True, **options)
    return store, ".".join("0" * data.ndim)


@st.composite
def damage(draw: Any, data: bytes) -> bytes:
    """Truncated, extended or modified bytes. Modifications at the start matter most."""
    how = draw(st.sampled_from(["cut", "longer", "twice", "changed", "changed", "changed", "without", "length"]))
    at = draw(st.integers(0, min(draw(st.sampled_from([4, 16, 48, 10**6])), len(data) - 1)))
    if how == "cut":
        return data[:at]
    if how == "longer":
        return data + draw(st.binary(min_size=1, max_size=9))
    if how == "twice":
        return data + data
    if how == "without":
        return data[:at] + data[at + draw(st.integers(1, 8)) :]
    if how == "length":
        return data[:at] + draw(st.sampled_from([2**31, 2**32 - 1, 2**24])).to_bytes(4, "little") + data[at + 4 :]
    damaged = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        damaged[at] = draw(st.sampled_from([0, 255, 127, 128, damaged[at] ^ 1, damaged[at] ^ 64]))
        at = draw(st.integers(0, len(data) - 1))
    return bytes(damaged)


def named(value: Any) -> str | None:
    return f"{value.dtype}" if isinstance(value, np.ndarray) else None if isinstance(value, str) else f"{value}"


@pytest.mark.parametrize(("data", "filter", "compressor"), CASES, ids=named)
def test_damaged_chunks(data: Any, filter: Any, compressor: Any) -> None:
    store, key = written(data, filter, compressor)
    stored = bytes(store.get(key) or b"")

    @given(damage(stored))
    def law(damaged: bytes) -> None:
        store.set(key, damaged)
        try:
            elements = omnizarr.open_array(store)[...]
        except OmnizarrError:
            return
        assert elements.shape == data.shape
        repr(elements)

    law()


@pytest.mark.parametrize("id", ["zlib", "gzip", "bz2", "lzma", "lz4", "zstd", "blosc"])
@pytest.mark.parametrize("of_objects", [False, True])
def test_a_decompression_bomb_needs_little_memory(id: str, of_objects: bool) -> None:
    data, filter = (TEXT, "vlen-utf8") if of_objects else (INTEGERS, None)
    store, key = written(data, filter, id)
    store.set(key, bytes(numcodecs.get_codec({"id": id}).encode(bytes(2**24))))
    with omnizarr.config(max_chunk_bytes=2**16):
        array = omnizarr.open_array(store)

        def read() -> None:
            with pytest.raises(OmnizarrError):
                array[...]

        read()  # import modules before measuring
        assert peak(read) < 10 * 2**20  # mostly the dictionary of lzma
