"""Splices: writes a part of a shard without reading the rest. Only the inner chunks that change are read; the store
assembles the new shard from new bytes and from ranges of the old shard."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from omnizarr.codecs import BoundSharding
from omnizarr.engine.buffers import WorkerBuffer
from omnizarr.engine.layout import Layout, inner_axes
from omnizarr.engine.read.shards import get_inner_chunks
from omnizarr.engine.schedule import takes_whole_shard
from omnizarr.engine.write.encode import update_inner_chunks
from omnizarr.errors import CodecError
from omnizarr.indexing import Cell, Projection
from omnizarr.store import Buffer, Splicing

__all__ = ["splice"]

_MIN_BYTES = 2**18  # of a shard; below 256 KiB, reading and writing the whole shard is faster


def splice(
    layout: Layout,
    splicing: Splicing,
    sharding: BoundSharding,
    key: str,
    cell: Cell,
    projection: Projection,
    value: npt.NDArray[Any],
    fields: str | list[str] | None,
    buffer: WorkerBuffer,
    *,
    keep_empty: bool,
) -> bool | None:
    """Write `value`, a block, where `cell` says. True: done. False: another writer changed the shard in between. None:
    nothing was done, because writing the whole shard is faster or the only way."""
    snapshot = None if layout.snapshots is None else layout.snapshots.open(key)
    if snapshot is None:
        return None
    try:
        if not _MIN_BYTES <= snapshot.size <= sharding.encoded.limit:
            return None
        clipped = layout.clipped(cell.chunk)
        selected = Projection(cell.inner, projection.points, inner_axes(sharding, clipped))
        if takes_whole_shard(sharding, len(selected)):
            return None
        try:
            index = layout.index_of(sharding, key, snapshot)
        except CodecError:
            if cell.whole and fields is None:
                return None  # the write replaces the damaged shard
            raise
        numbers = [sharding.number(inner.chunk) for inner in selected]
        extents = index.extents(numbers)
        inner_chunks: dict[int, Buffer | None] = dict(zip(numbers, get_inner_chunks(snapshot, extents), strict=True))
        update_inner_chunks(sharding, inner_chunks, selected, value, clipped, keep_empty, fields, buffer)
        pieces = sharding.updated_pieces(index, inner_chunks)
        return None if pieces is None else splicing.splice(key, pieces, snapshot)
    finally:
        snapshot.close()
