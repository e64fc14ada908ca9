"""Reading and updating parts of shards: only the inner chunks that a selection touches are fetched, decoded or encoded;
the others travel as bytes. Shards inside shards are the same question asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain, Sharding
from omnizarr.dtypes import is_fill
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.errors import CodecError
from omnizarr.grids.regular import RegularAxis
from omnizarr.indexing import Cell, Pick, Projection, pick_length
from omnizarr.store import Buffer, Store

__all__ = ["read_shard", "updated"]

_MOST_TRIES = 100  # of reading parts of a shard that others keep replacing


def read_shard(
    layout: Layout,
    sharding: BoundSharding,
    store: Store,
    key: str,
    cell: Cell,
    projection: Projection,
    block: npt.NDArray[Any],
) -> None:
    """Places what `cell` picks from the shard under `key`."""
    wanted = Projection(cell.inner, projection.points, _inner_axes(sharding, layout.clipped(cell.chunk)))
    cells = list(wanted)
    if 2 * len(cells) > sharding.count:
        data = layout.get(key)
        if data is None:
            block[cell.outer] = layout.fill
        else:
            block[cell.outer] = _picked(sharding, data, cell.inner, projection.points, layout.clipped(cell.chunk))
        return
    parts = _fetched(sharding, store, key, _numbers(sharding, cells))
    if parts is None:
        block[cell.outer] = layout.fill
    else:
        block[cell.outer] = _assembled(sharding, wanted, cells, parts, _block_shape(cell.inner, projection.points))


def _fetched(sharding: BoundSharding, store: Store, key: str, numbers: list[int]) -> list[Buffer | None] | None:
    """Some inner chunks of a shard, all from one state of it; None if there is no shard."""
    found = store.get(key, sharding.index_range)
    for _ in range(_MOST_TRIES):
        if found is None:
            return None
        index = sharding.decode_index(found)
        places = [index[number] for number in numbers]
        # The index is asked for once more, behind the chunks: if a writer has replaced the shard meanwhile, its old
        # index would lead to anything in the new one.
        *answers, again = store.get_partial_values(
            [*((key, place) for place in places if place is not None), (key, sharding.index_range)]
        )
        if again is not None and bytes(again) == bytes(found):
            return _matched(places, answers)
        found = again
    raise CodecError(Sharding.name, "the shard is replaced by others all the time")


def _matched(places: list[tuple[int, int] | None], answers: list[Buffer | None]) -> list[Buffer | None]:
    """The bytes at each place, None for an empty one."""
    parts: list[Buffer | None] = []
    given = iter(answers)
    for place in places:
        part = None if place is None else next(given)
        if place is not None and (part is None or len(part) != place[1]):
            raise CodecError(
                Sharding.name, f"the shard ends before its inner chunk of {place[1]} bytes at {place[0]} does"
            )
        parts.append(part)
    return parts


def _picked(
    sharding: BoundSharding, data: Buffer, picks: tuple[Pick, ...], points: tuple[int, ...], clipped: tuple[int, ...]
) -> npt.NDArray[Any]:
    """What `picks` take from a shard that is in memory, as a block."""
    wanted = Projection(picks, points, _inner_axes(sharding, clipped))
    cells = list(wanted)
    parts = sharding.split(data)
    chosen = [parts[number] for number in _numbers(sharding, cells)]
    return _assembled(sharding, wanted, cells, chosen, _block_shape(picks, points))


def _assembled(
    sharding: BoundSharding, wanted: Projection, cells: list[Cell], parts: list[Buffer | None], shape: tuple[int, ...]
) -> npt.NDArray[Any]:
    inner = sharding.inner
    nested = sharding_of(inner)
    block = np.empty(shape, inner.spec.dtype)
    for cell, part in zip(cells, parts, strict=True):
        if part is None:
            block[cell.outer] = inner.spec.fill
        elif nested is not None:
            block[cell.outer] = _picked(nested, part, cell.inner, wanted.points, nested.spec.shape)
        else:
            chunk = inner.decode(part)
            if wanted.order is not None:
                chunk = chunk.transpose(wanted.order)
            block[cell.outer] = chunk[wanted.expression(cell.inner)]
    return block


def updated(
    chain: Chain,
    fetch: Callable[[], Buffer | None],
    cell: Cell,
    projection: Projection,
    value: npt.NDArray[Any],
    clipped: tuple[int, ...],
    keep_empty: bool,
    fields: str | list[str] | None,
) -> Buffer | None:
    """The stored form of a chunk after `value`, a block, was written where `cell` says; None if it is all fill value.
    `fetch` gives the old form and is only called when something of it stays; `clipped` is the shape of the part that
    lies inside the array; `fields`, if not None, are all that is written of each element."""
    sharding = sharding_of(chain)
    old = None if cell.whole and fields is None else fetch()
    if sharding is None:
        array = _merged(chain, old, cell, projection, value, fields)
        return None if not keep_empty and is_fill(array, chain.spec.fill) else chain.encode(array)
    parts: list[Buffer | None] = [None] * sharding.count if old is None else sharding.split(old)
    wanted = Projection(cell.inner, projection.points, _inner_axes(sharding, clipped))
    inner_shape = sharding.inner.spec.shape
    for inner in wanted:
        number = _number(sharding, inner.chunk)
        size = tuple(
            min(length, limit - index * length)
            for length, limit, index in zip(inner_shape, clipped, inner.chunk, strict=True)
        )
        part = parts[number]
        parts[number] = updated(
            sharding.inner,
            lambda part=part: part,  # type: ignore[misc]
            inner,
            wanted,
            value[inner.outer],
            size,
            keep_empty,
            fields,
        )
    return None if all(part is None for part in parts) else sharding.join(parts)


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
    array[...] = spec.fill if old is None else chain.decode(old)
    target = array if fields is None else array[fields]
    if projection.order is not None:
        target = target.transpose(projection.order)
    target[projection.expression(cell.inner)] = value
    return array


def _inner_axes(sharding: BoundSharding, clipped: tuple[int, ...]) -> tuple[RegularAxis, ...]:
    return tuple(RegularAxis(length, size) for length, size in zip(clipped, sharding.inner.spec.shape, strict=True))


def _block_shape(picks: tuple[Pick, ...], points: tuple[int, ...]) -> tuple[int, ...]:
    alone = tuple(pick_length(pick) for dimension, pick in enumerate(picks) if dimension not in points)
    return (pick_length(picks[points[0]]), *alone) if points else alone


def _number(sharding: BoundSharding, chunk: tuple[int, ...]) -> int:
    """The position of an inner chunk in the index."""
    number = 0
    for index, count in zip(chunk, sharding.grid, strict=True):
        number = number * count + index
    return number


def _numbers(sharding: BoundSharding, cells: list[Cell]) -> list[int]:
    return [_number(sharding, cell.chunk) for cell in cells]
