"""The oracles themselves: each peer reads back exactly what it wrote, through the protocol."""

from __future__ import annotations

import bz2
import json
import sys
import zlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tests.peers import (
    ENVIRONMENTS,
    LIBRARIES,
    Peer,
    PeerError,
    Unsupported,
    array_document,
    array_document_v1,
    array_document_v2,
)
from tests.peers.environments import RECIPES, Environment
from tests.peers.exchange import pack, pack_arguments, unpack, unpack_arguments

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
POINT = {"fields": [{"name": "x", "data_type": "int16"}, {"name": "y", "data_type": "float32"}]}
NANOSECONDS = {"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}}
RECTILINEAR = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[2, 3], 4]}}


def things(*items: Any) -> npt.NDArray[Any]:
    """An array of Python objects; NumPy must not look into them."""
    array = np.empty(len(items), object)
    for index, item in enumerate(items):
        array[index] = item
    return array


SAMPLES: dict[str, npt.NDArray[Any]] = {
    "int16": np.arange(35, dtype="<i2").reshape(5, 7),
    "big-endian": np.arange(35, dtype=">u4").reshape(5, 7),
    "0-d": np.array(2.5),
    "no elements": np.zeros((0, 3), "i4"),
    "not contiguous": np.arange(24).reshape(4, 6).T[::2],
    "nan with payload": np.array([0x7FC00001, 0x80000000], "<u4").view("<f4"),
    "bool": np.array([True, False]),
    "complex": np.array([1 + 2j, complex("nan")], "c8"),
    "dates": np.array(["2020-01-01", "NaT"], "M8[ns]"),
    "raw": np.array([b"\0\1", b"\2\0"], "V2"),
    "text": np.array(["a", "\U0001f980"], "<U2"),
    "struct": np.array([(1, [[2.0], [3.0]])], [("a", ">i2"), ("b", "<f4", (2, 1))]),
    "bfloat16": np.array([1, 2], ml_dtypes.bfloat16),
    "strings": np.array([["a"], ["\U0001f980"]], object),
    "bytes": np.array([b"", b"\0\xff"], object),
    "things": things(
        None, True, 2**70, -0.0, float("nan"), "", [1, [2.5]], {"a": {"b": None}}, np.arange(3, dtype=">i2")
    ),
    "aligned": np.array([(1, 2.5)], np.dtype([("a", "i1"), ("b", "<f8")], align=True)),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_arrays_are_exchanged_exactly(name: str) -> None:
    array = SAMPLES[name]
    arrived = unpack(pack(array))
    assert arrived.dtype == array.dtype
    assert arrived.shape == array.shape
    assert repr(arrived.tolist()) == repr(array.tolist())
    assert array.dtype == object or arrived.tobytes() == array.tobytes()


def test_arguments_are_exchanged_exactly() -> None:
    values = {
        "number": 1,
        "list": [1, None],
        "date": np.datetime64("NaT", "s"),
        "bytes": b"\xff",
        "array": np.arange(2),
    }
    arrived = unpack_arguments(json.loads(json.dumps(pack_arguments(values))))
    assert repr(arrived) == repr({**values, "bytes": np.bytes_(b"\xff")})


def test_structures_with_objects_cannot_be_exchanged() -> None:
    with pytest.raises(TypeError, match="Python objects"):
        pack(np.zeros(1, [("a", "O")]))


def test_recipes_create_the_libraries() -> None:
    recipes = {recipe.name: set(recipe.libraries) for recipe in RECIPES}
    # Tests start programs of their own in the environments without the protocol.
    assert {name: recipes[name] for name in ENVIRONMENTS} == {name: set(names) for name, names in ENVIRONMENTS.items()}


def show_or_skip(peer: Peer, library: str, path: Path, data: npt.NDArray[Any], document: dict[str, Any]) -> None:
    try:
        peer.write(library, path, data, document=document)
        found = peer.read(library, path)
    except Unsupported as missing:
        pytest.skip(missing.reason)
    # Byte order is not part of an element: some peers return elements in the machine's byte order.
    assert found.dtype.newbyteorder("=") == data.dtype.newbyteorder("=")
    assert found.shape == data.shape
    assert (
        found.tolist() == data.tolist()
        if data.dtype == object
        else found.astype(data.dtype).tobytes() == data.tobytes()
    )


LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (3, 4)},
    "zstd": {"chunks": (3, 4), "codecs": [LITTLE, ZSTD]},
    "shards": {"chunks": (2, 2), "shards": (4, 4), "codecs": [LITTLE, ZSTD]},
    "dots": {"chunks": (3, 4), "separator": "."},
    "rectilinear": {"chunk_grid": RECTILINEAR},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_peer_reads_what_it_wrote(zarr3_peer: Peer, tmp_path: Path, library: str, layout: str) -> None:
    data = np.arange(35, dtype="i4").reshape(5, 7)
    show_or_skip(zarr3_peer, library, tmp_path, data, array_document(data.shape, data.dtype, **LAYOUTS[layout]))


