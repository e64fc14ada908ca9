"""Groups, attributes, dimension names and consolidated metadata, in both directions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from tests.interop.verdict import need
from tests.peers import Peer

ATTRIBUTES: dict[str, Any] = {
    "text": 'Höhe 🦀\n"quoted" \\ \u0000',
    "numbers": [0, -1, 2**60, 1.5, 1e-300, 0.1],
    "nested": {"": None, "yes": True, "empty": [{}, []]},
    "ключ": "значение",
}
MEMBERS = ["a", "a/b", "a/b/deep", "empty", "größe x", "plain"]


def array_at(root: omnizarr.Group, path: str) -> omnizarr.Array:
    array = root[path]
    assert isinstance(array, omnizarr.Array)
    return array


def make_ours(place: Path) -> omnizarr.Group:
    root = omnizarr.create_group(place, attributes=ATTRIBUTES)
    root.create_array("plain", data=np.arange(12).reshape(3, 4), dimension_names=["y", None], attributes=ATTRIBUTES)
    root.create_array("a/b/deep", data=np.arange(5, dtype="f4"), chunks=2, shards=(4,), dimension_names=["x"])
    root["a/b"].attrs.update(ATTRIBUTES)
    root.create_group("empty")
    root.create_array("größe x", data=np.array(3))
    return root


@pytest.mark.parametrize("library", ["zarr", "zarrista"])
@pytest.mark.parametrize("consolidated", [False, True])
def test_peers_see_our_hierarchy(zarr3_peer: Peer, tmp_path: Path, library: str, consolidated: bool) -> None:
    need(zarr3_peer, library)
    make_ours(tmp_path)
    if consolidated:
        omnizarr.consolidate_metadata(tmp_path)
    root = zarr3_peer.describe(library, tmp_path)
    assert (root["kind"], root["attributes"]) == ("group", ATTRIBUTES)
    assert sorted(root["members"]) == MEMBERS
    assert zarr3_peer.describe(library, tmp_path, "a")["attributes"] == {}
    assert zarr3_peer.describe(library, tmp_path, "a/b")["attributes"] == ATTRIBUTES
    assert zarr3_peer.describe(library, tmp_path, "empty")["members"] == []
    assert zarr3_peer.read(library, tmp_path, "größe x") == 3


@pytest.mark.parametrize("library", ["zarr", "tensorstore", "zarrista"])
def test_peers_see_our_arrays(zarr3_peer: Peer, tmp_path: Path, library: str) -> None:
    need(zarr3_peer, library)
    make_ours(tmp_path)
    plain = zarr3_peer.describe(library, tmp_path, "plain")
    assert plain["attributes"] == ATTRIBUTES
    assert plain["document"]["dimension_names"] == ["y", None]
    deep = zarr3_peer.describe(library, tmp_path, "a/b/deep")
    assert (deep["shape"], deep["chunks"], deep["dtype"]) == ([5], [2], "<f4")
    assert deep["document"]["dimension_names"] == ["x"]
    assert deep["document"]["chunk_grid"]["configuration"]["chunk_shape"] == [4]
    assert zarr3_peer.read(library, tmp_path, "a/b/deep").tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("library", ["zarr", "tensorstore", "zarrista"])
def test_we_see_peer_arrays(zarr3_peer: Peer, tmp_path: Path, library: str) -> None:
    need(zarr3_peer, library)
    members: dict[str, Any] = {"dimension_names": ["y", None], "attributes": ATTRIBUTES}
    data = np.arange(35, dtype="i2").reshape(5, 7)
    zarr3_peer.write(library, tmp_path, data, array_path="a/größe x", chunks=(2, 2), shards=(4, 4), **members)
    array = omnizarr.open_array(tmp_path / "a/größe x", mode="r")
    assert (array.shape, array.chunks, array.shards, array.dtype) == ((5, 7), (2, 2), (4, 4), np.dtype("i2"))
    assert array.dimension_names == ("y", None)
    found = array.attrs.asdict()
    found.pop("_zarrs", None)  # a signature, which zarrista adds
    assert found == ATTRIBUTES
    assert array[...].tolist() == data.tolist()


def make_theirs(peer: Peer, place: Path) -> None:
    need(peer, "zarr")
    peer.create_group("zarr", place, attributes=ATTRIBUTES)
    peer.create_group("zarr", place, "a/b", ATTRIBUTES)
    peer.create_group("zarr", place, "empty")
    deep: dict[str, Any] = {"chunks": (2,), "shards": (4,), "dimension_names": ["x"]}
    peer.write("zarr", place, np.arange(5, dtype="f4"), array_path="a/b/deep", **deep)
    peer.write("zarr", place, np.arange(12).reshape(3, 4), array_path="plain", attributes=ATTRIBUTES)
    peer.write("zarr", place, np.array(3), array_path="größe x")


def check_theirs(root: omnizarr.Group) -> None:
    assert root.attrs.asdict() == ATTRIBUTES
    assert sorted(path for path, _ in root.members(max_depth=None)) == MEMBERS
    assert root["a"].attrs.asdict() == {}
    assert root["a/b"].attrs.asdict() == ATTRIBUTES
    assert list(root["empty"]) == []
    assert root["plain"].attrs.asdict() == ATTRIBUTES
    assert array_at(root, "a/b/deep").dimension_names == ("x",)
    assert array_at(root, "a/b/deep")[...].tolist() == [0, 1, 2, 3, 4]
    assert array_at(root, "größe x")[...] == 3


def test_we_see_peer_hierarchy(zarr3_peer: Peer, tmp_path: Path) -> None:
    make_theirs(zarr3_peer, tmp_path)
    check_theirs(omnizarr.open_group(tmp_path, mode="r"))


# -- consolidated metadata (A34); the documents that it copies are removed, so that nothing else can be read


def take_away_documents(place: Path) -> None:
    for document in place.rglob("zarr.json"):
        if document.parent != place:
            document.unlink()


def test_we_read_what_zarr_consolidated(zarr3_peer: Peer, tmp_path: Path) -> None:
    make_theirs(zarr3_peer, tmp_path)
    zarr3_peer.consolidate("zarr", tmp_path)
    check_theirs(omnizarr.open_group(tmp_path, mode="r", use_consolidated=False))
    take_away_documents(tmp_path)
    check_theirs(omnizarr.open_group(tmp_path, mode="r", use_consolidated=True))
    assert list(omnizarr.open_group(tmp_path, mode="r", use_consolidated=False)) == []


def test_zarr_reads_what_we_consolidated(zarr3_peer: Peer, tmp_path: Path) -> None:
    need(zarr3_peer, "zarr")
    make_ours(tmp_path)
    omnizarr.consolidate_metadata(tmp_path)
    take_away_documents(tmp_path)
    root = zarr3_peer.describe("zarr", tmp_path)
    assert sorted(root["members"]) == MEMBERS
    assert root["attributes"] == ATTRIBUTES
    assert root["document"]["consolidated_metadata"]["metadata"].keys() >= set(MEMBERS)


def test_zarr_reads_what_it_consolidated_and_we_changed(zarr3_peer: Peer, tmp_path: Path) -> None:
    make_theirs(zarr3_peer, tmp_path)
    zarr3_peer.consolidate("zarr", tmp_path)
    root = omnizarr.open_group(tmp_path, mode="r+")
    root.create_array("empty/new", data=np.arange(3))
    root["a/b"].attrs["added"] = 1
    del root["plain"]
    take_away_documents(tmp_path)
    found = zarr3_peer.describe("zarr", tmp_path)
    assert sorted(found["members"]) == sorted({*MEMBERS, "empty/new"} - {"plain"})
    gathered = found["document"]["consolidated_metadata"]["metadata"]
    assert gathered["a/b"]["attributes"] == {**ATTRIBUTES, "added": 1}


def test_zarr_consolidates_our_hierarchy_and_we_read_it(zarr3_peer: Peer, tmp_path: Path) -> None:
    need(zarr3_peer, "zarr")
    make_ours(tmp_path)
    zarr3_peer.consolidate("zarr", tmp_path)
    take_away_documents(tmp_path)
    root = omnizarr.open_group(tmp_path, mode="r", use_consolidated=True)
    assert sorted(path for path, _ in root.members(max_depth=None)) == MEMBERS
    assert array_at(root, "plain").dimension_names == ("y", None)
    assert array_at(root, "a/b/deep")[1:4].tolist() == [1, 2, 3]
