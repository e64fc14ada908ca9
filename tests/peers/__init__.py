"""Other implementations of Zarr as oracles: each runs in an environment and a process of its own and is asked to write,
to read or to describe an array.

    def test_others_read_what_we_write(zarr3_peer, tmp_path):
        ...
        found = zarr3_peer.read("tensorstore", tmp_path)

What a peer says it cannot do is raised as `Unsupported`, which a test may answer by skipping that one cell. Every other
failure is a `PeerError` and fails the test: a peer that calls our bytes corrupt must never look like one that was
not asked. Which words mean "cannot do" is said by each library's file in `tests/peers/libraries`.
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
"""What the `zarr3` environment offers: zarr-python 3, the same with the zarrs codecs, TensorStore, and zarrista."""

ENVIRONMENTS = {"zarr3": LIBRARIES, "zarr2": ("zarr2",), "zarr1": ("zarr1",)}
"""The environments, and the libraries that each may offer."""
