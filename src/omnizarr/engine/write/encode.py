"""Encodes chunks: a whole row of chunks, or a chunk with a changed part. In a shard, only the inner chunks that change
are decoded and encoded; the others are copied as bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.dtypes import is_fill
from omnizarr.dtypes.record_padding import has_padding
from omnizarr.engine.buffers import WorkerBuffer
from omnizarr.engine.layout import inner_axes, sharding_of
from omnizarr.engine.numpy_index import take
from omnizarr.engine.place import gather
from omnizarr.engine.schedule import row_length
from omnizarr.errors import CodecError
from omnizarr.indexing import Cell, Projection
from omnizarr.store import Buffer

__all__ = ["encode_chunk", "encode_row", "encode_update", "update_inner_chunks"]


def encode_chunk(chain: Chain, chunk: npt.NDArray[Any], keep_empty: bool) -> Buffer | None:
    """The stored form of a chunk; None if it holds nothing but the fill value and is not stored."""
    return None if not keep_empty and is_fill(chunk, chain.spec.fill) else chain.encode(chunk)


def encode_row(
    chain: Chain, row: npt.NDArray[Any], count: int, buffer: WorkerBuffer, keep_empty: bool
) -> list[Buffer | None]:
    """`encode_chunk` for `count` chunks that are side by side in `row`. Some results may be views of the buffer."""
    row_buffer = buffer.row(chain, count)
    row_buffer.gather(row, count)
    chunks = row_buffer.chunks
    if not chain.direct or has_padding(chain.spec.dtype):
        return [encode_chunk(chain, chunks[number], keep_empty) for number in range(count)]
    # As little Python per chunk as possible, because it holds the interpreter's lock.
    fill = chain.spec.fill
    element = fill.tobytes()
    encode, size, memories = chain.encode_memory, len(element), row_buffer.memories
    values: list[Buffer | None] = []
    for number in range(count):
        memory = memories[number]
        empty = not keep_empty and memory[:size] == element and is_fill(chunks[number], fill)
        values.append(None if empty else encode(memory))
    return values


def encode_update(
    chain: Chain,
    fetch: Callable[[], Buffer | None],
    cell: Cell,
    projection: Projection,
    value: npt.NDArray[Any],
    clipped: tuple[int, ...],
    keep_empty: bool,
    fields: str | list[str] | None,
    buffer: WorkerBuffer,
) -> Buffer | None:
    """The stored form of a chunk after writing `value`, a block, where `cell` says; None if it is all fill value.
    `fetch` returns the old form, and is only called if a part of it stays. `clipped` is the shape of the part inside
    the array. `fields`, if not None, are the only fields that are written."""
    sharding = sharding_of(chain)
    whole = cell.whole and fields is None
    # A writer that resized the array may have stored elements outside the array as this handle knows it. So the old
    # form is ignored only if the write covers the chunk to its last element.
    try:
        old = None if whole and clipped == chain.spec.shape else fetch()
    except CodecError:
        if not whole:
            raise
        old = None
    if sharding is None:
        return encode_chunk(chain, _merge(chain, old, cell, projection, value, fields), keep_empty)
    inner_chunks: list[Buffer | None] = [None] * sharding.count
    if old is not None:
        try:
            inner_chunks = sharding.split(old)
        except CodecError:
            if not whole:
                raise
            # Nothing inside the array is lost: the write replaces the damaged shard.
    selected = Projection(cell.inner, projection.points, inner_axes(sharding, clipped))
    update_inner_chunks(sharding, inner_chunks, selected, value, clipped, keep_empty, fields, buffer)
    return None if all(inner_chunk is None for inner_chunk in inner_chunks) else sharding.join(inner_chunks)


def update_inner_chunks(
    sharding: BoundSharding,
    inner_chunks: list[Buffer | None] | dict[int, Buffer | None],
    selected: Projection,
    value: npt.NDArray[Any],
    clipped: tuple[int, ...],
    keep_empty: bool,
    fields: str | list[str] | None,
    buffer: WorkerBuffer,
) -> None:
    """Replace the inner chunks that `value` changes; `inner_chunks` has all of these by their number."""
    chain = sharding.inner
    inner_shape = chain.spec.shape
    by_row = fields is None and not chain.spec.dtype.hasobject and sharding_of(chain) is None
    for row in selected.rows(row_length(chain)):
        if by_row and row.outer is not None:
            start, count = sharding.number(row.first.chunk), len(row)
            values = encode_row(chain, value[row.outer], count, buffer, keep_empty)
            # A value that no codec has copied is a view of the buffer, which the next row overwrites.
            for number, data in enumerate(values, start):
                inner_chunks[number] = data if data is None or type(data) is bytes else bytes(data)
            continue
        for inner in row.cells:
            number = sharding.number(inner.chunk)
            size = tuple(
                min(length, limit - index * length)
                for length, limit, index in zip(inner_shape, clipped, inner.chunk, strict=True)
            )
            old = inner_chunks[number]
            inner_chunks[number] = encode_update(
                chain,
                lambda old=old: old,  # type: ignore[misc]
                inner,
                selected,
                take(value, inner.outer),
                size,
                keep_empty,
                fields,
                buffer,
            )


def _merge(
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
    gather(array if fields is None else array[fields], cell, projection, value)
    return array
