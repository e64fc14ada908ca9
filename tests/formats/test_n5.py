"""N5: documents, attributes, the hierarchy, and detection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.n5_values import array_document, encode, hierarchy

import omnizarr
from omnizarr.codecs import Blosc, Gzip, Zstd
from omnizarr.codecs.bytes_to_bytes.lz4_blocks import Lz4Blocks
from omnizarr.codecs.numcodecs_ import Bz2, Lz4, Lzma, Zlib
from omnizarr.errors import (
    ArgumentError,
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    NodeTypeError,
    OmnizarrWarning,
)

DATA = np.arange(35, dtype="u2").reshape(7, 5)
VIEWERS: dict[str, Any] = {
    "downsamplingFactors": [[1, 1, 1], [2, 2, 2]],
    "pixelResolution": {"unit": "nm", "dimensions": [4.0, 4.0, 40.0]},
    "multiScale": True,
    "scales": [[1, 1], [2, 2]],
    "resolution": [10, 20.5],
    "units": ["nm", "s"],
    "transform": {"axes": ["z", "y"], "scale": [1.5, 2]},
}


def document(store: Any, key: str) -> Any:
    return json.loads(bytes(store[key]))


def array_values(**members: Any) -> dict[str, bytes]:
    """An array at the root, with a version."""
    return hierarchy({"": {"n5": "4.0.0", **array_document([5, 7], [3, 4], **members)}})


# -- documents


@pytest.mark.smoke
def test_K1_K4_an_array_and_its_attributes_share_a_document() -> None:
    store: dict[str, Any] = {}
    z = omnizarr.create_array(store, data=DATA, chunks=(4, 3), zarr_format="n5", compressors=None, attributes={"a": 1})
    assert document(store, "attributes.json") == {
        "n5": "4.0.0",
        "dimensions": [5, 7],
        "blockSize": [3, 4],
        "dataType": "uint16",
        "compression": {"type": "raw"},
        "a": 1,
    }
    assert (z.shape, z.chunks, z.zarr_format, z.attrs) == ((7, 5), (4, 3), "n5", {"a": 1})
    again = omnizarr.open(store)
    assert isinstance(again, omnizarr.Array)
    assert again.metadata.chunk_keys.key((1, 0)) == "0/1"
    np.testing.assert_array_equal(again[...], DATA)


@pytest.mark.parametrize("value", [b"[]", b"3", b'"n5"', b"null"])
def test_K1_a_document_is_an_object(value: bytes) -> None:
    with pytest.raises(MetadataError, match="expected an object"):
        omnizarr.open(hierarchy({"": {"n5": "4.0.0"}}) | {"a/attributes.json": value}, path="a")


def test_K2_every_directory_is_a_group() -> None:
    values = hierarchy({"": {"n5": "4.0.0"}, "a/b/c": array_document([5], [3])}, {"a/b/c/0": encode(DATA[0, :3])})
    root = omnizarr.open_group(values)
    assert [path for path, _ in root.members(max_depth=None)] == ["a", "a/b", "a/b/c"]
    assert (list(root.group_keys()), list(root["a/b"].array_keys())) == (["a"], ["c"])
    assert isinstance(root["a"], omnizarr.Group)
    assert isinstance(omnizarr.open(values, path="a/b"), omnizarr.Group)
    assert root["a"].attrs == {}
    root["a"].attrs["title"] = "x"
    assert document(values, "a/attributes.json") == {"title": "x"}
    for path in ("a/b/c/0", "a/b/d", "b"):
        assert path not in root
        with pytest.raises((KeyError, NodeNotFoundError)):
            root[path]


def test_K2_directories_of_blocks_are_no_groups(tmp_path: Path) -> None:
    root = omnizarr.create_group(tmp_path, zarr_format="n5")
    root.create_array("a", data=np.ones((2, 2, 2)), chunks=1)
    for path in ("a/0", "a/0/1"):
        assert (tmp_path / path).is_dir()
        for zarr_format in (None, "n5"):
            with pytest.raises(NodeNotFoundError):
                omnizarr.open(tmp_path, path=path, zarr_format=zarr_format, mode="r")  # type: ignore[call-overload]
        with pytest.raises(NodeTypeError, match="is an array"):
            root.create_group(f"{path}/new")
    assert str(root.tree()).splitlines() == ["/", "└── a (2, 2, 2) float64"]


@pytest.mark.parametrize("member", ["blockSize", "compression"])
def test_K3_mandatory_members(member: str) -> None:
    with pytest.raises(MetadataError, match=member) as caught:
        omnizarr.open(array_values(**{member: None}))
    assert [problem.path for problem in caught.value.problems] == [f"$.{member}"]


@pytest.mark.parametrize("name", ["dimensions", "dataType"])
def test_K3_a_group_may_have_one_of_the_two_members(name: str) -> None:
    store = omnizarr.create_group(None, zarr_format="n5", attributes={name: [1]}).store
    assert omnizarr.open(store).attrs == {name: [1]}
    with pytest.raises(ArgumentError, match="would be an array"):
        omnizarr.open_group(store).attrs.update(dimensions=[1], dataType="uint8")


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("dimensions", [5, -1], "at least 0"),
        ("dimensions", "5", "a list of integers"),
        ("dimensions", [5, 2**63], "2^63"),
        ("dimensions", [1] * 64, "64 dimensions"),
        ("blockSize", [3, 0], "from 1"),
        ("blockSize", [3], "`dimensions` has 2"),
        ("blockSize", [2**32, 1], "32 bits"),
        ("dataType", "float16", "unknown data type"),
        ("dataType", ["uint8"], "unknown data type"),
        ("dataType", "object", "cannot be read"),
        ("dataType", "string", "cannot be read"),
        ("compression", "gzip", "an object"),
        ("compression", {"type": "gzipp"}, "unknown compression `gzipp`"),
        ("compression", {"level": 3}, "unknown compression"),
        ("compression", {"type": "gzip", "level": 10}, "from -1 to 9"),
        ("compression", {"type": "gzip", "useZlib": 1}, "true or false"),
        ("compression", {"type": "bzip2", "blockSize": 0}, "from 1 to 9"),
        ("compression", {"type": "xz", "preset": 10}, "from 0 to 9"),
        ("compression", {"type": "lz4", "blockSize": -1}, "from 0 to"),
        ("compression", {"type": "blosc", "cname": "no"}, "cname"),
        ("compression", {"type": "blosc", "cname": "lz4", "shuffle": 3}, "from 0 to 2"),
        ("compression", {"type": "zstd", "level": "3"}, "an integer"),
        ("compression", {"type": "delta", "id": "delta", "dtype": "<u2"}, "a compressor"),
    ],
)
def test_K5_K8_invalid_members_are_reported(member: str, value: Any, message: str) -> None:
    with pytest.raises(MetadataError) as caught:
        omnizarr.open(array_values(**{member: value}))
    assert any(message in problem.message and member in problem.path for problem in caught.value.problems)


def test_K5_all_types() -> None:
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"):
        z = omnizarr.create_array(None, data=DATA.astype(name), zarr_format="n5")
        assert document(z.store._data, "attributes.json")["dataType"] == name  # type: ignore[attr-defined]
        assert omnizarr.open_array(z.store).dtype == name
    for name in ("bool", "float16", "complex64", "M8[s]", "S3", "U3", "r24"):
        with pytest.raises(ArgumentError, match="N5 has no data type"):
            omnizarr.create_array(None, shape=3, dtype=name, zarr_format="n5")


# -- the version


@pytest.mark.parametrize("version", ["4.0.0", "1.0", "2.5.1", "0.9-SNAPSHOT", "4.1.0", "4"])
def test_K6_known_versions(version: str) -> None:
    values = hierarchy({"": {"n5": version}, "a": array_document([5], [3])})
    root = omnizarr.open_group(values)
    assert root.attrs == {}
    root.attrs["x"] = 1
    assert document(values, "attributes.json") == {"n5": version, "x": 1}
    assert "n5" not in document(values, "a/attributes.json")


@pytest.mark.parametrize("version", ["5.0.0", "10.2", "123456789.0"])
@pytest.mark.parametrize("path", ["", "a", "g"])
def test_K6_later_versions_are_rejected(version: str, path: str) -> None:
    values = hierarchy({"": {"n5": version}, "a": array_document([5], [3]), "g": {}})
    for zarr_format in (None, "n5"):
        with pytest.raises(MetadataError, match=f"is version {version}, but omnizarr knows N5 only up to version 4"):
            omnizarr.open(values, path=path, zarr_format=zarr_format)  # type: ignore[call-overload]


def test_K6_other_text_counts_as_version_0() -> None:
    with pytest.warns(OmnizarrWarning, match="expected a version"):
        assert isinstance(omnizarr.open(hierarchy({"": {"n5": "four"}})), omnizarr.Group)


def test_K6_only_the_root_gets_a_version() -> None:
    store: dict[str, Any] = {}
    omnizarr.create_array(store, name="a/b", data=[1], zarr_format="n5")
    assert document(store, "attributes.json") == {"n5": "4.0.0"}
    assert "n5" not in document(store, "a/b/attributes.json")
    assert "a/attributes.json" not in store
    omnizarr.open_group(store)["a"].attrs["x"] = 1
    assert document(store, "a/attributes.json") == {"x": 1}
    omnizarr.open_group(store).create_group("empty")
    assert document(store, "empty/attributes.json") == {}
    assert list(omnizarr.open_group(store)) == ["a", "empty"]


def test_K6_a_version_below_the_root_is_kept() -> None:
    values = hierarchy({"": {"n5": "2.0.0"}, "g": {"n5": "2.0.0", "x": 1}})
    group = omnizarr.open_group(values, path="g")
    group.attrs["y"] = 2
    assert document(values, "g/attributes.json") == {"n5": "2.0.0", "x": 1, "y": 2}


def test_K6_a_stored_node_without_a_version_gets_none(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path, name="a/b", data=[1, 2, 3], chunks=2, zarr_format="n5")
    inside = omnizarr.open_array(omnizarr.LocalStore(tmp_path / "a" / "b"))
    inside.append([4])
    inside.attrs["x"] = 1
    assert "n5" not in json.loads((tmp_path / "a" / "b" / "attributes.json").read_text())
    assert omnizarr.open_array(tmp_path / "a" / "b")[...].tolist() == [1, 2, 3, 4]


# -- attributes


def test_K7_attributes_of_viewers_are_kept() -> None:
    values = hierarchy({"": {"n5": "4.0.0", **VIEWERS}, "s0": array_document([5, 7], [3, 4]) | VIEWERS})
    root = omnizarr.open_group(values)
    array = root["s0"]
    assert root.attrs == VIEWERS == array.attrs
    array.resize((8, 5))
    array.attrs["new"] = 1
    root.attrs["new"] = 1
    assert document(values, "attributes.json") == {"n5": "4.0.0", **VIEWERS, "new": 1}
    assert document(values, "s0/attributes.json") == array_document([5, 8], [3, 4]) | VIEWERS | {"new": 1}
    copy = omnizarr.from_array(None, data=array, zarr_format=3)
    assert copy.attrs == VIEWERS | {"new": 1}


@pytest.mark.parametrize("name", ["dimensions", "blockSize", "dataType", "compression", "compressionType", "n5"])
def test_K7_attributes_have_other_names_than_members(name: str) -> None:
    store = omnizarr.MemoryStore()
    with pytest.raises(ArgumentError, match=f"`{name}` is a member of N5"):
        omnizarr.create_array(store, data=[1], zarr_format="n5", attributes={name: 1})
    assert list(store.list()) == []
    z = omnizarr.create_array(store, data=[1], zarr_format="n5")
    before = bytes(store.get("attributes.json") or b"")
    with pytest.raises(ArgumentError, match=f"`{name}` is a member of N5"):
        z.attrs[name] = "uint8"
    assert store.get("attributes.json") == before


# -- compression


@pytest.mark.parametrize(
    ("config", "codec"),
    [
        ({"type": "raw"}, None),
        ({"type": "gzip"}, Gzip(6)),
        ({"type": "gzip", "level": -1, "useZlib": False}, Gzip(6)),
        ({"type": "gzip", "level": 3}, Gzip(3)),
        ({"type": "gzip", "level": 3, "useZlib": True}, Zlib(3)),
        ({"type": "bzip2"}, Bz2(9)),
        ({"type": "bzip2", "blockSize": 2}, Bz2(2)),
        ({"type": "xz"}, Lzma(preset=6)),
        ({"type": "xz", "preset": 9}, Lzma(preset=9)),
        ({"type": "lz4"}, Lz4Blocks(65536)),
        ({"type": "lz4", "blockSize": 128}, Lz4Blocks(128)),
        ({"type": "lz4", "blockSize": 6}, Lz4Blocks(6)),
        ({"type": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0, "nthreads": 4},
         Blosc("zstd", 3, "bitshuffle")),
        ({"type": "zstd"}, Zstd(3)),
        ({"type": "zstd", "level": 5, "nbWorkers": 0}, Zstd(5)),
        ({"type": "zstd", "id": "zstd", "level": 2, "checksum": False}, Zstd(2)),
        ({"type": "lz4", "id": "lz4", "acceleration": 1}, Lz4(1)),
        ({"type": "lzma", "format": 2, "check": -1, "preset": 6, "filters": None}, Lzma(format=2, preset=6)),
    ],
)  # fmt: skip
def test_K8_K9_K10_K11_compressions_are_read_and_kept(config: dict[str, Any], codec: Any) -> None:
    values = array_values(compression=config)
    z = omnizarr.open_array(values)
    assert z.compressors == (() if codec is None else (codec,))
    z[...] = DATA
    z.resize((6, 5))
    z.attrs["a"] = 1
    assert document(values, "attributes.json")["compression"] == config
    np.testing.assert_array_equal(omnizarr.open_array(values)[...], DATA[:6])


@pytest.mark.parametrize(
    ("given", "config"),
    [
        (None, {"type": "raw"}),
        ("auto", {"type": "gzip", "level": 1, "useZlib": False}),
        ("gzip", {"type": "gzip", "level": 5, "useZlib": False}),
        ("zlib", {"type": "gzip", "level": 1, "useZlib": True}),
        (Bz2(4), {"type": "bzip2", "blockSize": 4}),
        ("lzma", {"type": "xz", "preset": 6}),
        ("lz4", {"type": "lz4", "blockSize": 65536}),
        (Lz4Blocks(64), {"type": "lz4", "blockSize": 64}),
        (Lz4Blocks(6), {"type": "lz4", "blockSize": 65536}),
        ("blosc", {"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}),
        (Zstd(7), {"type": "zstd", "level": 7}),
    ],
)
def test_K8_K9_K10_compressions_of_new_arrays(given: Any, config: dict[str, Any]) -> None:
    store: dict[str, Any] = {}
    omnizarr.create_array(store, data=DATA, chunks=(4, 3), compressors=given, zarr_format="n5")
    assert document(store, "attributes.json")["compression"] == config
    again = omnizarr.open_array(store)
    np.testing.assert_array_equal(again[...], DATA)
    copy = omnizarr.from_array(None, data=again)
    assert (copy.zarr_format, copy.compressors) == ("n5", again.compressors)


@pytest.mark.parametrize(
    "compressors", [Zstd(3, checksum=True), Blosc("lz4", typesize=7), Lzma(format=2), Lzma(check=0), "crc32c"]
)
def test_K11_other_compressors_are_rejected(compressors: Any) -> None:
    with pytest.raises(ArgumentError, match="N5 has no compressor"):
        omnizarr.create_array(None, data=DATA, compressors=compressors, zarr_format="n5")


@pytest.mark.parametrize("name", ["raw", "gzip", "bzip2", "xz", "lz4"])
def test_K12_arrays_of_version_0(name: str) -> None:
    values = array_values(compression=None, compressionType=name)
    z = omnizarr.open_array(values)
    z[...] = DATA
    z.attrs["a"] = 1
    assert document(values, "attributes.json")["compressionType"] == name
    assert "compression" not in document(values, "attributes.json")
    np.testing.assert_array_equal(omnizarr.open_array(values)[...], DATA)
    with pytest.raises(MetadataError, match="unknown compression"):
        omnizarr.open(array_values(compression=None, compressionType="gzipp"))
    with pytest.raises(MetadataError, match="the name of a compression"):
        omnizarr.open(array_values(compression=None, compressionType=3))


# -- what N5 does not have


def test_K19_K20_K21_losses() -> None:
    for options, message in (
        ({"fill_value": 1}, "no fill value other than 0"),
        ({"fill_value": -0.0, "dtype": "f4"}, "no fill value other than 0"),
        ({"chunks": (2**11, 2**20), "shape": (2**12, 2**22)}, "less than 2 GiB"),
        ({"filters": [{"id": "delta", "dtype": "<u2"}]}, "no filters"),
        ({"shards": (4, 4), "chunks": (2, 2)}, "no shards"),
        ({"order": "F"}, "C order only"),
        ({"compressors": ["gzip", "zstd"]}, "only one compressor"),
        ({"serializer": {"name": "packbits"}, "dtype": "u1"}, "no codec `packbits`"),
        ({"chunks": ([2, 5], 3)}, "the same shape"),
        ({"chunk_key_encoding": "."}, "only keys such as `0/0`"),
        ({"extensions": [{}]}, "N5 has none"),
    ):
        store = omnizarr.MemoryStore()
        with pytest.raises(ArgumentError, match=message):
            omnizarr.create_array(store, zarr_format="n5", **{"shape": (7, 5), "dtype": "u2", **options})
        assert list(store.list()) == []
    with pytest.raises(ArgumentError, match="N5 has no consolidated metadata"):
        omnizarr.consolidate_metadata(omnizarr.create_group(None, zarr_format="n5").store)


# -- detection


@pytest.mark.parametrize(
    ("documents", "path"),
    [
        ({"": {"n5": "4.0.0"}}, ""),
        ({"": array_document([5], [3])}, ""),
        ({"a": array_document([5], [3])}, "a"),
        ({"": {"n5": "2.0.0"}, "a/b": {"x": 1}}, "a/b"),
        ({"": {"n5": "2.0.0"}, "a/b": {"x": 1}}, "a"),
    ],
)
def test_K22_detection(documents: dict[str, Any], path: str) -> None:
    assert omnizarr.open(hierarchy(documents), path=path, mode="r").zarr_format == "n5"


def test_K22_an_attributes_json_may_be_of_another_program() -> None:
    for content in ({"x": 1}, {"n5": 4}, [], "text"):
        values = hierarchy({"": content})
        with pytest.raises(NodeNotFoundError) as caught:
            omnizarr.open(values)
        assert 'zarr_format="n5"' in (caught.value.hint or "")
        omnizarr.create_array(values, data=[1])
        assert omnizarr.open_array(values).zarr_format == 3
    group = omnizarr.open_group(hierarchy({"": {"x": 1}, "a": array_document([5], [3])}), zarr_format="n5", mode="r")
    assert (group.attrs, list(group)) == ({"x": 1}, ["a"])


def test_K22_a_directory_without_any_document_can_be_opened_on_request() -> None:
    values = hierarchy({"a": array_document([5], [3])})
    with pytest.raises(NodeNotFoundError):
        omnizarr.open(values)
    assert list(omnizarr.open_group(values, zarr_format="n5", mode="r")) == ["a"]
    with pytest.raises(NodeNotFoundError):
        omnizarr.open({}, zarr_format="n5")
    omnizarr.create_array(values, name="v3", data=[1])
    with pytest.raises(NodeNotFoundError):
        omnizarr.open(values, zarr_format="n5", path="v3")


def test_K22_documents_of_zarr_take_precedence() -> None:
    values = hierarchy({"": {"n5": "4.0.0", **array_document([5], [3])}})
    omnizarr.create_array(other := omnizarr.MemoryStore(), data=[1, 2], zarr_format=2)
    both = {**values, **{key: bytes(other.get(key) or b"") for key in other.list()}}
    assert omnizarr.open(both).zarr_format == 2
    assert omnizarr.open_array(both, zarr_format="n5").shape == (5,)


def test_K22_a_hierarchy_is_of_one_generation(tmp_path: Path) -> None:
    root = omnizarr.create_group(tmp_path / "x.n5", zarr_format="n5")
    root.create_array("a", data=[1])
    with pytest.raises(NodeTypeError, match="a group of N5 lies at"):
        omnizarr.create_array(tmp_path / "x.n5", name="b", data=[1])
    with pytest.raises(NodeExistsError):
        omnizarr.create_array(tmp_path / "x.n5", name="a", data=[1], zarr_format="n5")
    assert omnizarr.create_array(tmp_path / "x.n5", name="b", data=[1], zarr_format=None).zarr_format == "n5"
    assert omnizarr.open_group(tmp_path / "x.n5" / "g", mode="a").zarr_format == "n5"
    assert list(root) == ["a", "b", "g"]
    assert "n5" not in json.loads((tmp_path / "x.n5" / "g" / "attributes.json").read_text())
    with pytest.raises(ArgumentError, match="the name of a document"):
        root.create_group("attributes.json")


def test_K23_names_of_dimensions() -> None:
    store: dict[str, Any] = {}
    z = omnizarr.create_array(store, data=DATA, dimension_names=["y", None], zarr_format="n5")
    assert document(store, "attributes.json")["axes"] == ["", "y"]
    assert z.dimension_names == omnizarr.open_array(store).dimension_names == ("y", None)
    assert omnizarr.open_array(array_values(_ARRAY_DIMENSIONS=["a", "b"])).dimension_names == ("a", "b")
    for axes in (["x"], "xy", ["x", 3]):
        assert omnizarr.open_array(array_values(axes=axes)).dimension_names is None
    assert omnizarr.from_array(None, data=z, zarr_format=3).dimension_names == ("y", None)
