"""Iteration over the blocks of an array. The next blocks are read while the caller works on one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy.typing as npt

from omnizarr.engine.chunk_cache import as_byte_count
from omnizarr.grids import Axis
from omnizarr.nodes import Array

__all__ = ["read_blocks", "regions"]

Region: TypeAlias = tuple[slice, ...]
_Block: TypeAlias = "npt.NDArray[Any]"

_SHARE = 4  # blocks that fit into the budget: one in use, one complete, and two being read
_MOST_BLOCKS = 64  # read ahead; the parts of one block are already read at the same time


async def read_blocks(
    array: Array, read: Callable[[Region], Coroutine[Any, Any, _Block]], max_bytes: int | str
) -> AsyncGenerator[tuple[Region, _Block], None]:
    """All regions of an array with their elements. `read` is a coroutine that reads a region."""
    budget = as_byte_count(max_bytes, "max_bytes")
    itemsize = max(1, array.dtype.itemsize)
    left = regions(array.metadata.grid.axes(array.shape), budget // _SHARE // itemsize)
    ahead: deque[tuple[Region, int, asyncio.Task[_Block]]] = deque()
    next_region = next(left, None)
    in_memory = 0  # bytes of the block that the caller works on, and of those ahead
    try:
        while ahead or next_region is not None:
            while next_region is not None and len(ahead) < _MOST_BLOCKS:
                size = itemsize * prod(pick.stop - pick.start for pick in next_region)
                if ahead and in_memory + size > budget:
                    break
                in_memory += size
                ahead.append((next_region, size, asyncio.ensure_future(read(next_region))))
                next_region = next(left, None)
            region, size, task = ahead.popleft()
            block = await task
            del task
            yield region, block
            del block
            in_memory -= size
    finally:
        tasks = [task for _, _, task in ahead]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def regions(axes: Sequence[Axis], elements: int) -> Iterator[Region]:
    """Boxes of whole chunks that cover an array, in C order: of up to `elements` elements, or of one chunk."""
    counts = [1] * len(axes)
    size = prod(_chunk_length(axis) for axis in axes)
    for number in reversed(range(len(axes))):
        axis = axes[number]
        counts[number] = max(1, min(axis.count, elements // max(1, size)))
        size *= counts[number]
        if counts[number] < axis.count:  # the box must not grow in another dimension before this one is complete
            break
    return _boxes(axes, counts)


def _chunk_length(axis: Axis) -> int:
    """The length of the longest chunk."""
    if axis.size is not None:
        return min(axis.size, axis.length)
    return max((axis.bounds(chunk)[1] for chunk in range(axis.count)), default=0)


def _boxes(axes: Sequence[Axis], counts: Sequence[int]) -> Iterator[Region]:
    if not axes:
        yield ()
        return
    axis, count = axes[0], counts[0]
    for first in range(0, axis.count, count):
        start, _ = axis.bounds(first)
        last, length = axis.bounds(min(first + count, axis.count) - 1)
        for rest in _boxes(axes[1:], counts[1:]):
            yield (slice(start, min(last + length, axis.length)), *rest)