TYPES: dict[str, tuple[npt.NDArray[Any], dict[str, Any]]] = {
    "bool": (SAMPLES["bool"], {}),
    "float16": (np.array([1, np.nan, -np.inf], "f2"), {}),
    "complex128": (np.array([1 + 2j, complex("nan")]), {}),
    "r16": (SAMPLES["raw"], {"codecs": [{"name": "bytes"}]}),
    "bfloat16": (SAMPLES["bfloat16"], {"data_type": "bfloat16", "fill_value": 0}),
    "datetime64": (SAMPLES["dates"], {"data_type": NANOSECONDS, "fill_value": "NaT"}),
    "struct": (
        np.array([(1, 2.5), (3, 4.5)], [("x", "<i2"), ("y", "<f4")]),
        {"data_type": {"name": "struct", "configuration": POINT}, "fill_value": {"x": 0, "y": 0.0}},
    ),
    "string": (
        np.array(["a", "\U0001f980"], object),
        {"data_type": "string", "fill_value": "", "codecs": [{"name": "vlen-utf8"}]},
    ),
    "fixed text": (
        SAMPLES["text"],
        {"data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}, "fill_value": ""},
    ),
}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_peer_reads_its_data_types_or_reports_them_as_unsupported(
    zarr3_peer: Peer, tmp_path: Path, library: str, name: str
) -> None:
    data, members = TYPES[name]
    show_or_skip(zarr3_peer, library, tmp_path, data, array_document(data.shape, data.dtype, **members))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_peer_writes_version_2(zarr3_peer: Peer, tmp_path: Path, library: str) -> None:
    data = np.arange(35, dtype="<i4").reshape(5, 7)
    compressor = {"id": "zstd", "level": 1}
    document = array_document_v2(data.shape, data.dtype, chunks=(3, 4), compressor=compressor, fill_value=0)
    show_or_skip(zarr3_peer, library, tmp_path, data, document)
    assert (tmp_path / "1.1").exists()


OF_VERSION_2: dict[str, tuple[npt.NDArray[Any], dict[str, Any]]] = {
    "big-endian": (SAMPLES["big-endian"], {}),
    "columns first": (SAMPLES["int16"], {"order": "F", "chunks": (3, 4)}),
    "slashes": (SAMPLES["int16"], {"separator": "/", "chunks": (3, 4), "compressor": {"id": "zlib", "level": 1}}),
    "0-d": (SAMPLES["0-d"], {}),
    "complex": (SAMPLES["complex"], {"fill_value": [0.0, "NaN"]}),
    "struct": (np.array([(1, 2.5), (3, np.nan)], [("a", ">i2"), ("b", "<f4")]), {}),
    "struct of arrays": (SAMPLES["struct"], {}),
    "text": (SAMPLES["text"], {"fill_value": ""}),
    "strings": (SAMPLES["strings"], {"filters": [{"id": "vlen-utf8"}], "fill_value": ""}),
}


@pytest.mark.parametrize("name", OF_VERSION_2)
@pytest.mark.parametrize("library", ["zarr2", "zarr", "tensorstore"])
def test_peers_read_what_they_write_of_version_2(
    request: pytest.FixtureRequest, tmp_path: Path, library: str, name: str
) -> None:
    peer: Peer = request.getfixturevalue("zarr2_peer" if library == "zarr2" else "zarr3_peer")
    data, members = OF_VERSION_2[name]
    show_or_skip(peer, library, tmp_path, data, array_document_v2(data.shape, data.dtype, **members))


@pytest.mark.parametrize("library", ["zarr", "tensorstore", "zarrista"])
def test_a_peer_describes_an_array(zarr3_peer: Peer, tmp_path: Path, library: str) -> None:
    if library not in zarr3_peer.libraries:
        pytest.skip(zarr3_peer.environment.missing[library])
    document = array_document((5, 7), "i2", chunks=(2, 2), shards=(4, 4), attributes={"unit": "K"})
    zarr3_peer.write(library, tmp_path, np.ones((5, 7), "i2"), document=document, array_path="deep/down")
    described = zarr3_peer.describe(library, tmp_path, "deep/down")
    assert described["kind"] == "array"
    assert described["shape"] == [5, 7]
    assert described["chunks"] == [2, 2]
    assert described["dtype"] == "<i2"
    assert described["attributes"]["unit"] == "K"
    assert described["document"]["codecs"][0]["name"] == "sharding_indexed"


def test_a_peer_creates_and_describes_groups(zarr3_peer: Peer, tmp_path: Path) -> None:
    try:
        zarr3_peer.create_group("zarr", tmp_path, "a/b", {"unit": "K"})
        zarr3_peer.write("zarr", tmp_path, np.arange(3), array_path="a/c")
        zarr3_peer.consolidate("zarr", tmp_path)
    except Unsupported as missing:
        pytest.skip(missing.reason)
    assert zarr3_peer.describe("zarr", tmp_path)["members"] == ["a", "a/b", "a/c"]
    assert zarr3_peer.describe("zarr", tmp_path, "a/b")["attributes"] == {"unit": "K"}
    assert "consolidated_metadata" in zarr3_peer.describe("zarr", tmp_path)["document"]


@pytest.mark.parametrize("zarr_version", [2, 3])
def test_zarr2_writes_version_2_and_the_draft_of_2020(zarr2_peer: Peer, tmp_path: Path, zarr_version: int) -> None:
    data = np.arange(35, dtype=">i4").reshape(5, 7)
    compressor = {"id": "zlib", "level": 1}
    zarr2_peer.create_group("zarr2", tmp_path, zarr_version=zarr_version)
    zarr2_peer.write(
        "zarr2", tmp_path, data, array_path="a/b", zarr_version=zarr_version, chunks=(3, 4), compressor=compressor
    )
    assert zarr2_peer.read("zarr2", tmp_path, "a/b").tolist() == data.tolist()
    assert zarr2_peer.describe("zarr2", tmp_path, "a/b")["dtype"] == ">i4"
    assert zarr2_peer.describe("zarr2", tmp_path)["members"] == ["a", "a/b"]
    chunk = tmp_path / ("a/b/0.0" if zarr_version == 2 else "data/root/a/b/c0/0")
    assert len(zlib.decompress(chunk.read_bytes())) == 3 * 4 * 4


def test_zarr2_takes_attributes_objects_and_fill_values(zarr2_peer: Peer, tmp_path: Path) -> None:
    attributes = {"unit": "K", "nan": float("nan")}
    arguments: dict[str, Any] = {"chunks": (1,), "fill_value": np.datetime64("NaT", "s")}
    dates = np.array(["2020-02-29", "NaT"], "M8[s]")
    zarr2_peer.write("zarr2", tmp_path, dates, array_path="dates", attributes=attributes, **arguments)
    described = zarr2_peer.describe("zarr2", tmp_path, "dates")
    assert repr(described["attributes"]) == repr(dict(sorted(attributes.items())))
    assert repr(described["fill_value"][()]) == repr(arguments["fill_value"])
    assert described["order"] == "C"
    objects = things("a", 1, None, [True, {"b": 2.5}])
    for codec in ("json2", "msgpack2"):
        zarr2_peer.write("zarr2", tmp_path, objects, array_path=codec, object_codec={"id": codec})
        assert zarr2_peer.read("zarr2", tmp_path, codec).tolist() == objects.tolist()
    zarr2_peer.create_group("zarr2", tmp_path)
    zarr2_peer.consolidate("zarr2", tmp_path)
    gathered = json.loads((tmp_path / ".zmetadata").read_text())["metadata"]
    assert gathered.keys() >= {"dates/.zarray", "dates/.zattrs", "json2/.zarray"}


def test_zarr2_writes_shards_of_the_draft_of_2020(zarr2_peer: Peer, tmp_path: Path) -> None:
    data = np.arange(35, dtype="<i4").reshape(5, 7)
    shards: dict[str, Any] = {"zarr_version": 3, "chunks": (2, 2), "chunks_per_shard": (2, 2), "compressor": None}
    zarr2_peer.create_group("zarr2", tmp_path, zarr_version=3)
    zarr2_peer.write("zarr2", tmp_path, data, array_path="a", attributes={"unit": "K"}, **shards)
    assert zarr2_peer.read("zarr2", tmp_path, "a").tolist() == data.tolist()
    assert zarr2_peer.describe("zarr2", tmp_path, "a")["attributes"] == {"unit": "K"}
    assert (tmp_path / "data/root/a/c0/0").stat().st_size == 4 * (2 * 2 * 4) + 4 * 16
    zarr2_peer.consolidate("zarr2", tmp_path)
    assert (tmp_path / "meta/root/consolidated/.zmetadata").exists()
    assert "storage_transformers" in (tmp_path / "meta/root/a.array.json").read_text()
    zarr2_peer.resize("zarr2", tmp_path, (6, 7), "a")
    assert zarr2_peer.describe("zarr2", tmp_path, "a")["shape"] == [6, 7]
    assert "storage_transformers" not in (tmp_path / "meta/root/a.array.json").read_text()


def test_zarr2_writes_and_reads_an_array_at_the_root_of_the_draft(zarr2_peer: Peer, tmp_path: Path) -> None:
    zarr2_peer.write("zarr2", tmp_path, np.array(3, "<i2"), zarr_version=3)
    assert (tmp_path / "data/root/c0").exists()
    assert zarr2_peer.read("zarr2", tmp_path).tolist() == 3
    assert zarr2_peer.describe("zarr2", tmp_path)["kind"] == "array"


def test_zarr1_writes_and_describes_version_1(zarr1_peer: Peer, tmp_path: Path) -> None:
    data = np.arange(35, dtype=">i4").reshape(5, 7)
    arguments: dict[str, Any] = {"chunks": (3, 4), "compression": "bz2", "fill_value": 7, "attributes": {"unit": "K"}}
    zarr1_peer.write("zarr1", tmp_path, data, array_path="a", **arguments)
    assert zarr1_peer.read("zarr1", tmp_path, "a").tobytes() == data.tobytes()
    described = zarr1_peer.describe("zarr1", tmp_path, "a")
    assert described["document"]["compression_opts"] == 1
    assert (described["shape"], described["chunks"], described["dtype"]) == ([5, 7], [3, 4], ">i4")
    assert (described["order"], described["fill_value"][()]) == ("C", 7)
    assert described["attributes"] == {"unit": "K"}
    assert len(bz2.decompress((tmp_path / "a/1.1").read_bytes())) == 3 * 4 * 4
    zarr1_peer.resize("zarr1", tmp_path, (5, 9), "a")
    assert zarr1_peer.read("zarr1", tmp_path, "a")[0].tolist() == [*range(7), 7, 7]


OF_VERSION_1: dict[str, tuple[npt.NDArray[Any], dict[str, Any]]] = {
    **{name: OF_VERSION_2[name] for name in ("big-endian", "struct", "columns first")},
    "blosc": (
        SAMPLES["int16"],
        {"compression": "blosc", "compression_opts": {"cname": "lz4", "clevel": 5, "shuffle": 2}},
    ),
    "text": (SAMPLES["text"], {}),
    "dates": (SAMPLES["dates"], {"compression": "zlib", "compression_opts": 1}),
}


@pytest.mark.parametrize("name", OF_VERSION_1)
def test_zarr1_reads_what_it_writes(zarr1_peer: Peer, tmp_path: Path, name: str) -> None:
    data, members = OF_VERSION_1[name]
    show_or_skip(zarr1_peer, "zarr1", tmp_path, data, array_document_v1(data.shape, data.dtype, **members))


def test_zarr1_stores_columns_first_only_with_blosc(zarr1_peer: Peer, tmp_path: Path) -> None:
    """The reason to have this peer: its metadata say Fortran order for both."""
    data = np.arange(6, dtype="u1").reshape(2, 3)
    for name, compression in {"plain": None, "blosc": "blosc"}.items():
        opts = {"clevel": 0} if name == "blosc" else None
        zarr1_peer.write(
            "zarr1", tmp_path, data, array_path=name, order="F", compression=compression, compression_opts=opts
        )
    assert (tmp_path / "plain/0.0").read_bytes() == data.tobytes("C")
    assert (tmp_path / "blosc/0.0").read_bytes().endswith(data.tobytes("F"))


@pytest.mark.parametrize("compressor", ["zstd", "snappy"])
def test_zarr1_reports_missing_compressors(zarr1_peer: Peer, tmp_path: Path, compressor: str) -> None:
    with pytest.raises(Unsupported, match=compressor):
        zarr1_peer.write("zarr1", tmp_path, np.arange(3), compression_opts={"cname": compressor})


def test_zarr_takes_attributes_of_version_2(zarr3_peer: Peer, tmp_path: Path) -> None:
    if "zarr" not in zarr3_peer.libraries:
        pytest.skip(zarr3_peer.environment.missing["zarr"])
    data = np.array([1.5, np.nan])
    document = array_document_v2(data.shape, data.dtype, fill_value="NaN", order="F")
    zarr3_peer.write("zarr", tmp_path, data, array_path="a", document=document, attributes={"unit": "K"})
    described = zarr3_peer.describe("zarr", tmp_path, "a")
    assert described["attributes"] == {"unit": "K"}
    assert described["order"] == "F"
    assert np.isnan(described["fill_value"])
    zarr3_peer.resize("zarr", tmp_path, [3], "a")
    assert zarr3_peer.describe("zarr", tmp_path, "a")["shape"] == [3]


@pytest.mark.parametrize("library", LIBRARIES)
def test_unknown_parts_are_unsupported(zarr3_peer: Peer, tmp_path: Path, library: str) -> None:
    codecs = [LITTLE, {"name": "example.unknown"}]
    with pytest.raises(Unsupported, match=r"example\.unknown|not installed"):
        zarr3_peer.write(library, tmp_path, np.arange(3), codecs=codecs)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("broken", ["chunk", "document"])
def test_broken_data_is_an_error_and_not_unsupported(
    zarr3_peer: Peer, tmp_path: Path, library: str, broken: str
) -> None:
    if library not in zarr3_peer.libraries:
        pytest.skip(zarr3_peer.environment.missing[library])
    zarr3_peer.write(library, tmp_path, np.arange(1, 4), codecs=[LITTLE, {"name": "crc32c"}])
    place = tmp_path / {"chunk": "c/0", "document": "zarr.json"}[broken]
    stored = place.read_bytes()
    place.write_bytes(bytes([stored[0] ^ 1]) + stored[1:])
    with pytest.raises(PeerError):
        zarr3_peer.read(library, tmp_path)


def test_a_process_that_dies_is_an_error_and_the_next_request_starts_another(tmp_path: Path) -> None:
    class Dying(Environment):
        python = Path(sys.executable)

    with Peer(Dying("dying", ("nothing",))) as peer:
        with pytest.raises(Unsupported, match="ModuleNotFoundError"):
            peer.read("nothing", tmp_path)
        assert peer._process is not None
        peer._process.kill()
        peer._process.wait()
        with pytest.raises(PeerError, match="ended with code"):
            peer.read("nothing", tmp_path)
        with pytest.raises(Unsupported):
            peer.read("nothing", tmp_path)
