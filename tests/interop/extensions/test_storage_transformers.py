"""Readers that do not know the storage transformers of an array must reject it (R122), and read its copies."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.peers import LIBRARIES, Peer
from tests.peers.process import PeerError, Unsupported

import omnizarr
from omnizarr.nodes.versioned_array import VersionedArray
from omnizarr.transformers import FileChunks, Versions


@pytest.mark.parametrize("library", LIBRARIES)
def test_peers_reject_versioned_arrays_and_read_their_copies(zarr3_peer: Peer, tmp_path: Path, library: str) -> None:
    z = omnizarr.create_array(tmp_path / "v.zarr", data=range(20), chunks=5, storage_transformers=[Versions()])
    assert isinstance(z, VersionedArray)
    z.checkout(tmp_path / "plain.zarr")
    try:
        assert zarr3_peer.read(library, tmp_path / "plain.zarr").tolist() == list(range(20))
    except Unsupported as missing:
        pytest.skip(missing.reason)
    with pytest.raises((PeerError, Unsupported), match="(?i)transformer"):
        zarr3_peer.read(library, tmp_path / "v.zarr")


@pytest.mark.parametrize("library", LIBRARIES)
def test_peers_reject_file_chunks(zarr3_peer: Peer, tmp_path: Path, library: str) -> None:
    z = omnizarr.create_array(tmp_path, shape=4, dtype="u1", compressors=None, storage_transformers=[FileChunks()])
    z.store.set("data.bin", bytes(range(4)))
    omnizarr.write_chunk_manifest(z, {(0,): ("data.bin", 0, 4)})
    assert omnizarr.open_array(tmp_path)[:].tolist() == [0, 1, 2, 3]
    with pytest.raises((PeerError, Unsupported), match="(?i)transformer"):
        zarr3_peer.read(library, tmp_path)
