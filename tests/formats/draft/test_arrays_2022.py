"""Array documents of the draft of December 2022: members, grids, layouts, codecs and transformers (S13, S14, S19–S37,
S63–S68, S83–S85)."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import (
    array,
    dumped,
    entry,
    parsed,
    problem_paths,
    read,
    store_of,
    warning_paths,
)

import omnizarr
from omnizarr import MemoryStore
from omnizarr.codecs import ArrayCodec, Bytes, Gzip, Sharding, Transpose
from omnizarr.errors import ArgumentError, MetadataError, OmnizarrWarning
from omnizarr.formats import dialect_for
from omnizarr.formats.draft.layouts import chunk_memory_layouts

GZIP = {"type": "https://purl.org/zarr/spec/codecs/gzip/1.0", "configuration": {"level": 1}}
BIG = {"type": "https://purl.org/zarr/spec/codecs/endian/1.0", "configuration": {"endian": "big"}}
TYPES = "https://purl.org/zarr/spec/extensions/data-types"


def grid(**changes: Any) -> dict[str, Any]:
    return {"type": "regular", "chunk_shape": [4, 3], "separator": "/"} | changes


def create(**options: Any) -> omnizarr.Array:
    return omnizarr.create_array(MemoryStore(), zarr_format="3-draft-2022", **options)


def test_all_problems_of_a_document_are_reported_at_once() -> None:
    document = array(
        2022,
        "extensions",
        shape=[-1],
        data_type="int17",
        chunk_memory_layout="Z",
        chunk_grid={"type": "hexagonal"},
        codecs=[{"type": "x:y"}],
        storage_transformers=[{"extension": "x:y", "type": 1}],
        attributes=[],
        foo=1,
    )
    assert sorted(problem_paths(document, 2022)) == [
        "$.attributes",
        "$.chunk_grid.type",
        "$.chunk_memory_layout",
        "$.codecs[0].type",
        "$.data_type",
        "$.extensions",
        "$.foo",
        "$.shape",
        "$.storage_transformers[0].extension",
    ]


@pytest.mark.parametrize(
    "member",
    ["shape", "data_type", "chunk_grid", "fill_value", "extensions", "attributes"],
)
def test_S13_mandatory_members(member: str) -> None:
    assert problem_paths(array(2022, member), 2022) == [f"$.{member}"]


@pytest.mark.parametrize("order", ["C", "F", [2, 0, 1]])
def test_documents_of_january_2023(order: Any) -> None:
    """§1.7: a codec instead of the layout, and dimension names."""
    values = np.arange(24, dtype="i2").reshape(2, 3, 4)
    codecs = [{"type": "https://purl.org/zarr/spec/codecs/transpose/1.0", "configuration": {"order": order}}, GZIP]
    document = array(
        2022,
        "chunk_memory_layout",
        shape=[2, 3, 4],
        chunk_grid=grid(chunk_shape=[2, 3, 4]),
        codecs=codecs,
        dimension_names=["z", None, "x"],
    )
    stored = np.ascontiguousarray(values.transpose((0, 1, 2) if order == "C" else (2, 1, 0) if order == "F" else order))
    store = store_of({"zarr.json": entry(2022), "meta/a.array.json": document})
    store.set("data/a/c0/0/0", gzip.compress(stored.tobytes()))
    with pytest.warns(OmnizarrWarning, match="chunk_memory_layout") as seen:
        z = omnizarr.open_array(store, path="a")
    assert len(seen) == 1
    assert z.dimension_names == ("z", None, "x")
    np.testing.assert_array_equal(z[...], values)
    z.attrs["b"] = 2
    assert dumped(z.metadata, 2022) == document | {"chunk_memory_layout": "C", "attributes": {"a": 1, "b": 2}}
    with pytest.warns(OmnizarrWarning):
        again = omnizarr.open_array(store, path="a")
    np.testing.assert_array_equal(again[...], values)


def test_a_transpose_codec_in_addition_to_the_layout() -> None:
    codecs = [{"type": "transpose", "configuration": {"order": [1, 0]}}, BIG]
    document = array(2022, codecs=codecs, chunk_memory_layout="F")
    assert read(document, 2022).codecs == (Transpose((1, 0)), Transpose((1, 0)), Bytes("big"))
    assert dumped(read(document, 2022), 2022) == document
    wrong = {"type": "transpose", "configuration": {"order": [1, 1]}}
    assert problem_paths(array(2022, codecs=[wrong]), 2022) == ["$.codecs[0].configuration.order"]


def test_S13_optional_members() -> None:
    assert problem_paths(array(2022, codecs=[], storage_transformers=[]), 2022) == []


def test_S13_A8_other_members() -> None:
    assert problem_paths(array(2022, compression=None), 2022) == ["$.compression"]
    assert warning_paths(array(2022, dimension_names=["x", "y"]), 2022) == ["$.dimension_names"]
    assert dumped(read(array(2022, dimension_names=["x"]), 2022), 2022)["dimension_names"] == ["x"]
    assert warning_paths(array(2022, filters=None), 2022) == ["$.filters"]
    assert problem_paths(array(2022, filters=[{"id": "delta"}]), 2022) == ["$.filters"]


def test_S14_a_shape_without_dimensions() -> None:
    assert read(array(2022, shape=[], chunk_grid=grid(chunk_shape=[])), 2022).shape == ()
    assert problem_paths(array(2022, shape=3), 2022) == ["$.shape"]
    assert problem_paths(array(2022, shape=[1.0, 2]), 2022) == ["$.shape"]


def test_S19_grids() -> None:
    assert problem_paths(array(2022, chunk_grid=None), 2022) == ["$.chunk_grid"]
    assert problem_paths(array(2022, chunk_grid={}), 2022) == ["$.chunk_grid.type"]
    assert problem_paths(array(2022, chunk_grid=grid(type="x")), 2022) == ["$.chunk_grid.type"]
    assert problem_paths(array(2022, chunk_grid={"extension": "x:y", "type": "regular"}), 2022) == [
        "$.chunk_grid.extension"
    ]
    assert problem_paths(array(2022, chunk_grid=grid(separator="-")), 2022) == ["$.chunk_grid.separator"]
    assert problem_paths(array(2022, chunk_grid=grid(chunk_shape=[4])), 2022) == ["$.chunk_grid.chunk_shape"]
    assert problem_paths(array(2022, chunk_grid=[]), 2022) == ["$.chunk_grid"]


def test_S19_A17_a_missing_separator_is_a_slash() -> None:
    document = array(2022, chunk_grid={"type": "regular", "chunk_shape": [4, 3]})
    assert warning_paths(document, 2022) == ["$.chunk_grid.separator"]
    assert dumped(read(document, 2022), 2022)["chunk_grid"]["separator"] == "/"


def test_S20_A35_chunk_lengths_of_0() -> None:
    assert problem_paths(array(2022, chunk_grid=grid(chunk_shape=[0, 3])), 2022) == ["$.chunk_grid.chunk_shape[0]"]
    assert read(array(2022, shape=[0, 6], chunk_grid=grid(chunk_shape=[0, 3])), 2022).shape == (0, 6)


def test_S21_chunks_at_the_border_have_full_size() -> None:
    z = create(shape=(5, 5), chunks=(3, 3), dtype="u1", fill_value=9, compressors=None)
    z[...] = 1
    assert bytes(z.store.get("data/c1/1") or b"") == bytes([1, 1, 9, 1, 1, 9, 9, 9, 9])


@pytest.mark.parametrize(("separator", "key"), [("/", "c1/23/45"), (".", "c1.23.45")])
def test_S22_T10_chunk_keys(separator: str, key: str) -> None:
    for draft in ("3-draft-2020", "3-draft-2022"):
        keys = dialect_for(draft).chunk_keys(separator)
        assert keys.key((1, 23, 45)) == key
        assert keys.coordinates(key, 3) == (1, 23, 45)
        assert keys.key(()) == "c"


@pytest.mark.parametrize("layout", ["C", "F"])
def test_S23_S31_S32_S36_T11_T25_layouts(layout: Any) -> None:
    for draft in ("3-draft-2020", "3-draft-2022"):
        z = omnizarr.create_array(
            MemoryStore(), data=np.array([[1, 2], [3, 4]], "u1"), order=layout, compressors=None, zarr_format=draft
        )
        key = next(iter(z.store.list_prefix("data/")))
        assert bytes(z.store.get(key) or b"") == (b"\1\2\3\4" if layout == "C" else b"\1\3\2\4")
        assert z.metadata.zarr_format == draft
        assert omnizarr.open_array(z.store).order == layout
        assert z[...].tolist() == [[1, 2], [3, 4]]


def test_S23_T11_unknown_layouts_are_errors() -> None:
    layout = {"extension": "https://example.org/upside-down", "type": "x"}
    years: Any = (2020, 2022)
    for year in years:
        assert problem_paths(array(year, chunk_memory_layout=layout), year) == ["$.chunk_memory_layout.extension"]
        for wrong in ({"type": "x"}, "A", "c", 1, ["C"]):
            assert problem_paths(array(year, chunk_memory_layout=wrong), year) == ["$.chunk_memory_layout"]


def test_S23_Z4_a_registered_layout() -> None:
    class Swapped(Transpose):
        name = "https://example.org/swapped"

        @classmethod
        def parse(cls, configuration: Any, path: str, problems: Any) -> Any:
            return cls((1, 0)) if configuration == {"type": "swapped"} else None

        def configuration(self) -> Any:
            return {"type": "swapped"}

    assert issubclass(Swapped, ArrayCodec)
    chunk_memory_layouts.register(Swapped.name, Swapped)
    try:
        layout = {"extension": Swapped.name, "type": "swapped"}
        document = array(2022, chunk_memory_layout=layout)
        model = read(document, 2022)
        assert dumped(model, 2022)["chunk_memory_layout"] == layout
        store = store_of({"zarr.json": entry(2022), "meta/a.array.json": document})
        z = omnizarr.open_array(store, path="a")
        z[...] = np.arange(60).reshape(10, 6)
        np.testing.assert_array_equal(omnizarr.open_array(store, path="a")[...], np.arange(60).reshape(10, 6))
        assert bytes(store.get("data/a/c0/0") or b"")[:4] == b"\0\0\6\0"
    finally:
        del chunk_memory_layouts._items[Swapped.name]


def test_S26_extensions_of_arrays() -> None:
    optional = {"extension": "https://example.org/x", "must_understand": False, "configuration": {"a": [1]}}
    assert dumped(read(array(2022, extensions=[optional]), 2022), 2022)["extensions"] == [optional]
    needed = optional | {"must_understand": True}
    assert problem_paths(array(2022, extensions=[optional, needed]), 2022) == ["$.extensions[1].extension"]
    assert problem_paths(array(2022, extensions=[{"extension": "x:y"}]), 2022) == ["$.extensions[0].must_understand"]
    assert problem_paths(array(2022, extensions=[{"must_understand": True}]), 2022) == ["$.extensions[0].extension"]
    assert problem_paths(array(2022, extensions=None), 2022) == ["$.extensions"]
    assert problem_paths(array(2022, extensions=[3]), 2022) == ["$.extensions[0]"]


def test_S27_attributes() -> None:
    assert read(array(2022, attributes={"ü": [None, {"x": 1.5}]}), 2022).attributes == {"ü": [None, {"x": 1.5}]}
    assert problem_paths(array(2022, attributes=[]), 2022) == ["$.attributes"]


def test_S28_S37_codecs() -> None:
    assert read(array(2022), 2022).codecs == read(array(2022, codecs=[]), 2022).codecs == (Bytes("little"),)
    assert read(array(2022, codecs=[GZIP]), 2022).codecs == (Bytes("little"), Gzip(1))
    assert problem_paths(array(2022, codecs=[{"type": "https://example.org/x"}]), 2022) == ["$.codecs[0].type"]
    assert problem_paths(array(2022, codecs=[GZIP, "gzip"]), 2022) == ["$.codecs[1]"]
    assert problem_paths(array(2022, codecs=[GZIP | {"configuration": 5}]), 2022) == ["$.codecs[0].configuration"]
    assert problem_paths(array(2022, codecs=None), 2022) == ["$.codecs"]


def test_S29_unknown_storage_transformers_are_errors() -> None:
    unknown = {"extension": "https://example.org/x", "type": "y"}
    assert problem_paths(array(2022, storage_transformers=[unknown]), 2022) == ["$.storage_transformers[0].extension"]
    assert problem_paths(array(2022, storage_transformers=[5]), 2022) == ["$.storage_transformers[0]"]
    assert problem_paths(array(2022, storage_transformers={}), 2022) == ["$.storage_transformers"]
    assert read(array(2022, storage_transformers=[]), 2022).storage_transformers == ()


def test_S33_codecs_that_do_not_fit_are_an_error() -> None:
    assert problem_paths(array(2022, codecs=[GZIP, BIG]), 2022) == ["$.codecs[1]"]
    assert problem_paths(array(2022, codecs=[BIG, BIG]), 2022) == ["$.codecs[1]"]


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("codecs", [[], [GZIP], [BIG], [BIG, GZIP], [GZIP, GZIP]])
def test_S31_S32_S34_S35_S36_codecs_encode_in_order_and_decode_in_reverse(layout: Any, codecs: Any) -> None:
    """First the layout, then `endian` or the default byte order, then the compressors."""
    values = np.arange(24, dtype="i2").reshape(2, 3, 4)
    stored = values.astype(">i2" if BIG in codecs else "<i2").tobytes(layout)
    for _ in range(codecs.count(GZIP)):
        stored = gzip.compress(stored)
    whole = array(2022, shape=[2, 3, 4], chunk_grid=grid(chunk_shape=[2, 3, 4]), chunk_memory_layout=layout)
    store = store_of({"zarr.json": entry(2022), "meta/a.array.json": whole | {"codecs": codecs}})
    store.set("data/a/c0/0/0", stored)
    z = omnizarr.open_array(store, path="a")
    np.testing.assert_array_equal(z[...], values)
    z[...] = values + 1
    chunk = bytes(store.get("data/a/c0/0/0") or b"")
    for _ in range(codecs.count(GZIP)):
        chunk = gzip.decompress(chunk)
    assert chunk == (values + 1).astype(">i2" if BIG in codecs else "<i2").tobytes(layout)


def test_S34_A64_endian_precedes_bytes_codecs() -> None:
    assert read(array(2022, codecs=[BIG, GZIP]), 2022).codecs == (Bytes("big"), Gzip(1))
    z = create(data=np.array([1], ">i2"), compressors="gzip")
    assert [codec["type"] for codec in dumped(z.metadata, 2022)["codecs"]] == [BIG["type"], GZIP["type"]]
    with pytest.raises(ArgumentError, match="transpose"):
        create(shape=(2, 2, 2), dtype="i2", filters=[{"name": "transpose", "configuration": {"order": [1, 0, 2]}}])


def test_S64_S68_shards_become_the_sharding_codec() -> None:
    sharding = {
        "extension": "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0",
        "type": "indexed",
        "configuration": {"chunks_per_shard": [2, 2]},
    }
    model = read(array(2022, storage_transformers=[sharding]), 2022)
    assert model.codecs == (Sharding((4, 3), (Bytes("little"),), (Bytes("little"),)),)
    assert model.grid.chunks == (8, 6)
    assert dumped(model, 2022)["storage_transformers"] == [sharding]
    z = create(shape=(16, 12), dtype="i2", chunks=(4, 3), shards=(8, 6))
    assert dumped(z.metadata, 2022)["storage_transformers"] == [sharding]
    assert dumped(z.metadata, 2022)["chunk_grid"]["chunk_shape"] == [4, 3]
    bad = sharding | {"configuration": {"chunks_per_shard": [2]}}
    assert problem_paths(array(2022, storage_transformers=[bad]), 2022) == [
        "$.storage_transformers[0].configuration.chunks_per_shard"
    ]


@pytest.mark.parametrize(
    "uri",
    [
        "https://purl.org/zarr/spec/codecs/gzip/1.0",
        "https://purl.org/zarr/spec/codec/gzip/1.0",
        "https://purl.org/zarr/spec/codec/gzip",
        "https://purl.org/zarr/spec/codecs/gzip",
        "gzip",
    ],
)
def test_S83_T27_A4_uris_of_gzip(uri: str) -> None:
    model = read(array(2022, codecs=[GZIP | {"type": uri}]), 2022)
    assert model.codecs == (Bytes("little"), Gzip(1))
    assert dumped(model, 2022)["codecs"][0]["type"] == uri
    written = dumped(create(shape=3, dtype="i2", compressors="gzip").metadata, 2022)["codecs"]
    assert written[0]["type"] == GZIP["type"]
    assert set(written[0]["configuration"]) == {"level"}
    assert problem_paths(array(2022, codecs=[GZIP | {"configuration": {"level": 10}}]), 2022) == [
        "$.codecs[0].configuration.level"
    ]


def test_S84_blosc() -> None:
    uri = "https://purl.org/zarr/spec/codecs/blosc/1.0"
    configuration = {"cname": "lz4", "clevel": 1, "shuffle": 1, "blocksize": 0}
    for shuffle in (0, 1, 2, -1):
        codec = {"type": uri, "configuration": configuration | {"shuffle": shuffle}}
        assert dumped(read(array(2022, codecs=[codec]), 2022), 2022)["codecs"] == [codec]
    for wrong in ({"shuffle": 3}, {"clevel": 10}, {"cname": "x"}, {"blocksize": -1}):
        assert problem_paths(array(2022, codecs=[{"type": uri, "configuration": configuration | wrong}]), 2022) != []
    z = create(data=np.arange(300, dtype="<i4"))
    written = dumped(z.metadata, 2022)["codecs"]
    assert set(written[0]["configuration"]) == set(configuration)
    assert isinstance(written[0]["configuration"]["shuffle"], int)
    assert bytes(z.store.get("data/c0") or b"")[3] == 4  # the header has the element size; documents do not


def test_S85_endian() -> None:
    little = BIG | {"configuration": {"endian": "little"}}
    assert read(array(2022, codecs=[BIG]), 2022).codecs == (Bytes("big"),)
    assert read(array(2022, codecs=[little]), 2022).codecs == (Bytes("little"),)
    assert problem_paths(array(2022, codecs=[{"type": BIG["type"]}]), 2022) == ["$.codecs[0].configuration.endian"]
    assert problem_paths(array(2022, codecs=[BIG | {"configuration": {"endian": "middle"}}]), 2022) != []
    assert dumped(create(shape=3, dtype="<i2", compressors=None).metadata, 2022)["codecs"] == []
    assert dumped(create(shape=3, dtype=">i2", compressors=None).metadata, 2022)["codecs"] == [BIG]


def test_A19_an_endian_codec_overrides_the_byte_order_of_an_extension_type() -> None:
    data_type = {"extension": f"{TYPES}/datetime/1.0", "type": "<M8[ns]"}
    assert read(array(2022, data_type=data_type, codecs=[BIG]), 2022).codecs == (Bytes("big"),)
    for dtype, stored_type in ((">M8[s]", "<M8[s]"), (">U3", "<U3")):
        z = create(data=np.array([1, 2], "i8").astype(dtype), dtype=dtype, compressors=None)
        written = dumped(z.metadata, 2022)
        assert (written["data_type"]["type"], written["codecs"]) == (stored_type, [BIG])
        assert bytes(z.store.get("data/c0") or b"") == np.array([1, 2], "i8").astype(dtype).tobytes()
    fields = np.dtype([("x", ">i2"), ("y", ">f4")])
    written = dumped(create(shape=3, dtype=fields, compressors=None).metadata, 2022)
    assert (written["data_type"]["type"], written["codecs"]) == ([["x", ">i2"], ["y", ">f4"]], [])


def test_A10_documents_are_strict_json() -> None:
    store = store_of({"zarr.json": entry(2022), "meta/a.array.json": b'{"shape": [1],}'})
    with pytest.raises(MetadataError):
        omnizarr.open_array(store, path="a")


def test_options_that_the_draft_cannot_express_are_rejected_before_writing() -> None:
    losses: list[dict[str, Any]] = [
        {"compressors": "zstd"},
        {"compressors": [{"name": "crc32c"}]},
        {"dtype": "string"},
        {"filters": [{"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}}]},
    ]
    for options in losses:
        store = MemoryStore()
        with pytest.raises(ArgumentError):
            omnizarr.create_array(store, **({"shape": 4, "dtype": "i4", "zarr_format": "3-draft-2022"} | options))
        assert list(store.list()) == []


def test_a_document_that_is_not_an_object() -> None:
    assert parsed([], 2022)[0] is None
