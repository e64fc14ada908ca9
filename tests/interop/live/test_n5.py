"""TensorStore, zarr-python 2 and z5py read what we write as N5, and we read what they write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from tests.corpora.making import sample
from tests.peers import Peer, Unsupported

import omnizarr
from omnizarr.codecs import Blosc, Zstd
from omnizarr.codecs.array_to_bytes.n5_block import N5_TYPES
from omnizarr.codecs.numcodecs_ import Bz2, Lzma, Zlib

Peers: TypeAlias = Callable[[str], Peer]

LIBRARIES = ("tensorstore", "zarr2", "z5py")
BLOSC: dict[str, Any] = {"type": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0}
COMPRESSIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "raw": ({"type": "raw"}, None),
    "gzip": ({"type": "gzip", "level": 5, "useZlib": False}, "gzip"),
    "zlib": ({"type": "gzip", "level": 2, "useZlib": True}, Zlib(2)),
    "bzip2": ({"type": "bzip2", "blockSize": 3}, Bz2(3)),
    "xz": ({"type": "xz", "preset": 2}, Lzma(preset=2)),
    "blosc": (BLOSC, Blosc("zstd", 3, "bitshuffle")),
    "blosc lz4": ({**BLOSC, "cname": "lz4", "shuffle": 1}, Blosc("lz4", 3, "shuffle")),
    "blosc without shuffle": ({**BLOSC, "shuffle": 0}, Blosc("zstd", 3, "noshuffle")),
    "zstd": ({"type": "zstd", "level": 4}, Zstd(4)),
}
"""The member of a document, and the compressor of `create_array`."""
SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "1-D": ((7,), (3,)),
    "whole blocks": ((4, 6), (2, 3)),
    "short blocks": ((7, 5), (4, 3)),
    "one block": ((2, 3), (5, 5)),
    "3-D": ((4, 5, 3), (2, 3, 2)),
    "4-D": ((2, 3, 4, 5), (2, 2, 3, 2)),
    "0-D": ((), ()),
}
CASES = [
    *((name, "gzip", "short blocks") for name in sorted(N5_TYPES)),
    *(("uint16", name, "short blocks") for name in COMPRESSIONS),
    *(("float64", name, "3-D") for name in COMPRESSIONS),
    *(("int32", "zlib", name) for name in SHAPES),
]
"""Data type, compression and shape."""


@pytest.fixture
def peers(request: pytest.FixtureRequest) -> Peers:
    """The peer that has a library."""
    names = {"tensorstore": "zarr3_peer", "zarr2": "zarr2_peer", "z5py": "z5_peer"}

    def find(library: str) -> Peer:
        peer: Peer = request.getfixturevalue(names[library])
        return peer

    return find


def elements(dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    return sample(dtype, shape)


def document(data: npt.NDArray[Any], chunks: tuple[int, ...], compression: dict[str, Any]) -> dict[str, Any]:
    return {
        "dimensions": list(data.shape[::-1]),
        "blockSize": list(chunks[::-1]),
        "dataType": data.dtype.name,
        "compression": compression,
    }


def skip_what_z5py_lacks(library: str, shape: str) -> None:
    if library == "z5py" and shape == "0-D":
        pytest.skip("z5py has no arrays without dimensions")


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("dtype", "compression", "shape"), CASES)
def test_K8_K10_K14_peers_read_what_we_write(
    peers: Peers, tmp_path: Path, library: str, dtype: str, compression: str, shape: str
) -> None:
    skip_what_z5py_lacks(library, shape)
    data, chunks = elements(dtype, SHAPES[shape][0]), SHAPES[shape][1]
    z = omnizarr.create_array(
        tmp_path, name="g/a", data=data, chunks=chunks, compressors=COMPRESSIONS[compression][1], zarr_format="n5"
    )
    stored = json.loads((tmp_path / "g" / "a" / "attributes.json").read_text())
    assert stored == document(data, chunks, COMPRESSIONS[compression][0])
    assert peers(library).read(library, tmp_path, "g/a").tobytes() == data.tobytes()
    if z.ndim and z.shape[0] > 1:
        z.resize((z.shape[0] - 1, *z.shape[1:]))
        z.append(data[-1:])
        z.append(data[:2])
        expected = np.concatenate([data, data[:2]])
        assert peers(library).read(library, tmp_path, "g/a").tobytes() == expected.tobytes()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("dtype", "compression", "shape"), CASES)
def test_K8_K10_K14_K17_we_read_what_peers_write(
    peers: Peers, tmp_path: Path, library: str, dtype: str, compression: str, shape: str
) -> None:
    skip_what_z5py_lacks(library, shape)
    data, chunks = elements(dtype, SHAPES[shape][0]), SHAPES[shape][1]
    members = document(data, chunks, COMPRESSIONS[compression][0])
    peers(library).write(library, tmp_path, data, array_path="g/a", document=members)
    z = omnizarr.open_array(tmp_path, path="g/a")
    assert (z.shape, z.chunks, z.dtype, z.zarr_format) == (data.shape, chunks, data.dtype, "n5")
    assert z[...].tobytes() == data.tobytes()
    if z.ndim:
        z[-1:] = data[:1]
        data = data.copy()
        data[-1:] = data[:1]
        assert peers(library).read(library, tmp_path, "g/a").tobytes() == data.tobytes()


def test_K9_lz4_of_z5py(z5_peer: Peer, tmp_path: Path) -> None:
    """z5py stores one bare block, and calls its level a block size."""
    data = np.arange(35, dtype="u2").reshape(7, 5)
    z5_peer.write(
        "z5py", tmp_path, data, array_path="a", document=document(data, (4, 3), {"type": "lz4", "blockSize": 6})
    )
    z = omnizarr.open_array(tmp_path, path="a")
    np.testing.assert_array_equal(z[...], data)
    z[...] = data[::-1]
    np.testing.assert_array_equal(z5_peer.read("z5py", tmp_path, "a"), data[::-1])


@pytest.mark.parametrize(
    "compression",
    [
        {"type": "lz4", "id": "lz4", "acceleration": 1},
        {"type": "zstd", "id": "zstd", "level": 3, "checksum": False},
        {"type": "lzma", "format": 2, "check": -1, "preset": 6, "filters": None},
    ],
)
def test_K11_codecs_of_zarr_python_2(zarr2_peer: Peer, tmp_path: Path, compression: dict[str, Any]) -> None:
    data = np.arange(35, dtype="u2").reshape(7, 5)
    zarr2_peer.write("zarr2", tmp_path, data, array_path="a", document=document(data, (4, 3), compression))
    z = omnizarr.open_array(tmp_path, path="a")
    np.testing.assert_array_equal(z[...], data)
    z[...] = data[::-1]
    np.testing.assert_array_equal(zarr2_peer.read("zarr2", tmp_path, "a"), data[::-1])


def test_K1_K2_K6_K7_zarr_python_2_sees_our_hierarchy(zarr2_peer: Peer, tmp_path: Path) -> None:
    root = omnizarr.create_group(tmp_path, zarr_format="n5", attributes={"title": "x"})
    root.create_group("g", attributes={"deep": [1, {"a": None}]})
    root.create_array("g/a", data=np.arange(6).reshape(2, 3), chunks=(1, 2), attributes={"unit": "nm"})
    assert zarr2_peer.describe("zarr2", tmp_path)["attributes"] == {"title": "x"}
    assert zarr2_peer.describe("zarr2", tmp_path, "g")["attributes"] == {"deep": [1, {"a": None}]}
    described = zarr2_peer.describe("zarr2", tmp_path, "g/a")
    assert (described["attributes"], described["shape"], described["chunks"]) == ({"unit": "nm"}, [2, 3], [1, 2])
    assert zarr2_peer.describe("zarr2", tmp_path)["members"] == ["g", "g/a"]


def test_K13_K23_tensorstore_sees_the_dimensions_in_reverse(zarr3_peer: Peer, tmp_path: Path) -> None:
    omnizarr.create_array(
        tmp_path, data=np.ones((2, 3), "u1"), chunks=(1, 2), zarr_format="n5", dimension_names=["y", "x"]
    )
    try:
        described = zarr3_peer.describe("tensorstore", tmp_path)
    except Unsupported as missing:
        pytest.skip(missing.reason)
    assert described["document"]["axes"] == ["x", "y"]
    assert described["document"]["dimensions"] == [3, 2]
