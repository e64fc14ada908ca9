"""The stored chunks of an array: counting them, and erasing those outside a smaller shape.

The cost depends on the number of stored chunks, not on the size of the chunk grid, unless the store cannot list.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from math import prod

import numpy as np

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.engine import Layout, route
from omnizarr.errors import StoreError
from omnizarr.indexing import Selection, pick_length
from omnizarr.nodes.node import NodeContext
from omnizarr.store.sizes import list_sizes

__all__ = ["byte_count", "check_trim", "chunk_count", "covering_shape", "stored_chunks", "trim"]

_MOST_WITHOUT_LISTING = 1_000_000
"""Chunks to look for in a store that cannot list. More would take hours in most stores."""


def stored_chunks(layout: Layout) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The keys and coordinates of the stored chunks."""
    coordinates = layout.model.chunk_keys.coordinates
    skip, rank = len(layout.prefix), len(layout.axes)
    for key in layout.store.list_prefix(layout.prefix):
        chunk = coordinates(key[skip:], rank)
        if chunk is not None:
            yield key, chunk


def chunk_count(layout: Layout) -> int:
    """The number of stored chunks inside the array; for a sharded array, of inner chunks.

    A shard that is compressed as a whole counts as one chunk, because its index cannot be read without decoding it.
    """
    total = 0
    for key, chunk in stored_chunks(layout):
        if any(index >= axis.count for index, axis in zip(chunk, layout.axes, strict=True)):
            continue
        chain = layout.chain(chunk)
        if chain.compressed or not isinstance(chain.serializer, BoundSharding):
            total += 1
            continue
        sharding = chain.serializer
        index = layout.store.get(key, sharding.index_range)
        if index is not None:
            stored = [extent is not None for extent in sharding.decode_index(index)]
            total += int(np.reshape(stored, sharding.grid)[_inside(layout, chunk, chain, sharding)].sum())
    return total


def _inside(layout: Layout, chunk: tuple[int, ...], chain: Chain, sharding: BoundSharding) -> tuple[slice, ...]:
    """The part of a shard's grid that lies inside the array. Other writers may also store chunks outside it."""
    starts = [axis.bounds(index)[0] for axis, index in zip(layout.axes, chunk, strict=True)]
    lengths = [axis.length - start for axis, start in zip(layout.axes, starts, strict=True)]
    for codec in chain.arrays:
        if codec.order is None:
            return (slice(None),) * len(sharding.grid)
        lengths = [lengths[axis] for axis in codec.order]
    return tuple(slice(-(-length // size)) for length, size in zip(lengths, sharding.inner.spec.shape, strict=True))


def byte_count(context: NodeContext) -> int:
    """The number of stored bytes of the node, documents included."""
    store = context.store
    prefixes = context.dialect.prefixes(context.path)
    documents = [key for key in context.dialect.keys(context.path) if not key.startswith(tuple(prefixes))]
    below = sum(size for prefix in prefixes for _, size in list_sizes(store, prefix))
    return below + sum(store.size(key) or 0 for key in documents)


def covering_shape(layout: Layout) -> tuple[int, ...]:
    """A shape that covers all stored chunks, inside the array or not."""
    lengths = list(layout.model.shape)
    last = [axis.count - 1 for axis in layout.axes]
    for _, chunk in stored_chunks(layout):
        last = list(map(max, last, chunk))
    for dimension, index in enumerate(last):
        while True:
            axis = layout.model.grid.fitting(lengths).axes(lengths)[dimension]
            start, size = axis.bounds(min(index, axis.count - 1)) if axis.count else (0, 0)
            lengths[dimension] = start + size
            if index < axis.count:
                break
            # Further chunks have the length of the last one.
            lengths[dimension] += max(1, size * (index - axis.count + 1))
    return tuple(lengths)


def check_trim(layout: Layout, shape: tuple[int, ...]) -> None:
    """Raises StoreError if `trim` to this shape would fail, because the store does not tell which chunks exist."""
    store = layout.store
    if store.listable:
        next(stored_chunks(layout), None)
        return
    count = prod(axis.count for axis in layout.axes) - prod(_inner_counts(layout, shape))
    if count > _MOST_WITHOUT_LISTING:
        raise StoreError(
            f"cannot shrink array `{layout.name}`: {store!r} cannot list its keys, and there may be {count} chunks to "
            f"erase, more than the {_MOST_WITHOUT_LISTING} that are looked for one by one",
            store=repr(store),
        )


def _inner_counts(layout: Layout, shape: tuple[int, ...]) -> list[int]:
    """How many chunks of each axis lie wholly inside `shape`."""
    return [
        axis.count if length >= axis.length else axis.locate(length)
        for axis, length in zip(layout.axes, shape, strict=True)
    ]


def _outer_chunks(layout: Layout, shape: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The keys and coordinates of the stored chunks that are not wholly inside `shape`, without listing."""
    inner = _inner_counts(layout, shape)
    counts = [axis.count for axis in layout.axes]
    for axis in range(len(counts)):
        ranges = (*map(range, inner[:axis]), range(inner[axis], counts[axis]), *map(range, counts[axis + 1 :]))
        for chunk in itertools.product(*ranges):
            key = layout.key(tuple(map(str, chunk)))
            if layout.store.exists(key):
                yield key, chunk


def trim(layout: Layout, shape: tuple[int, ...], before_each: Callable[[], None] = lambda: None) -> None:
    """Erases all elements outside `shape`, so that they do not reappear when the array grows again.

    Chunks outside are erased; in chunks on the border, the part outside is set to the fill value. Calls `before_each`
    for each chunk that it lists, and for each that it looks at afterwards.
    """
    shrunk = [axis for axis, length in enumerate(shape) if length < layout.axes[axis].length]
    if not shrunk:
        return
    chunks: Iterable[tuple[str, tuple[int, ...]]]
    if layout.store.listable:
        chunks = []
        for listed in stored_chunks(layout):
            before_each()
            chunks.append(listed)
    else:
        chunks = _outer_chunks(layout, shape)
    for key, chunk in chunks:
        before_each()
        bounds = [axis.bounds(index) for axis, index in zip(layout.axes, chunk, strict=True)]
        ranges = [
            (start, min(start + size, axis.length)) for axis, (start, size) in zip(layout.axes, bounds, strict=True)
        ]
        if any(start >= length for (start, _), length in zip(ranges, shape, strict=True)):
            layout.store.erase(key)
            continue
        for axis in shrunk:
            if ranges[axis][1] > shape[axis]:
                picks = tuple(
                    slice(shape[axis] if other == axis else start, end, 1) for other, (start, end) in enumerate(ranges)
                )
                lengths = tuple(pick_length(pick) for pick in picks)
                route.write(layout, Selection(picks, (), lengths, lengths), layout.fill, keep_empty=False)
