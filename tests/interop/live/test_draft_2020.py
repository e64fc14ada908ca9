"""zarr-python 2 reads what we write as the draft of 2020, and we read what it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.test_arrays_2020 import BIG_ENDIAN
from tests.peers import Peer, PeerError

import omnizarr

pytestmark = pytest.mark.filterwarnings("error")

CONVENTIONS: dict[str, Any] = {"zarr_format": "3-draft-2020", "conventions": "zarr-python-2"}

TYPES = [
    *("bool", "int8", "uint8", "<i2", ">i4", "<i8", "<u2", ">u8", "<f2", ">f4", "<f8", "<c8", ">c16"),
    *("S3", "<U2", ">U2", "<M8[ns]", ">m8[s]"),
    [("x", "<i2"), ("y", ">f4"), ("z", "S2")],
]


def elements(dtype: Any, shape: tuple[int, ...] = (5, 7)) -> np.ndarray[Any, Any]:
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype.names is not None:
        found = np.zeros(shape, dtype)
        for name in dtype.names:
            found[name] = elements(dtype[name], shape)
        return found
    numbers = np.arange(count).reshape(shape)
    if dtype.kind in "SU":
        return numbers.astype(dtype)
    return (numbers % 2 if dtype.kind == "b" else numbers).astype("i8" if dtype.kind in "mM" else dtype).astype(dtype)


def same(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    return found.shape == expected.shape and repr(found.tolist()) == repr(expected.tolist())


@pytest.mark.parametrize("shards", [None, (4, 6)])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_zarr_python_2_reads_our_types(zarr2_peer: Peer, tmp_path: Path, dtype: Any, shards: Any) -> None:
    data = elements(dtype)
    options: dict[str, Any] = {"chunks": (2, 3), "shards": shards, **CONVENTIONS}
    omnizarr.create_array(tmp_path, name="a/b", data=data, **options, attributes={"unit": "K"})
    assert same(zarr2_peer.read("zarr2", tmp_path, "a/b"), data)
    about = zarr2_peer.describe("zarr2", tmp_path, "a/b")
    assert (about["chunks"], about["attributes"]) == ([2, 3], {"unit": "K"})


COMPRESSORS: list[Any] = [
    None,
    "gzip",
    "zstd",
    {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "bitshuffle"}},
    {"name": "numcodecs.zlib", "configuration": {"level": 1}},
    {"name": "numcodecs.bz2", "configuration": {"level": 1}},
    {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}},
    {"name": "numcodecs.lzma", "configuration": {"preset": 1}},
]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("separator", ["/", "."])
@pytest.mark.parametrize("compressors", COMPRESSORS, ids=str)
def test_zarr_python_2_reads_our_codecs(
    zarr2_peer: Peer, tmp_path: Path, compressors: Any, separator: str, order: Any
) -> None:
    data = elements("<i4")
    omnizarr.create_array(
        tmp_path,
        name="a",
        data=data,
        chunks=(3, 2),
        compressors=compressors,
        chunk_key_encoding=separator,
        order=order,
        zarr_format="3-draft-2020",
    )
    assert same(zarr2_peer.read("zarr2", tmp_path, "a"), data)


@pytest.mark.parametrize("fill", [0, 1.5, np.nan, None])
def test_zarr_python_2_reads_our_fills(zarr2_peer: Peer, tmp_path: Path, fill: Any) -> None:
    array = omnizarr.create_array(
        tmp_path, name="a", shape=(4, 4), chunks=(2, 2), dtype="f8", fill_value=fill, zarr_format="3-draft-2020"
    )
    array[:2] = 5
    found = zarr2_peer.read("zarr2", tmp_path, "a")
    assert same(found[:2], np.full((2, 4), 5.0))
    if fill is not None:
        assert same(found, array[...])


@pytest.mark.parametrize(("options", "_"), BIG_ENDIAN)
def test_zarr_python_2_reads_our_big_endian_filters(
    zarr2_peer: Peer, tmp_path: Path, options: dict[str, Any], _: str
) -> None:
    data = np.arange(4.0)
    omnizarr.create_array(tmp_path, name="a", data=data, **CONVENTIONS, **options)
    assert zarr2_peer.read("zarr2", tmp_path, "a").tolist() == data.tolist()


def test_zarr_python_2_reads_our_filters(zarr2_peer: Peer, tmp_path: Path) -> None:
    data = elements("<i4")
    delta = {"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}}
    omnizarr.create_array(tmp_path, name="a", data=data, filters=[delta], **CONVENTIONS)
    texts = np.array(["a", "", "ü" * 9], object)
    omnizarr.create_array(
        tmp_path, name="t", data=texts, dtype=object, serializer="vlen-utf8", fill_value="", **CONVENTIONS
    )
    assert same(zarr2_peer.read("zarr2", tmp_path, "a"), data)
    assert same(zarr2_peer.read("zarr2", tmp_path, "t"), texts)


def test_zarr_python_2_reads_our_root_array_and_a_resized_array(zarr2_peer: Peer, tmp_path: Path) -> None:
    data = elements("<i4")
    array = omnizarr.create_array(tmp_path, data=data, chunks=(2, 3), shards=(4, 6), **CONVENTIONS)
    array.append(data)
    assert same(zarr2_peer.read("zarr2", tmp_path, "/"), np.concatenate([data, data]))
    array.resize((3, 3))
    assert same(zarr2_peer.read("zarr2", tmp_path, "/"), data[:3, :3])


@pytest.mark.parametrize("options", [{}, {"chunks": (), "shards": ()}], ids=["plain", "sharded"])
def test_A13_zarr_python_2_reads_our_array_without_dimensions(
    zarr2_peer: Peer, tmp_path: Path, options: dict[str, Any]
) -> None:
    """It looks for `c0`, not for `c` as the text says, and takes a missing chunk for the fill value."""
    omnizarr.create_array(tmp_path / "ours", name="a", data=np.array(5), **CONVENTIONS, **options)
    assert zarr2_peer.read("zarr2", tmp_path / "ours", "a") == 5
    zarr2_peer.write("zarr2", tmp_path / "its", np.array(5), array_path="a", zarr_version=3)
    array = omnizarr.open_array(tmp_path / "its", path="a")
    assert array[...] == 5
    array[...] = 6
    assert zarr2_peer.read("zarr2", tmp_path / "its", "a") == 6


@pytest.mark.parametrize("consolidated", [False, True])
def test_zarr_python_2_reads_our_groups(zarr2_peer: Peer, tmp_path: Path, consolidated: bool) -> None:
    root = omnizarr.create_group(tmp_path, zarr_format="3-draft-2020", attributes={"title": "x"})
    root.create_array("a", data=elements("<i4"))
    root.create_group("g", attributes={"of": [1, None]})
    root.create_array("implied/b", data=elements("<f8"))
    if consolidated:
        omnizarr.consolidate_metadata(tmp_path)
    about = zarr2_peer.describe("zarr2", tmp_path)
    assert about["attributes"] == {"title": "x"}
    assert set(about["members"]) - {"consolidated"} == {"a", "g", "implied", "implied/b"}
    assert zarr2_peer.describe("zarr2", tmp_path, "g")["attributes"] == {"of": [1, None]}
    assert same(zarr2_peer.read("zarr2", tmp_path, "implied/b"), elements("<f8"))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"compressor": None, "order": "F"}, {"dimension_separator": "."}], ids=["plain", "raw", "dots"]
)
def test_we_read_zarr_python_2_arrays(zarr2_peer: Peer, tmp_path: Path, dtype: Any, options: dict[str, Any]) -> None:
    data = elements(dtype)
    zarr2_peer.write("zarr2", tmp_path, data, array_path="a/b", zarr_version=3, chunks=[2, 3], **options)
    array = omnizarr.open_array(tmp_path, path="a/b")
    assert same(array[...], data)
    array[1:4, 2:5] = data[3:0:-1, 2:5]
    data[1:4, 2:5] = data[3:0:-1, 2:5].copy()
    assert same(zarr2_peer.read("zarr2", tmp_path, "a/b"), data)


def test_we_read_zarr_python_2_groups(zarr2_peer: Peer, tmp_path: Path) -> None:
    zarr2_peer.create_group("zarr2", tmp_path, "g/h", {"a": 1}, zarr_version=3)
    zarr2_peer.write("zarr2", tmp_path, elements("<i4"), array_path="g/x", zarr_version=3)
    root = omnizarr.open_group(tmp_path)
    assert sorted(name for name, _ in root.members(max_depth=None)) == ["g", "g/h", "g/x"]
    assert root["g/h"].attrs["a"] == 1
    assert same(root["g/x"][...], elements("<i4"))
    root["g/x"].attrs["b"] = 2
    assert zarr2_peer.describe("zarr2", tmp_path, "g/x")["attributes"] == {"b": 2}


def test_a_codec_without_an_address_is_a_filter(zarr2_peer: Peer, tmp_path: Path) -> None:
    data = elements("<i4")
    crc32 = {"name": "numcodecs.crc32", "configuration": {}}
    array = omnizarr.create_array(tmp_path, name="a", data=data, compressors=["gzip", crc32], **CONVENTIONS)
    assert same(zarr2_peer.read("zarr2", tmp_path, "a"), data)
    assert same(omnizarr.open_array(tmp_path, path="a")[...], data)
    assert array.attrs.asdict() == {}


def test_the_peer_rejects_what_it_cannot_read(zarr2_peer: Peer, tmp_path: Path) -> None:
    with pytest.raises(PeerError):
        zarr2_peer.read("zarr2", tmp_path / "nothing", "a")


def test_new_arrays_in_its_hierarchies_follow_its_conventions(zarr2_peer: Peer, tmp_path: Path) -> None:
    data = elements("<i4")
    filters = [{"id": "delta", "dtype": "<i4"}]
    zarr2_peer.write("zarr2", tmp_path, data, array_path="a", zarr_version=3, filters=filters)
    root = omnizarr.open_group(tmp_path)
    root.create_array("b", data=data, filters=filters)
    root.create_array("c/d", data=np.array(5))
    assert same(zarr2_peer.read("zarr2", tmp_path, "b"), data)
    assert zarr2_peer.read("zarr2", tmp_path, "c/d") == 5
