"""Array documents of the draft of October 2020 (T6–T13, T25–T28), and deviations of programs (§2.3)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import array, dumped, entry, keys, problem_paths, read, store_of, warning_paths

import omnizarr
from omnizarr import MemoryStore
from omnizarr.codecs import Bytes, Gzip, Sharding
from omnizarr.errors import ArgumentError, ChunkError, MetadataError

GZIP = {"codec": "https://purl.org/zarr/spec/codec/gzip/1.0", "configuration": {"level": 1}}
SHARDING = {
    "extension": "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
    "type": "indexed",
    "configuration": {"chunks_per_shard": [2, 2]},
}


def create(**options: Any) -> omnizarr.Array:
    return omnizarr.create_array(MemoryStore(), zarr_format="3-draft-2020", **options)


def follow(**options: Any) -> omnizarr.Array:
    """Creates an array by the conventions of zarr-python 2."""
    return create(conventions="zarr-python-2", **options)


@pytest.mark.parametrize("member", ["shape", "data_type", "chunk_grid", "chunk_memory_layout", "attributes"])
def test_T6_mandatory_members(member: str) -> None:
    assert problem_paths(array(2020, member), 2020) == [f"$.{member}"]


def test_T6_members_that_writers_omitted() -> None:
    """GDAL omits the fill value, which is undefined then."""
    model = read(array(2020, "fill_value", "extensions"), 2020)
    assert model.fill is None
    assert model.extensions == ()


def test_T5_T6_other_members_are_kept() -> None:
    document = array(2020, dimension_separator="/", mine=[1])
    assert warning_paths(document, 2020) == []
    assert dumped(read(document, 2020), 2020) == document


CORE = [
    *("bool", "i1", "u1"),
    *(f"{order}{kind}{size}" for order in "<>" for kind in "iuf" for size in (2, 4, 8)),
]


@pytest.mark.parametrize("name", CORE)
def test_T7_core_data_types(name: str) -> None:
    fill = True if name == "bool" else 7
    model = read(array(2020, data_type=name, fill_value=fill), 2020)
    order = "big" if name.startswith(">") else "little" if name.startswith("<") else None
    assert model.codecs == (Bytes(order),)
    dtype = np.dtype("?" if name == "bool" else name)
    assert dumped(create(shape=3, dtype=dtype).metadata, 2020)["data_type"] == name
    assert dumped(model, 2020)["data_type"] == name


def test_T7_raw_bits_and_typestrs_with_a_bar() -> None:
    assert read(array(2020, data_type="r24", fill_value="0x010203"), 2020).dtype == np.dtype("V3")
    assert dumped(create(shape=3, dtype="V3").metadata, 2020)["data_type"] == "r24"
    assert read(array(2020, data_type="|b1", fill_value=False), 2020).dtype == np.dtype("?")
    assert read(array(2020, data_type="|u1"), 2020).dtype == np.dtype("u1")
    assert problem_paths(array(2020, data_type="r12"), 2020) == ["$.data_type"]


@pytest.mark.parametrize(
    ("extension", "kind"),
    [
        ("https://purl.org/zarr/spec/protocol/extensions/complex-dtypes/1.0", "<c8"),
        ("https://purl.org/zarr/spec/protocol/extensions/datetime-dtypes/1.0", "<M8[ns]"),
        (
            "https://zarr-specs.readthedocs.io/en/core-protocol-v3.0-dev/protocol/extensions/complex-dtypes/v1.0.html",
            ">c16",
        ),
        ("https://zarr-specs.readthedocs.io/en/latest/extensions/data-types/datetime/v1.0.html", "<m8[s]"),
        ("TODO: bytestring array protocol URL", "|S3"),
        ("TODO: unicode array protocol URL", "<U3"),
        ("TODO: structured array protocol URL", [["x", "<i2"], ["y", "<f4", [2]]]),
        ("TODO: structured array protocol URL", [["", "|V3"]]),
    ],
)
def test_T8_T27_extension_types_by_all_their_uris(extension: str, kind: Any) -> None:
    data_type = {"extension": extension, "type": kind, "fallback": None}
    document = array(2020, data_type=data_type, fill_value=None)
    model = read(document, 2020)
    described = [tuple(field) for field in kind] if isinstance(kind, list) else kind
    dtype = np.dtype("V3" if kind == [["", "|V3"]] else described)
    assert model.dtype == dtype.newbyteorder("=")
    assert dumped(model, 2020) == document


def test_T8_a_fallback() -> None:
    unknown = {"extension": "https://example.org/x", "type": "y", "fallback": "<i2"}
    assert warning_paths(array(2020, data_type=unknown), 2020) == ["$.data_type"]
    assert problem_paths(array(2020, data_type=unknown), 2020, use_fallback=False) == ["$.data_type"]
    assert problem_paths(array(2020, data_type=unknown | {"fallback": None}), 2020) == ["$.data_type.extension"]


def test_T9_grids() -> None:
    model = read(array(2020, chunk_grid={"type": "regular", "chunk_shape": [4, 3]}), 2020)
    assert dumped(model, 2020)["chunk_grid"]["separator"] == "/"
    assert problem_paths(array(2020, chunk_grid={"chunk_shape": [4, 3]}), 2020) == ["$.chunk_grid.type"]
    assert problem_paths(array(2020, chunk_grid={"type": "regular"}), 2020) == ["$.chunk_grid.chunk_shape"]
    grid = {"type": "regular", "chunk_shape": [4, 3]}
    assert problem_paths(array(2020, chunk_grid=grid | {"separator": "-"}), 2020) == ["$.chunk_grid.separator"]
    assert problem_paths(array(2020, chunk_grid=grid | {"extension": "x:y"}), 2020) == ["$.chunk_grid.extension"]
    z = create(data=np.ones((2, 2), "u1"), chunks=(1, 1), chunk_key_encoding=".")
    assert "data/root/c1.0" in keys(z.store)  # type: ignore[arg-type]


def test_A62_complex_numbers_with_particular_nan_bits() -> None:
    fill = np.array([0, 0x7F810000], "u4").view("c8")[0]
    z = create(shape=3, dtype="<c8", fill_value=fill)
    assert dumped(z.metadata, 2020)["fill_value"] == "0x000000007f810000"
    again = omnizarr.open_array(z.store)
    assert np.asarray(again.fill_value).tobytes() == fill.tobytes()
    assert dumped(create(shape=3, dtype="<c8", fill_value=complex(1, np.nan)).metadata, 2020)["fill_value"] == [
        1,
        "NaN",
    ]


def test_a_codec_that_does_not_fit_is_reported_at_its_path() -> None:
    delta = {"id": "delta", "dtype": "<f8"}
    assert problem_paths(array(2020, attributes={"filters": [delta]}), 2020) == ["$.attributes.filters[0]"]
    layout = array(2022, codecs=[{"type": "transpose", "configuration": {"order": [0, 1, 2]}}])
    assert problem_paths(layout, 2022) == ["$.codecs[0].configuration.order"]


def test_T10_A13_the_key_without_dimensions() -> None:
    z = create(data=np.array(5, "i4"))
    assert "data/root/c" in keys(z.store)  # type: ignore[arg-type]
    z = follow(data=np.array(5, "i4"))
    assert "data/root/c0" in keys(z.store)  # type: ignore[arg-type]
    document = array(2020, shape=[], chunk_grid={"type": "regular", "chunk_shape": [], "separator": "/"})
    for key in ("c", "c0"):
        store = store_of({"zarr.json": entry(2020), "meta/root.array.json": document, f"data/root/{key}": b"\5\0"})
        array_ = omnizarr.open_array(store)
        assert array_[...] == 5
        array_[...] = 6
        assert [stored for stored in keys(store) if stored.startswith("data")] == [f"data/root/{key}"]
        assert array_.nchunks_initialized == 1


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        ("bool", True, True),
        ("<i2", -5, -5),
        ("<f4", "NaN", np.nan),
        (">f4", "+Infinity", np.inf),
        ("<f8", "Infinity", np.inf),
        ("<f8", "-Infinity", -np.inf),
        ("<f4", "0x3f800000", 1.0),
        (">f2", "0b0011110000000000", 1.0),
        ("<i2", "7", 7),
        ("<f4", float("nan"), np.nan),
    ],
)
def test_T12_A9_A60_A63_fill_values(data_type: str, value: Any, expected: Any) -> None:
    document = array(2020, data_type=data_type, fill_value=value)
    model = read(document, 2020)
    assert model.fill is not None
    assert model.fill[()] == expected or np.isnan(expected)
    assert warning_paths(document, 2020) == []
    assert repr(dumped(model, 2020)["fill_value"]) == repr(value)


def test_T12_null_is_an_undefined_fill_value() -> None:
    assert read(array(2020, fill_value=None), 2020).fill is None
    z = create(shape=3, dtype="i4", fill_value=None)
    assert z.fill_value is None
    assert dumped(z.metadata, 2020)["fill_value"] is None
    assert dumped(create(shape=3, dtype="i4").metadata, 2020)["fill_value"] == 0


def test_T12_invalid_fill_values() -> None:
    for value in ("x", 1.5, 70000, [1], {}):
        assert problem_paths(array(2020, fill_value=value), 2020) == ["$.fill_value"]


def test_T13_T26_A65_the_compressor() -> None:
    assert read(array(2020), 2020).codecs == (Bytes("little"),)
    assert read(array(2020, compressor=None), 2020).codecs == (Bytes("little"),)
    assert read(array(2020, compressor=GZIP), 2020).codecs == (Bytes("little"), Gzip(1))
    unknown = {"codec": "https://example.org/x"}
    assert problem_paths(array(2020, compressor=unknown), 2020) == ["$.compressor.codec"]
    assert problem_paths(array(2020, compressor={"codec": "https://purl.org/zarr/spec/codec/"}), 2020) == [
        "$.compressor.codec"
    ]
    assert problem_paths(array(2020, compressor=GZIP | {"configuration": {"level": 77}}), 2020) == [
        "$.compressor.configuration.level"
    ]
    assert (
        dumped(create(shape=3, dtype="i4", compressors="gzip").metadata, 2020)["compressor"]["codec"] == GZIP["codec"]
    )
    plain = dumped(create(shape=3, dtype="i4", compressors=None).metadata, 2020)
    assert list(plain) == [  # without `compressor`, and without the later `codecs` and `storage_transformers`
        *("shape", "data_type", "chunk_grid", "chunk_memory_layout", "fill_value", "extensions", "attributes")
    ]


@pytest.mark.parametrize("place", ["codec", "codecs"])
def test_T27_A4_gzip_has_two_uris(place: str) -> None:
    compressor = GZIP | {"codec": f"https://purl.org/zarr/spec/{place}/gzip/1.0"}
    model = read(array(2020, compressor=compressor), 2020)
    assert model.codecs == (Bytes("little"), Gzip(1))
    assert dumped(model, 2020)["compressor"] == compressor


@pytest.mark.parametrize("name", ["zlib", "bz2", "lz4", "lzma", "zstd", "blosc"])
def test_T13_compressors_of_zarr_python(name: str) -> None:
    """§2.3.2: by the names of numcodecs."""
    compressor = {"codec": f"https://purl.org/zarr/spec/codec/{name}/1.0", "configuration": {}}
    model = read(array(2020, compressor=compressor), 2020)
    assert len(model.codecs) == 2
    assert dumped(model, 2020)["compressor"] == compressor
    store = store_of({"zarr.json": entry(2020), "meta/root/a.array.json": array(2020, compressor=compressor)})
    values = np.arange(60, dtype="i2").reshape(10, 6)
    omnizarr.open_array(store, path="a")[...] = values
    np.testing.assert_array_equal(omnizarr.open_array(store, path="a")[...], values)


def test_filters_are_kept_in_the_attributes() -> None:
    """§2.3.2: as in zarr-python 2. The attributes that the user sees do not have them."""
    delta = {"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}}
    z = follow(data=np.arange(10, dtype="i4"), filters=[delta], attributes={"a": 1})
    document = dumped(z.metadata, 2020)
    assert document["attributes"]["filters"][0]["id"] == "delta"
    again = omnizarr.open_array(z.store)
    assert again.attrs.asdict() == {"a": 1}
    assert again[...].tolist() == list(range(10))
    again.attrs["b"] = 2
    del again.attrs["a"]
    assert omnizarr.open_array(z.store)[...].tolist() == list(range(10))


def test_an_attribute_cannot_collide_with_filters() -> None:
    z = create(data=np.arange(10, dtype="i4"))
    with pytest.raises(ArgumentError, match="filters"):
        z.attrs["filters"] = [{"id": "delta", "dtype": "<i4"}]
    z.attrs["filters"] = "coffee"
    assert omnizarr.open_array(z.store).attrs["filters"] == "coffee"
    delta = {"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}}
    z = follow(data=np.arange(10, dtype="i4"), filters=[delta])
    with pytest.raises(ArgumentError, match="filters"):
        z.attrs["filters"] = "coffee"


def test_A3_S64_shards_in_the_draft_of_2020() -> None:
    z = follow(shape=(16, 12), dtype="<i2", chunks=(4, 3), shards=(8, 6))
    assert dumped(z.metadata, 2020)["storage_transformers"] == [SHARDING]
    assert isinstance(z.metadata.codecs[0], Sharding)
    model = read(array(2020, storage_transformers=[SHARDING]), 2020)
    assert model.grid.chunks == (8, 6)
    for uri in (
        "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0",
        "https://purl.org/zarr/spec/extensions/storage_transformers/sharding/1.0",
    ):
        document = array(2020, storage_transformers=[SHARDING | {"extension": uri}])
        assert read(document, 2020).grid.chunks == (8, 6)
        assert dumped(read(document, 2020), 2020) == document


def test_missing_numbers_of_chunks_per_shard_are_one() -> None:
    """§2.3.2: if the dtype has a shape."""
    document = array(2020, storage_transformers=[SHARDING | {"configuration": {"chunks_per_shard": [2]}}])
    assert read(document, 2020).grid.chunks == (8, 3)
    assert dumped(read(document, 2020), 2020) == document


def test_chunks_per_shard_restores_lost_sharding() -> None:
    """§2.3.2: zarr-python drops the transformers of an array that it resizes."""
    z = follow(data=np.arange(60, dtype="i2").reshape(10, 6), chunks=(2, 3), shards=(4, 6))
    key = "meta/root.array.json"
    document = dumped(z.metadata, 2020)
    del document["storage_transformers"]
    store = z.store
    store.set(key, json.dumps(document).encode())
    with pytest.raises(ChunkError, match="open the array with `chunks_per_shard`"):
        omnizarr.open_array(store)[...]
    again = omnizarr.open_array(store, chunks_per_shard=(2, 2))
    np.testing.assert_array_equal(again[...], np.arange(60).reshape(10, 6))
    again[0, 0] = 9
    again.resize((12, 6))
    assert omnizarr.open_array(store)[0, 0] == 9  # the next change of the document restores the sharding
    with pytest.raises(ArgumentError, match="chunks_per_shard"):
        omnizarr.open_array(store, chunks_per_shard=(0, 2))
    store.set(key, json.dumps(document).encode())
    with pytest.raises(MetadataError, match="dimensions"):
        omnizarr.open_array(store, chunks_per_shard=(2, 2, 2))


def test_chunks_per_shard_overrides_the_document() -> None:
    """§2.3.3: some versions of acquire wrote other numbers than chunks per shard."""
    values = np.arange(60, dtype="i2").reshape(10, 6)
    z = follow(data=values, chunks=(2, 3), shards=(4, 6))
    wrong = dumped(z.metadata, 2020)
    wrong["storage_transformers"][0]["configuration"]["chunks_per_shard"] = [4, 6]
    z.store.set("meta/root.array.json", json.dumps(wrong).encode())
    with pytest.raises(ChunkError, match="open the array with `chunks_per_shard`"):
        omnizarr.open_array(z.store)[...]
    with pytest.raises(ChunkError) as caught:
        omnizarr.open_array(z.store, chunks_per_shard=(9, 9))[...]
    assert caught.value.hint is None
    np.testing.assert_array_equal(omnizarr.open_array(z.store, chunks_per_shard=(2, 2))[...], values)
    document = array(2020, shape=[], chunk_grid={"type": "regular", "chunk_shape": []})
    assert read(document, 2020, chunks_per_shard=1).grid.chunks == ()
    assert problem_paths(array(2020), 2020, chunks_per_shard=(1, 2, 3)) == ["$.shape"]


def test_T25_element_orders() -> None:
    values = np.arange(6, dtype="u1").reshape(2, 3)
    for order, stored in (("C", bytes(range(6))), ("F", bytes([0, 3, 1, 4, 2, 5]))):
        z = create(data=values, order=order, compressors=None)
        assert bytes(z.store.get("data/root/c0/0") or b"") == stored


def test_T28_chunks_at_the_border_have_full_size() -> None:
    z = create(shape=(5,), chunks=(3,), dtype="u1", fill_value=9, compressors=None)
    z[...] = 1
    assert bytes(z.store.get("data/root/c1") or b"") == bytes([1, 1, 9])


def test_documents_of_gdal() -> None:
    """§2.3.3: no fill value, numbers as text, a fallback for a known type."""
    document = array(
        2020,
        "fill_value",
        data_type={
            "extension": "https://purl.org/zarr/spec/protocol/extensions/complex-dtypes/1.0",
            "type": "<c8",
            "fallback": "r64",
        },
    )
    assert read(document, 2020).dtype == np.dtype("c8")
    assert read(array(2020, fill_value="-32768"), 2020).fill == -32768
    assert read(array(2020, data_type="<f8", fill_value="-1.5e3"), 2020).fill == -1500
    codecs = {"codec": "https://purl.org/zarr/spec/codecs/gzip/1.0", "configuration": {"level": 6}}
    assert read(array(2020, compressor=codecs), 2020).codecs[-1] == Gzip(6)


def test_documents_of_acquire() -> None:
    """§2.3.3: `compressor` is null, and there are always shards."""
    document = array(2020, compressor=None, storage_transformers=[SHARDING], data_type="u1")
    store = store_of({"zarr.json": entry(2020), "meta/root/0.array.json": document})
    z = omnizarr.open_array(store, path="0")
    z[...] = np.arange(60).reshape(10, 6)
    assert omnizarr.open_array(store, path="0")[9, 5] == 59
    assert sorted(key for key in keys(store) if key.startswith("data")) == ["data/root/0/c0/0", "data/root/0/c1/0"]


def test_documents_of_arraylake() -> None:
    """§2.3.3: any NumPy type, `compressor` null, dimension names in an attribute."""
    document = array(
        2020, data_type="<M8[ns]", fill_value=None, compressor=None, attributes={"_ARRAY_DIMENSIONS": ["y", "x"]}
    )
    store = store_of({"zarr.json": entry(2020), "meta/root/a.array.json": document})
    z = omnizarr.open_array(store, path="a")
    assert z.dtype == np.dtype("M8[ns]")
    assert z.dimension_names == ("y", "x")


def test_options_that_the_draft_cannot_express_are_rejected_before_writing() -> None:
    losses: list[dict[str, Any]] = [
        {"dtype": "int4"},
        {"shape": (2, 2, 2), "filters": [{"name": "transpose", "configuration": {"order": [1, 0, 2]}}]},
        {
            "serializer": {
                "name": "sharding_indexed",
                "configuration": {"chunk_shape": [2], "codecs": ["bytes"], "index_codecs": ["bytes", "crc32c"]},
            }
        },
    ]
    for options in losses:
        store = MemoryStore()
        with pytest.raises((ArgumentError, MetadataError)):
            omnizarr.create_array(store, **({"shape": 4, "dtype": "i4", "zarr_format": "3-draft-2020"} | options))
        assert list(store.list()) == []


BIG_ENDIAN = [
    pytest.param({"dtype": ">f8", "filters": [{"id": "bitround", "keepbits": 40}]}, ">f8", id="bitround"),
    pytest.param({"filters": [{"id": "delta", "dtype": "<f8", "astype": ">f8"}]}, "<f8", id="delta to big-endian"),
    pytest.param({"filters": [{"id": "delta", "dtype": ">f8"}]}, ">f8", id="delta of big-endian"),
    pytest.param({"filters": [{"id": "astype", "encode_dtype": ">f4", "decode_dtype": "<f8"}]}, "<f8", id="astype"),
    pytest.param(
        {"filters": [{"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": "<f8", "astype": ">i2"}]},
        "<f8",
        id="fixedscaleoffset",
    ),
    pytest.param({"filters": [{"id": "bitround", "keepbits": 40}], "serializer": Bytes("big")}, ">f8", id="serializer"),
]


@pytest.mark.parametrize("shards", [None, 4])
@pytest.mark.parametrize(("options", "stored"), BIG_ENDIAN)
def test_big_endian_elements_with_a_filter(options: dict[str, Any], stored: str, shards: int | None) -> None:
    data = np.arange(4.0)
    ours = follow(data=data, chunks=2, shards=shards, **options)
    reopened = omnizarr.open_array(ours.store, mode="r")
    assert reopened[...].tolist() == data.tolist()
    assert reopened.metadata.codecs == ours.metadata.codecs
    assert dumped(ours.metadata, 2020)["data_type"] == stored


@pytest.mark.parametrize("source_format", [2, 3])
def test_conversion_of_big_endian_elements_with_a_filter(source_format: Any) -> None:
    data = np.arange(4.0)
    source = omnizarr.create_array(
        data=data, zarr_format=source_format, filters=[{"id": "bitround", "keepbits": 40}], serializer=Bytes("big")
    )
    store = MemoryStore()
    omnizarr.from_array(store, data=source, zarr_format="3-draft-2020", conventions="zarr-python-2")
    assert omnizarr.open_array(store, mode="r")[...].tolist() == data.tolist()


def test_filters_of_different_byte_orders_are_rejected() -> None:
    with pytest.raises(ArgumentError, match="expects another byte order"):
        follow(
            data=np.arange(4.0),
            filters=[{"id": "delta", "dtype": "<f8", "astype": ">f8"}, {"id": "delta", "dtype": "<f8"}],
        )


@pytest.mark.parametrize("compressors", ["auto", None])
@pytest.mark.parametrize(("dtype", "values"), [(str, ["", "ü", "abc"]), (bytes, [b"", b"\xff", b"abc"])])
def test_text_and_bytes_of_any_length_in_shards(dtype: type, values: list[Any], compressors: Any) -> None:
    z = follow(shape=3, dtype=dtype, chunks=2, shards=4, compressors=compressors)
    z[...] = values
    z.append(values)
    again = omnizarr.open_array(z.store)
    assert (again.chunks, again.shards, again.data_type) == ((2,), (4,), z.data_type)
    assert again[...].tolist() == values * 2
