"""The oracle of the draft of December 2022 is consistent, and agrees with every example of the specification."""

from __future__ import annotations

import gzip
import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.oracles.draft_2022 import (
    ABSENT,
    CORE_TYPES,
    DATETIME,
    SHARDING_OF_THE_EXAMPLE,
    STRUCT,
    DraftError,
    MappingStore,
    Node,
    ShardingTransformer,
    blosc_codec,
    chunk_identifier,
    chunk_store,
    data_prefix,
    data_type_of,
    describe,
    encode_chunk,
    endian_codec,
    fill_value_of,
    gzip_codec,
    load_directory,
    metadata_key,
    pack_shards,
    parse_fill_value,
    read_array,
    read_hierarchy,
    sharding,
    store_directory,
    write_array,
    write_entry_point,
    write_group,
)

# ---------------------------------------------------------------------------------------------------------------------
# Round trips
# ---------------------------------------------------------------------------------------------------------------------

SCALARS = [np.dtype(text) for text in CORE_TYPES.values()]
SCALARS += [np.dtype(text) for text in ("V1", "V3", "<M8[ns]", ">M8[D]", "<m8[s]", ">m8[as]", "S3", "<U2", ">U2")]
STRUCTS = [
    np.dtype([("name", "<U10"), ("age", "<i4"), ("weight", "<f4")]),
    np.dtype([("a", "?"), ("b", ">c8"), ("c", "V3"), ("d", "S2"), ("e", ">M8[s]")]),
]
ASCII = st.characters(max_codepoint=127, exclude_characters="\0")
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


def scalars(dtype):
    """Elements as arrays without dimensions, with any bits if all bits have a meaning."""
    if dtype.names is not None:
        parts = st.tuples(*(scalars(dtype[name]) for name in dtype.names))
        return parts.map(lambda found: struct_element(dtype, found))
    if dtype.kind == "b":
        return st.booleans().map(np.array)
    if dtype.kind in "SU":
        size = dtype.itemsize // (4 if dtype.kind == "U" else 1)
        texts = st.text(LETTERS if dtype.kind == "U" else ASCII, max_size=size)
        return texts.map(lambda text: np.array(text, dtype=dtype))
    bits = st.binary(min_size=dtype.itemsize, max_size=dtype.itemsize)
    return bits.map(lambda data: np.frombuffer(data, dtype=dtype).reshape(()))


def struct_element(dtype, parts):
    found = np.zeros((), dtype=dtype)
    for name, part in zip(dtype.names, parts, strict=True):
        found[name] = part
    return found


dtypes = st.sampled_from(SCALARS + STRUCTS)
codec_lists = st.tuples(
    st.sampled_from([[], [endian_codec("big")], [endian_codec("little")]]),
    st.lists(
        st.sampled_from(
            [gzip_codec(0), gzip_codec(6), blosc_codec(), blosc_codec("zstd", 3, -1), blosc_codec(shuffle=2)]
        ),
        max_size=2,
    ),
).map(lambda parts: parts[0] + parts[1])


def same_bits(one, other):
    little = one.dtype.newbyteorder("<")
    return one.shape == other.shape and one.astype(little).tobytes() == other.astype(little).tobytes()


