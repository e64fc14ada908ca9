"""The oracles work by themselves: what each peer writes it reads back, exactly, through the protocol."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tests.peers import ENVIRONMENTS, LIBRARIES, Peer, PeerError, Unsupported, array_document
from tests.peers.environments import RECIPES, Environment
from tests.peers.exchange import pack, unpack

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
POINT = {"fields": [{"name": "x", "data_type": "int16"}, {"name": "y", "data_type": "float32"}]}
NANOSECONDS = {"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}}
RECTILINEAR = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[2, 3], 4]}}

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
}


@pytest.mark.parametrize("name", SAMPLES)
def test_arrays_travel_exactly(name: str) -> None:
    array = SAMPLES[name]
    arrived = unpack(pack(array))
    assert arrived.dtype == array.dtype
    assert arrived.shape == array.shape
    assert arrived.tolist() == array.tolist() if array.dtype == object else arrived.tobytes() == array.tobytes()


def test_recipes_make_the_libraries_that_can_be_asked() -> None:
    assert {recipe.name: set(recipe.libraries) for recipe in RECIPES} == {
        name: set(libraries) for name, libraries in ENVIRONMENTS.items()
    }


def show_or_skip(peer: Peer, library: str, path: Path, data: npt.NDArray[Any], document: dict[str, Any]) -> None:
    try:
        peer.write(library, path, data, document=document)
        found = peer.read(library, path)
    except Unsupported as missing:
        pytest.skip(missing.reason)
    assert found.dtype == data.dtype
    assert found.shape == data.shape
    assert found.tolist() == data.tolist() if data.dtype == object else found.tobytes() == data.tobytes()


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
def test_a_peer_reads_its_data_types_or_says_that_it_has_none(
    zarr3_peer: Peer, tmp_path: Path, library: str, name: str
) -> None:
    data, members = TYPES[name]
    show_or_skip(zarr3_peer, library, tmp_path, data, array_document(data.shape, data.dtype, **members))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_peer_writes_version_2(zarr3_peer: Peer, tmp_path: Path, library: str) -> None:
    data = np.arange(35, dtype="<i4").reshape(5, 7)
    document = {
        "zarr_format": 2,
        "shape": [5, 7],
        "chunks": [3, 4],
        "dtype": "<i4",
        "compressor": {"id": "zstd", "level": 1},
        "fill_value": 0,
        "order": "C",
        "filters": None,
        "dimension_separator": ".",
    }
    show_or_skip(zarr3_peer, library, tmp_path, data, document)
    assert (tmp_path / "1.1").exists()


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


def test_a_peer_makes_and_describes_groups(zarr3_peer: Peer, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_unknown_is_unsupported(zarr3_peer: Peer, tmp_path: Path, library: str) -> None:
    codecs = [LITTLE, {"name": "example.nobody-knows"}]
    with pytest.raises(Unsupported, match=r"example\.nobody-knows|not installed"):
        zarr3_peer.write(library, tmp_path, np.arange(3), codecs=codecs)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("broken", ["chunk", "document"])
def test_what_is_broken_is_not_unsupported(zarr3_peer: Peer, tmp_path: Path, library: str, broken: str) -> None:
    if library not in zarr3_peer.libraries:
        pytest.skip(zarr3_peer.environment.missing[library])
    zarr3_peer.write(library, tmp_path, np.arange(1, 4), codecs=[LITTLE, {"name": "crc32c"}])
    place = tmp_path / {"chunk": "c/0", "document": "zarr.json"}[broken]
    stored = place.read_bytes()
    place.write_bytes(bytes([stored[0] ^ 1]) + stored[1:])
    with pytest.raises(PeerError):
        zarr3_peer.read(library, tmp_path)


def test_a_process_that_dies_is_an_error_and_the_next_question_starts_another(tmp_path: Path) -> None:
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
