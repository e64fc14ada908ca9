"""Writing a part of a shard without the rest: only the inner chunks that change are read, and the store puts the new
shard together out of them and of what stays."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from omnizarr.codecs import BoundSharding
from omnizarr.engine.buffers import Stage
from omnizarr.engine.layout import Layout
from omnizarr.engine.read.shards import inner_axes, parts_at
from omnizarr.engine.write.encode import update_parts
from omnizarr.errors import CodecError
from omnizarr.indexing import Cell, Projection
from omnizarr.store import Buffer

__all__ = ["splice"]

_LARGE = 2**18  # bytes of a shard, below which it is sooner read and written as a whole


def splice(
    layout: Layout,
    sharding: BoundSharding,
    key: str,
    cell: Cell,
    projection: Projection,
    value: npt.NDArray[Any],
    fields: str | list[str] | None,
    stage: Stage,
    *,
    keep_empty: bool,
) -> bool | None:
    """Writes `value`, a block, where `cell` says: whether that was done, or somebody else was quicker. None if it is
    better, or the only way, to write the whole shard: then nothing was done."""
    store = layout.store
    held = store.hold(key)
    if held is None:
        return None
    try:
        if not _LARGE <= held.size <= sharding.encoded.limit:
            return None
        clipped = layout.clipped(cell.chunk)
        wanted = Projection(cell.inner, projection.points, inner_axes(sharding, clipped))
        if 2 * len(wanted) > sharding.count:
            return None
        try:
            index = layout.index_of(sharding, key, held)
        except CodecError:
            if cell.whole and fields is None:
                return None  # a shard that was damaged is whole again once it is written
            raise
        numbers = [sharding.number(inner.chunk) for inner in wanted]
        parts: dict[int, Buffer | None] = dict(zip(numbers, parts_at(held, index.spans(numbers)), strict=True))
        update_parts(sharding, parts, wanted, value, clipped, keep_empty, fields, stage)
        pieces = sharding.updated_pieces(index, parts)
        return None if pieces is None else store.splice(key, pieces, held)
    finally:
        held.close()
