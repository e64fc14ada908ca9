"""Reading: chunks are fetched, decoded and placed, each in one go, by as many threads as it pays to use."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import Chain
from omnizarr.config import config
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.pool import Feed, run
from omnizarr.engine.shards import read_shard
from omnizarr.errors import ChunkError, CodecError
from omnizarr.indexing import Cell, Projection, Selection
from omnizarr.store import Buffer

__all__ = ["read"]

_Job = tuple[Cell, str, Buffer | None, bool]
"""A cell, its key, its bytes, and whether those were fetched already."""

_REMOTE_WINDOW = 1024  # requests that are given to a remote store at once


def read(layout: Layout, selection: Selection, out: npt.NDArray[Any]) -> None:
    """Fills `out`, which has the selection's shape, with what the selection picks."""
    if selection.empty:
        return
    block = selection.block(out)
    if block.size and not np.may_share_memory(block, out):
        # `out` is not contiguous and its axes had to be folded, which made a copy.
        whole = np.empty(selection.shape, out.dtype)
        read(layout, selection, whole)
        out[...] = whole
        return
    projection = Projection(selection.picks, selection.points, layout.axes)
    reader = _Reader(layout, projection, block)
    cells = len(projection)
    if cells == 1 and not layout.store.remote:
        reader.work([(cell, layout.key(cell.names), None, False) for cell in projection])
        return
    jobs = _fetched(layout, projection) if layout.store.remote else _unfetched(layout, projection)
    batch = 1 if layout.store.remote else max(1, min(16, cells // (4 * config.workers)))
    run(Feed(jobs, batch), reader.work, min(config.workers, cells))


def _unfetched(layout: Layout, projection: Projection) -> Iterator[_Job]:
    for cell in projection:
        yield cell, layout.key(cell.names), None, False


def _fetched(layout: Layout, projection: Projection) -> Iterator[_Job]:
    """Jobs in the order in which a remote store answers. Shards are left to the worker, which may want only parts."""
    cells = iter(projection)
    while window := list(islice(cells, _REMOTE_WINDOW)):
        jobs = [(cell, layout.key(cell.names)) for cell in window]
        if sharding_of(layout.chain(window[0].chunk)) is not None:
            yield from ((cell, key, None, False) for cell, key in jobs)
            continue
        for index, data in layout.store.get_each([(key, None) for _, key in jobs]):
            cell, key = jobs[index]
            yield cell, key, data, True


class _Reader:
    """What all threads of one read share."""

    def __init__(self, layout: Layout, projection: Projection, block: npt.NDArray[Any]) -> None:
        self._layout = layout
        self._projection = projection
        self._block = block

    def work(self, jobs: list[_Job]) -> None:
        layout, block, projection = self._layout, self._block, self._projection
        store, fill, order = layout.store, layout.fill, projection.order
        scratch: npt.NDArray[Any] | None = None
        chain: Chain | None = None
        for cell, key, data, fetched in jobs:
            try:
                bound = layout.chain(cell.chunk)
                if bound is not chain:
                    chain = bound
                    layout.check_size(chain)
                    sharding = sharding_of(chain)
                    scratch = None
                if sharding is not None:
                    read_shard(layout, sharding, store, key, cell, projection, block)
                    continue
                if not fetched:
                    data = store.get(key)
                if data is None:
                    block[cell.outer] = fill
                    continue
                target = None
                if chain.direct and chain.compressed:
                    if cell.whole and order is None:
                        part = block[cell.outer]
                        if part.shape == chain.spec.shape and part.flags.c_contiguous and part.dtype == layout.dtype:
                            target = part
                    if target is None:
                        if scratch is None:
                            scratch = np.empty(chain.spec.shape, layout.dtype)
                        target = scratch
                chunk = chain.decode(data, target)
                if chunk is not target or target is scratch:
                    if order is not None:
                        chunk = chunk.transpose(order)
                    block[cell.outer] = chunk[projection.expression(cell.inner)]
            except CodecError as error:
                raise ChunkError("read", layout.path, cell.chunk, key, error) from error
