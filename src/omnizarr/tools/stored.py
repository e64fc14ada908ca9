"""`stored_size`: how many bytes and chunks of an array are stored."""

from __future__ import annotations

from dataclasses import dataclass

from omnizarr.nodes import Array

__all__ = ["StoredSize", "stored_size"]


@dataclass(frozen=True, slots=True)
class StoredSize:
    """What is stored of an array."""

    nbytes: int
    """The stored bytes, metadata included."""
    ratio: float | None
    """The logical size divided by the stored bytes; None if no chunk is stored."""
    chunks: int
    """The number of stored chunks; inner chunks, if the array is sharded."""
    nchunks: int
    """The number of all chunks."""


def stored_size(array: Array) -> StoredSize:
    """What is stored of an array. Costs a listing and, for a sharded array, a read of each shard index."""
    nbytes, chunks = array.nbytes_stored(), array.nchunks_initialized
    return StoredSize(nbytes, array.nbytes / nbytes if nbytes and chunks else None, chunks, array.nchunks)
