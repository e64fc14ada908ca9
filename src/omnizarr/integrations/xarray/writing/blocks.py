"""Writing the values of variables: NumPy arrays here, blocks of dask in its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from xarray import Variable
from xarray.namedarray.parallelcompat import get_chunked_array_type

from omnizarr.engine.pool import run
from omnizarr.grids import Axis
from omnizarr.nodes import Array

__all__ = ["Write", "aligned_blocks", "write_all"]

_MOST_VARIABLES = 32  # written at a time to a remote store


class Write(NamedTuple):
    """Values for a part of an array."""

    target: Array
    region: tuple[slice, ...]
    variable: Variable


def write_all(writes: Sequence[Write], *, align: bool, compute: bool, options: dict[str, Any] | None = None) -> Any:
    """Stores all values. Returns a delayed object for those of dask if not `compute`; None if there are none.

    With `align`, blocks are merged and cut so that no two tasks write to the same shard. Without, tasks may share
    shards, and each of them reads what the other has written.
    """
    loaded = [write for write in writes if write.variable.chunks is None]
    remote = bool(loaded) and loaded[0].target.store.remote
    run(loaded, lambda: _write, min(_MOST_VARIABLES, len(loaded)) if remote else 1)
    chunked = [write for write in writes if write.variable.chunks is not None]
    if not chunked:
        return None
    manager = get_chunked_array_type(*(write.variable.data for write in chunked))
    sources = []
    for write in chunked:
        data = write.variable.data
        if align:
            starts = [part.start or 0 for part in write.region]
            blocks = aligned_blocks(write.variable.chunks, starts, write.target._layout.axes)
            if blocks != write.variable.chunks:
                data = manager.rechunk(data, blocks)
        sources.append(data)
    return manager.store(
        sources,
        [write.target for write in chunked],
        regions=[write.region for write in chunked],
        lock=False,
        compute=compute,
        **(options or {}),
    )


def _write(write: Write) -> None:
    values = np.asarray(write.variable.values)
    if write.target.ndim:
        write.target[write.region] = values
    else:
        write.target[...] = values


def aligned_blocks(
    blocks: Sequence[Sequence[int]], starts: Sequence[int], axes: Sequence[Axis]
) -> tuple[tuple[int, ...], ...]:
    """The lengths of blocks, changed so that they begin and end at chunks of the store, except at the ends of the data.

    `starts` is where the data begins in the array. Each end of a block moves to the nearest end of a chunk.
    """
    return tuple(_aligned(lengths, start, axis) for lengths, start, axis in zip(blocks, starts, axes, strict=True))


def _aligned(lengths: Sequence[int], start: int, axis: Axis) -> tuple[int, ...]:
    end = start + sum(lengths)
    ends = [start]
    position = start
    for length in lengths[:-1]:
        position += length
        nearest = _nearest_end(position, axis) if position < axis.length else end
        if ends[-1] < nearest < end:
            ends.append(nearest)
    ends.append(end)
    return tuple(after - before for before, after in pairwise(ends))


def _nearest_end(position: int, axis: Axis) -> int:
    """The end of a chunk that is nearest to a position."""
    begin, length = axis.bounds(axis.locate(position))
    return begin if position - begin <= begin + length - position else begin + length