@given(st.data())
def test_arrays_are_read_as_written(data):
    dtype = data.draw(dtypes)
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
    chunk_shape = tuple(data.draw(st.integers(min(length, 1), 4)) for length in shape)
    fill, other = data.draw(scalars(dtype)), data.draw(scalars(dtype))
    array = np.broadcast_to(fill, shape).copy()
    array[data.draw(hnp.arrays(bool, shape))] = other
    transformers = [
        sharding(data.draw(st.tuples(*(st.integers(1, 3) for _ in shape)))) for _ in range(data.draw(st.integers(0, 2)))
    ]
    options = {
        "separator": data.draw(st.sampled_from("/.")),
        "layout": data.draw(st.sampled_from("CF")),
        "codecs": data.draw(codec_lists),
        "omit_empty_chunks": data.draw(st.booleans()),
    }
    path = data.draw(st.sampled_from(["/", "/a", "/a/b.c/_"]))
    store = {}
    write_entry_point(store)
    write_array(
        store,
        path,
        array,
        chunk_shape=chunk_shape,
        fill_value=fill_value_of(fill, dtype),
        storage_transformers=transformers,
        shard_backwards=data.draw(st.booleans()),
        shard_gap=data.draw(st.binary(max_size=3)),
        **options,
    )
    assert same_bits(read_array(store, path), array)

    found = describe(store, path)
    assert (found.shape, found.chunk_shape) == (shape, chunk_shape)
    assert {"separator": found.separator, "layout": found.layout, "codecs": found.codecs} == {
        key: options[key] for key in ("separator", "layout", "codecs")
    }
    assert found.fallback is None
    assert same_bits(found.fill_element, fill)


@given(st.data())
def test_fill_values_keep_their_bits(data):
    dtype = data.draw(dtypes)
    element = data.draw(scalars(dtype))
    value = json.loads(json.dumps(fill_value_of(element, dtype), allow_nan=False))
    assert same_bits(parse_fill_value(value, dtype), element)


names = st.text("aZ0-_.", min_size=1, max_size=3).filter(lambda name: name.strip("."))
paths = st.lists(names, max_size=3).map(lambda parts: "/" + "/".join(parts))


@given(st.sets(paths, max_size=5))
def test_groups_are_found_with_all_groups_above_them(explicit):
    store = {}
    write_entry_point(store)
    for path in explicit:
        write_group(store, path, {"path": path})
    expected = {path: Node("group", True, {"path": path}) for path in explicit}
    for path in explicit:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            expected.setdefault("/".join(parts[:depth]) or "/", Node("group", False, {}))
    assert read_hierarchy(store) == expected


@given(st.data())
def test_the_transformer_lists_the_chunks_that_it_contains(data):
    dimensions = data.draw(st.integers(0, 3))
    counts = data.draw(st.tuples(*(st.integers(1, 3) for _ in range(dimensions))))
    separator = data.draw(st.sampled_from("/."))
    indices = st.tuples(*(st.integers(0, 4) for _ in range(dimensions)))
    chunks = data.draw(st.dictionaries(indices, st.binary(max_size=4), max_size=6))
    prefix = "data/a/"
    raw = {prefix + chunk_identifier(index, separator): value for index, value in pack_shards(chunks, counts).items()}
    plain = {prefix + chunk_identifier(index, separator): value for index, value in chunks.items()}
    others = {"zarr.json": b"{}", "meta/a.array.json": b"{}", "data/ab/c0": b"x"}
    store = ShardingTransformer(MappingStore(raw | others), prefix, counts, separator)
    reference = MappingStore(plain | others)

    assert store.list() == reference.list()
    for key in [*plain, *others, prefix + chunk_identifier((9,) * dimensions, separator), "data/none"]:
        start, length = data.draw(st.integers(0, 3)), data.draw(st.none() | st.integers(0, 5))
        assert store.get(key) == reference.get(key)
        ranges = [(key, (start, length)), (key, (0, None))]
        assert store.get_partial_values(ranges) == reference.get_partial_values(ranges)
    for folder in ["meta/", "data/", prefix, *(key[: key.rindex("/") + 1] for key in plain)]:
        assert store.list_prefix(folder) == reference.list_prefix(folder)
        keys, prefixes = store.list_dir(folder)
        expected_keys, expected_prefixes = reference.list_dir(folder)
        assert keys == expected_keys
        assert prefixes >= expected_prefixes  # "not all listed prefixes must necessarily contain keys"


def test_directories_are_stores(tmp_path):
    store = {}
    write_entry_point(store)
    write_array(store, "/foo/bar", np.arange(6, dtype="<i4").reshape(2, 3), chunk_shape=(1, 2))
    store_directory(store, tmp_path)
    assert (tmp_path / "data" / "foo" / "bar" / "c1" / "1").is_file()
    assert load_directory(tmp_path) == store


