"""The grid of chunks and shards inside a window, and which of them are absent."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from omnizarr.engine.layout import sharding_of
from omnizarr.nodes import Array
from omnizarr.tools.selections import Index

__all__ = ["ChunkGrid", "chunk_grid"]

_MOST_EDGES = 2000  # along a dimension
_MOST_LOOKUPS = 1024  # chunks whose presence is looked up


@dataclass(frozen=True, slots=True)
class ChunkGrid:
    """Where chunks begin, for each dimension that the selection keeps."""

    edges: list[list[int]]
    """The indices at which chunks (inner chunks, if there are shards) begin, and the end of the dimension."""
    shard_edges: list[list[int]] | None
    absent: list[list[int]]
    """The absent stored chunks, each as its start and stop for every dimension that the selection keeps."""
    checked: bool
    """Whether all chunks of the window were looked up."""


def chunk_grid(array: Array, selection: Index) -> ChunkGrid:
    """The grid inside a selection of integers and slices."""
    ranges = _ranges(array, selection)
    visible = [number for number, (_, keep) in enumerate(ranges) if keep]
    axes, inner = array._layout.axes, array._inner_shape()
    stored_edges = [_edges(axes[number], ranges[number][0]) for number in visible]
    edges = stored_edges
    if inner is not None:
        edges = [_regular_edges(array.shape[number], inner[number], ranges[number][0]) for number in visible]
    absent, checked = _absent(array, ranges, visible)
    return ChunkGrid(edges, stored_edges if inner is not None else None, absent, checked)


def _ranges(array: Array, selection: Index) -> list[tuple[range, bool]]:
    """For each dimension the indices that are selected, and whether the result keeps the dimension."""
    items: list[Any] = list(selection)
    if ... in items:
        place = items.index(...)
        items[place : place + 1] = [slice(None)] * (array.ndim - len(items) + 1)
    items += [slice(None)] * (array.ndim - len(items))
    ranges = []
    for item, length in zip(items, array.shape, strict=True):
        if isinstance(item, slice):
            ranges.append((range(*item.indices(length)), True))
        else:
            index = int(item) % max(1, length)
            ranges.append((range(index, index + 1), False))
    return ranges


def _least(indices: range) -> int:
    """The smallest index. `min` would go through all of them, which takes hours for long dimensions."""
    return min(indices[0], indices[-1])


def _most(indices: range) -> int:
    return max(indices[0], indices[-1])


def _edges(axis: Any, indices: range) -> list[int]:
    if not indices:
        return []
    first, last = axis.locate(_least(indices)), axis.locate(_most(indices))
    if last - first > _MOST_EDGES:
        return []
    edges = [axis.bounds(chunk)[0] for chunk in range(first, last + 1)]
    return [*edges, min(axis.length, sum(axis.bounds(last)))]


def _regular_edges(length: int, size: int, indices: range) -> list[int]:
    if not indices or size < 1:
        return []
    first, last = _least(indices) // size, _most(indices) // size
    if last - first > _MOST_EDGES:
        return []
    return [*(chunk * size for chunk in range(first, last + 1)), min(length, (last + 1) * size)]


def _absent(array: Array, ranges: list[tuple[range, bool]], visible: list[int]) -> tuple[list[list[int]], bool]:
    layout = array._layout
    if array.store.remote or any(not indices for indices, _ in ranges):
        return [], False  # each would take a request
    chunks = []
    for axis, (indices, _) in zip(layout.axes, ranges, strict=True):
        chunks.append(range(axis.locate(_least(indices)), axis.locate(_most(indices)) + 1))
    if int(np.prod([len(each) for each in chunks], dtype=object)) > _MOST_LOOKUPS:
        return [], False
    absent = []
    for chunk in product(*chunks):
        key = layout.key(tuple(map(str, chunk)))
        if not layout.store.exists(key):
            absent.append([number for axis in visible for number in _bounds(layout.axes[axis], chunk[axis])])
        elif layout.sharding is not None:
            absent += _absent_inner(array, chunk, key, visible)
    return absent, True


def _bounds(axis: Any, chunk: int) -> tuple[int, int]:
    start, size = axis.bounds(chunk)
    return start, min(axis.length, start + size)


def _absent_inner(array: Array, shard: tuple[int, ...], key: str, visible: list[int]) -> list[list[int]]:
    """The absent inner chunks of a shard."""
    layout = array._layout
    sharding = sharding_of(layout.chain(shard))
    inner = array._inner_shape()
    size = layout.store.size(key)
    data = None if sharding is None else layout.store.get(key, sharding.index_range)
    if sharding is None or inner is None or data is None or int(np.prod(sharding.grid)) > _MOST_LOOKUPS:
        return []
    index = sharding.decode_index(data, size)
    absent = []
    for number, place in enumerate(product(*(range(count) for count in sharding.grid))):
        if index[number] is None:
            spans = []
            for axis in visible:
                start = layout.axes[axis].bounds(shard[axis])[0] + place[axis] * inner[axis]
                spans += [start, min(array.shape[axis], start + inner[axis])]
            if all(start < stop for start, stop in zip(spans[::2], spans[1::2], strict=True)):
                absent.append(spans)
    return absent
