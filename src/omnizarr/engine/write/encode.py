"""From elements to what is stored of a chunk: a whole row of chunks, one chunk of which a part changes, or a shard, of
which only the inner chunks that change are decoded and encoded; the others travel as bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.dtypes import is_fill
from omnizarr.dtypes.record_padding import has_padding
from omnizarr.engine.buffers import Stage, row_length
from omnizarr.engine.layout import sharding_of
from omnizarr.engine.numpy_index import put, taken
from omnizarr.engine.read.shards import inner_axes
from omnizarr.errors import CodecError
from omnizarr.indexing import Cell, Projection
from omnizarr.store import Buffer

__all__ = ["encoded", "encoded_row", "update_parts", "updated"]


def encoded(chain: Chain, chunk: npt.NDArray[Any], keep_empty: bool) -> Buffer | None:
    """A chunk as it is stored; None if it is not, since it holds nothing but the fill value."""
    return None if not keep_empty and is_fill(chunk, chain.spec.fill) else chain.encode(chunk)


def encoded_row(chain: Chain, row: npt.NDArray[Any], count: int, stage: Stage, keep_empty: bool) -> list[Buffer | None]:
    """The same for `count` chunks that lie side by side in `row`. Some may be views of the stage."""
    staging = stage.room_for(chain, count)
    staging.gather(row, count)
    chunks = staging.chunks
    if not chain.direct or has_padding(chain.spec.dtype):
        return [encoded(chain, chunks[number], keep_empty) for number in range(count)]
    # With as little Python for each chunk as can be: two threads that want it at once hold each other up.
    fill = chain.spec.fill
    element = fill.tobytes()
    encode, size, memories = chain.encode_memory, len(element), staging.memories
    found: list[Buffer | None] = []
    for number in range(count):
        memory = memories[number]
        empty = not keep_empty and memory[:size] == element and is_fill(chunks[number], fill)
        found.append(None if empty else encode(memory))
    return found


def updated(
    chain: Chain,
    fetch: Callable[[], Buffer | None],
    cell: Cell,
    projection: Projection,
    value: npt.NDArray[Any],
    clipped: tuple[int, ...],
    keep_empty: bool,
    fields: str | list[str] | None,
    stage: Stage,
) -> Buffer | None:
    """The stored form of a chunk after `value`, a block, was written where `cell` says; None if it is all fill value.
    `fetch` gives the old form and is only called when something of it stays; `clipped` is the shape of the part that
    lies inside the array; `fields`, if not None, are all that is written of each element."""
    sharding = sharding_of(chain)
    whole = cell.whole and fields is None
    # What lies outside the array may be inside by now, for somebody who made it longer: only a chunk that is replaced
    # to its last element is not looked at.
    try:
        old = None if whole and clipped == chain.spec.shape else fetch()
    except CodecError:
        if not whole:
            raise
        old = None
    if sharding is None:
        return encoded(chain, _merged(chain, old, cell, projection, value, fields), keep_empty)
    parts: list[Buffer | None] = [None] * sharding.count
    if old is not None:
        try:
            parts = sharding.split(old)
        except CodecError:
            if not whole:
                raise
            # Nothing that is asked for is lost: a shard that was damaged is whole again.
    wanted = Projection(cell.inner, projection.points, inner_axes(sharding, clipped))
    update_parts(sharding, parts, wanted, value, clipped, keep_empty, fields, stage)
    return None if all(part is None for part in parts) else sharding.join(parts)


def update_parts(
    sharding: BoundSharding,
    parts: list[Buffer | None] | dict[int, Buffer | None],
    wanted: Projection,
    value: npt.NDArray[Any],
    clipped: tuple[int, ...],
    keep_empty: bool,
    fields: str | list[str] | None,
    stage: Stage,
) -> None:
    """Replaces the inner chunks, by their number, that `value` changes; `parts` has all of those."""
    chain = sharding.inner
    inner_shape = chain.spec.shape
    by_row = fields is None and not chain.spec.dtype.hasobject and sharding_of(chain) is None
    for row in wanted.rows(row_length(chain)):
        if by_row and row.outer is not None:
            start, count = sharding.number(row.first.chunk), len(row)
            found = encoded_row(chain, value[row.outer], count, stage, keep_empty)
            # What no codec made anew, though there may be codecs, is still a view of the stage.
            for number, part in enumerate(found, start):
                parts[number] = part if part is None or type(part) is bytes else bytes(part)
            continue
        for inner in row.cells:
            number = sharding.number(inner.chunk)
            size = tuple(
                min(length, limit - index * length)
                for length, limit, index in zip(inner_shape, clipped, inner.chunk, strict=True)
            )
            part = parts[number]
            parts[number] = updated(
                chain,
                lambda part=part: part,  # type: ignore[misc]
                inner,
                wanted,
                taken(value, inner.outer),
                size,
                keep_empty,
                fields,
                stage,
            )


def _merged(
    chain: Chain,
    old: Buffer | None,
    cell: Cell,
    projection: Projection,
    value: npt.NDArray[Any],
    fields: str | list[str] | None,
) -> npt.NDArray[Any]:
    """The chunk after the write, as an array."""
    spec = chain.spec
    if fields is None and cell.whole and value.shape == spec.shape:
        return value if value.dtype == spec.dtype else value.astype(spec.dtype)
    array = np.empty(spec.shape, spec.dtype)
    array[...] = spec.fill
    if old is not None:
        try:
            array[...] = chain.decode(old)
        except CodecError:
            if not (cell.whole and fields is None):
                raise
    target = array if fields is None else array[fields]
    if projection.order is not None:
        target = target.transpose(projection.order)
    put(target, projection.expression(cell.inner), value)
    return array