# ---------------------------------------------------------------------------------------------------------------------
# The examples of the specification, in its order
# ---------------------------------------------------------------------------------------------------------------------

ENTRY_POINT = b"""{
  "zarr_format": "https://purl.org/zarr/spec/core/3.0",
  "metadata_encoding": {
    "type": "json",
    "metadata_key_suffix": ".json"
  },
  "extensions": []
}"""


def store_with(path, document, **chunks):
    text = document if isinstance(document, str) else json.dumps(document)
    return {"zarr.json": ENTRY_POINT, metadata_key(path, "array"): text.encode(), **chunks}


def small(**changes):
    document = {
        "shape": [4],
        "data_type": "int32",
        "chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"},
        "chunk_memory_layout": "C",
        "fill_value": 0,
        "extensions": [],
        "attributes": {},
    }
    return document | changes


def test_entry_point():
    assert read_hierarchy({"zarr.json": ENTRY_POINT}) == {}
    written = {}
    write_entry_point(written)
    assert json.loads(written["zarr.json"]) == json.loads(ENTRY_POINT)


def test_entry_point_with_an_extension_that_may_be_ignored():
    document = b"""{
      "zarr_format": "https://purl.org/zarr/spec/core/3.0",
      "metadata_encoding": {
        "type": "json",
        "metadata_key_suffix": ".json"
      },
      "extensions": [
        {
          "extension": "http://example.org/zarr/extension/foo",
          "must_understand": false,
          "configuration": {
            "foo": "bar"
          }
        }
      ]
    }"""
    assert read_hierarchy({"zarr.json": document}) == {}
    with pytest.raises(DraftError, match="must be understood"):
        read_hierarchy({"zarr.json": document.replace(b"false", b"true")})


ARRAY = """{
  "shape": [10000, 1000],
  "data_type": "<f8",
  "chunk_grid": {
    "type": "regular",
    "chunk_shape": [1000, 100],
    "separator" : "/"
  },
  "chunk_memory_layout": "C",
  "codecs": [{
    "type": "https://purl.org/zarr/spec/codecs/gzip/1.0",
    "configuration": {
      "level": 1
    }
  }],
  "fill_value": "NaN",
  "extensions": [],
  "attributes": {
    "foo": 42,
    "bar": "apples",
    "baz": [1, 2, 3, 4]
  }
}"""
DATETIME_ARRAY = """{
  "shape": [10000, 1000],
  "data_type": {
    "extension": "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0",
    "type": "<M8[ns]",
    "fallback": "<i8"
  },
  "chunk_grid": {
    "type": "regular",
    "chunk_shape": [1000, 100],
    "separator": "/"
  },
  "chunk_memory_layout": "C",
  "codecs": [{
    "type": "https://purl.org/zarr/spec/codecs/gzip/1.0",
    "configuration": {
      "level": 1
    }
  }],
  "fill_value": null,
  "extensions": [],
  "attributes": {}
}"""


@pytest.mark.parametrize("name", ["<f8", "float64"])
def test_array_of_64_bit_little_endian_floating_point_numbers(name):
    store = store_with("/a", ARRAY.replace("<f8", name))
    array = describe(store, "/a")
    assert array.shape == (10000, 1000)
    assert array.dtype == np.dtype("<f8")
    assert array.chunk_shape == (1000, 100)
    assert array.grid_shape == (10, 10)
    assert (array.separator, array.layout) == ("/", "C")
    assert array.codecs == [gzip_codec(1)]
    assert np.isnan(array.fill_element)
    assert array.attributes == {"foo": 42, "bar": "apples", "baz": [1, 2, 3, 4]}


