"""Other implementations of Zarr as oracles. Each runs in its own environment and process, and writes, reads or
describes arrays on request.

    def test_peers_read_our_arrays(zarr3_peer, tmp_path): ...
        data = zarr3_peer.read("tensorstore", tmp_path)

A peer that does not support something raises `Unsupported`, and a test may then skip that case. Every other failure is
a `PeerError` and fails the test, so that a peer that finds our bytes corrupt cannot look like an unsupported case. The
files in `tests/peers/libraries` state which messages of a library mean "not supported".
"""

from __future__ import annotations

from tests.peers.documents import array_document, array_document_v1, array_document_v2
from tests.peers.process import Peer, PeerError, Unsupported

__all__ = [
    "ENVIRONMENTS",
    "LIBRARIES",
    "Peer",
    "PeerError",
    "Unsupported",
    "array_document",
    "array_document_v1",
    "array_document_v2",
]

LIBRARIES = ("zarr", "zarrs", "tensorstore", "zarrista")
"""The libraries of the `zarr3` environment: zarr-python 3, the same with the zarrs codecs, TensorStore, and
zarrista."""

ENVIRONMENTS = {"zarr3": LIBRARIES, "zarr2": ("zarr2",), "zarr1": ("zarr1",), "z5": ("z5py",)}
"""The environments, and the libraries that each may have."""