def test_array_of_an_extension_data_type():
    """The example has `null` as its fill value, which the text does not permit."""
    with pytest.raises(DraftError, match="null"):
        describe(store_with("/a", DATETIME_ARRAY), "/a")
    array = describe(store_with("/a", DATETIME_ARRAY.replace("null", "0")), "/a")
    assert array.dtype == np.dtype("<M8[ns]")
    assert array.fallback is None
    unknown = DATETIME_ARRAY.replace("null", "0").replace("<M8[ns]", "<M8[fortnight]")
    array = describe(store_with("/a", unknown), "/a")
    assert array.dtype == np.dtype("<i8")
    assert array.fallback == "<i8"


def test_group():
    """The example has one comma too many; without it, it is JSON."""
    text = '{\n  "attributes": {\n    "spam": "ham",\n    "eggs": 42%s\n  }\n}'
    store = {"zarr.json": ENTRY_POINT, "meta/group.json": (text % "").encode()}
    assert read_hierarchy(store) == {"/": Node("group", True, {"spam": "ham", "eggs": 42})}
    with pytest.raises(DraftError, match="not JSON"):
        read_hierarchy(store | {"meta/group.json": (text % ",").encode()})


def test_raw_types_of_1_2_and_3_bytes():
    for bits in (8, 16, 24):
        assert describe(
            store_with("/a", small(data_type=f"r{bits}", fill_value="0x" + "00" * (bits // 8))), "/a"
        ).dtype == np.dtype(f"V{bits // 8}")


def test_shape_of_the_grid_and_place_of_an_element():
    grid = {"type": "regular", "chunk_shape": [5, 20, 400], "separator": "/"}
    document = small(shape=[10, 200, 3000], chunk_grid=grid, data_type="uint8")
    assert describe(store_with("/a", document), "/a").grid_shape == (2, 10, 8)
    chunk = np.zeros((5, 20, 400), dtype="u1")
    chunk[2, 10, 100] = 7
    found = read_array(store_with("/a", document, **{"data/a/c1/7/2": chunk.tobytes()}), "/a")
    assert np.argwhere(found).tolist() == [[7, 150, 900]]


def test_identifiers_of_chunks():
    assert chunk_identifier((1, 23, 45), "/") == "c1/23/45"
    assert chunk_identifier((1, 23, 45), ".") == "c1.23.45"
    assert chunk_identifier((), "/") == "c"


def test_chunks_at_the_border_are_whole():
    store = {}
    write_entry_point(store)
    write_array(store, "/a", np.ones((30, 30), dtype="u1"), chunk_shape=(16, 16), fill_value=9)
    chunk = np.frombuffer(store["data/a/c0/1"], dtype="u1").reshape(16, 16)
    assert chunk[:, :14].tolist() == np.ones((16, 14)).tolist()
    assert chunk[:, 14:].tolist() == np.full((16, 2), 9).tolist()


@pytest.mark.parametrize(("layout", "order"), [("C", [1, 2, 3, 4, 5, 6]), ("F", [1, 4, 2, 5, 3, 6])])
def test_memory_layouts(layout, order):
    grid = {"type": "regular", "chunk_shape": [2, 3], "separator": "/"}
    document = small(shape=[2, 3], chunk_grid=grid, data_type="uint8", chunk_memory_layout=layout)
    found = read_array(store_with("/a", document, **{"data/a/c0/0": bytes(order)}), "/a")
    assert found.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_partial_values_and_lists_of_a_store():
    store = MappingStore({"a/b": b"0123", "a/c/d": b"", "e/f/g": b""})
    assert store.list_prefix("a/") == {"a/b", "a/c/d"}
    ranges = [("a/b", (0, None)), ("a/b", (1, 2)), ("none", (0, None))]
    assert store.get_partial_values(ranges) == [b"0123", b"12", None]
    store = MappingStore(dict.fromkeys(["a/b", "a/c", "a/d/e", "a/f/g"], b""))
    assert store.list_dir("a/") == ({"a/b", "a/c"}, {"a/d/", "a/f/"})
    assert store.list_dir("b/") == (set(), set())


def test_storage_keys():
    assert metadata_key("/", "array") == "meta/array.json"
    assert metadata_key("/", "group") == "meta/group.json"
    assert metadata_key("/foo", "group") == "meta/foo.group.json"
    assert metadata_key("/foo", "array") == "meta/foo.array.json"
    assert metadata_key("/foo/bar", "group") == "meta/foo/bar.group.json"
    assert metadata_key("/foo/baz", "array") == "meta/foo/baz.array.json"
    assert data_prefix("/foo/baz") + chunk_identifier((1, 0), "/") == "data/foo/baz/c1/0"
    assert data_prefix("/") + chunk_identifier((0, 0), "/") == "data/c0/0"


def test_children_of_a_group():
    store = {"zarr.json": ENTRY_POINT}
    write_group(store, "/foo/bar")
    write_array(store, "/foo/baz/qux", np.zeros(1))
    assert MappingStore(store).list_dir("meta/foo/") == ({"meta/foo/bar.group.json"}, {"meta/foo/baz/"})
    found = read_hierarchy(store)
    assert {path: (node.kind, node.explicit) for path, node in found.items()} == {
        "/": ("group", False),
        "/foo": ("group", False),
        "/foo/bar": ("group", True),
        "/foo/baz": ("group", False),
        "/foo/baz/qux": ("array", True),
    }


def test_datetimes_with_nanoseconds():
    data_type = {"extension": DATETIME, "type": "<M8[ns]", "fallback": "int64"}
    stored = struct.pack("<2q", 0, 1_000_000_000)
    found = read_array(store_with("/a", small(data_type=data_type), **{"data/a/c0": stored}), "/a")
    epoch = "1970-01-01T00:00:00"
    assert found.tolist() == np.array([epoch, "1970-01-01T00:00:01", epoch, epoch], dtype="<M8[ns]").tolist()


def test_strings():
    texts = ["a", "bcd", "efgh"]
    store = {"zarr.json": ENTRY_POINT}
    write_array(store, "/s", np.array(texts, dtype="S4"))
    write_array(store, "/little", np.array(texts, dtype="<U4"))
    write_array(store, "/big", np.array(texts, dtype=">U4"))
    assert store["data/s/c0"] == b"a\x00\x00\x00bcd\x00efgh"
    padded = "".join(text.ljust(4, "\0") for text in texts)
    assert store["data/little/c0"] == padded.encode("utf-32-le")
    assert store["data/big/c0"] == padded.encode("utf-32-be")
    assert [describe(store, path).data_type["type"] for path in ("/s", "/little", "/big")] == ["S4", "<U4", ">U4"]


def test_dogs():
    dogs = np.array([("Rex", 9, 81.0), ("Fido", 3, 27.0)], dtype=[("name", "U10"), ("age", "i4"), ("weight", "f4")])
    data_type = data_type_of(dogs.dtype)
    fields = [["name", "<U10"], ["age", "<i4"], ["weight", "<f4"]]
    assert data_type == {"extension": STRUCT, "type": fields, "fallback": "r384"}
    stored = b"".join(
        name.ljust(10, "\0").encode("utf-32-le") + struct.pack("<if", age, weight)
        for name, age, weight in (("Rex", 9, 81.0), ("Fido", 3, 27.0))
    )
    document = small(shape=[2], data_type=data_type, fill_value=["", 0, 0])
    found = read_array(store_with("/a", document, **{"data/a/c0": stored}), "/a")
    assert found.tolist() == dogs.tolist()


def test_configuration_of_sharding():
    """The example has a name without quotes, and spells the URI with an underscore."""
    text = """{
      "storage_transformers": [
        {
          "extension": "https://purl.org/zarr/spec/extensions/storage_transformers/sharding/1.0",
          "type": "indexed",
          "configuration": {
            "chunks_per_shard": [
              2,
              2
            ]
          }
        }
      ]
    }"""
    assert SHARDING_OF_THE_EXAMPLE in text
    grid = {"type": "regular", "chunk_shape": [1, 1], "separator": "."}
    document = small(shape=[2, 3], chunk_grid=grid, data_type="uint8", fill_value=9) | json.loads(text)
    index = struct.pack("<8Q", 2, 1, ABSENT, ABSENT, 0, 1, 1, 1)
    found = read_array(store_with("/a", document, **{"data/a/c0.0": b"\x05\x06\x07" + index}), "/a")
    assert found.tolist() == [[7, 9, 9], [5, 6, 9]]


def test_keys_of_shards():
    """The chunks [96, 18] to [127, 19] belong to the shard [3, 9]; the index of 64 chunks has 1024 bytes."""
    chunks = {(96, 18): b"a", (96, 19): b"b", (97, 18): b"c", (127, 19): b"d"}
    shards = pack_shards(chunks, (32, 2))
    assert list(shards) == [(3, 9)]
    assert len(shards[3, 9]) == 4 + 16 * 64
    raw = MappingStore({"data/foo/baz/c3/9": shards[3, 9]})
    store = ShardingTransformer(raw, "data/foo/baz/", (32, 2), "/")
    assert store.get("data/foo/baz/c96/18") == b"a"
    assert store.get("data/foo/baz/c127/19") == b"d"
    assert store.get("data/foo/baz/c98/18") is None
    assert store.get("data/foo/baz/c128/18") is None
    assert store.list_dir("data/foo/baz/c96/") == ({"data/foo/baz/c96/18", "data/foo/baz/c96/19"}, set())
    assert store.list_dir("data/foo/baz/")[1] == {f"data/foo/baz/c{first}/" for first in range(96, 128)}


def test_configuration_of_blosc():
    text = """{
      "codecs": [{
        "type": "https://purl.org/zarr/spec/codecs/blosc/1.0",
        "configuration": {
          "cname": "lz4",
          "clevel": 1,
          "shuffle": 1,
          "blocksize": 0
        }
      }]
    }"""
    document = small(shape=[1000], chunk_grid={"type": "regular", "chunk_shape": [1000], "separator": "/"})
    array = describe(store_with("/a", document | json.loads(text)), "/a")
    data = encode_chunk(np.arange(1000, dtype="<i4"), array)
    # The header of a Blosc chunk: byte 2 has the flags (bit 0: shuffled by bytes; bits 5 to 7: the format, 1 is LZ4),
    # byte 3 the size of an element, the next four the size of everything decoded.
    assert (data[2] & 0b11100111, data[3], struct.unpack("<I", data[4:8])[0]) == (0b00100001, 4, 4000)
    assert read_array(store_with("/a", document | json.loads(text), **{"data/a/c0": data}), "/a").tolist() == list(
        range(1000)
    )


def test_big_endian():
    codecs = [endian_codec("big")]
    document = small(codecs=codecs)
    found = read_array(store_with("/a", document, **{"data/a/c0": struct.pack(">2i", -2, 3)}), "/a")
    assert found.tolist() == [-2, 3, 0, 0]
    document = small(codecs=codecs, data_type="complex128", fill_value="0x" + "00" * 16)
    found = read_array(store_with("/a", document, **{"data/a/c0": struct.pack(">4d", 1, -2, 3, 4)}), "/a")
    assert found.tolist() == [1 - 2j, 3 + 4j, 0, 0]


def test_configuration_of_gzip():
    """The example spells the URI of the codec differently from the specification of the codec."""
    text = """{
      "codecs": [{
        "type": "https://purl.org/zarr/spec/codec/gzip",
        "configuration": {
          "level": 1
        }
      }]
    }"""
    stored = {"data/a/c1": gzip.compress(struct.pack("<2i", 5, 6))}
    assert read_array(store_with("/a", small() | json.loads(text), **stored), "/a").tolist() == [0, 0, 5, 6]


def test_transformers_are_wrapped_around_the_store():
    array = describe(store_with("/a", small(storage_transformers=[sharding([2]), sharding([3])])), "/a")
    store = chunk_store({}, array)
    assert (store.chunks_per_shard, store.store.chunks_per_shard) == ((2,), (3,))
