"""The only module that decides which path a read or write takes. Callers outside the engine use only this module.

A read takes the first path whose row matches. Paths A to C leave a chunk that is damaged or unusual to the Python paths
D to F, which report what is wrong with it.

| store                    | codecs of the (inner) chunk                    | selection                   | path      |
|--------------------------|------------------------------------------------|-----------------------------|-----------|
| any, with `on_corrupt=`  | any                                            | any                         | I salvage |
| snapshots, with `cache=` | any                                            | any                         | H cached  |
| remote                   | any                                            | any                         | G remote  |
| local files              | none, blosc, zstd or gzip; chunks of one shape | slices, one (inner) chunk   | A native  |
| local files              | none, blosc, zstd or gzip; chunks of one shape | slices, several chunks      | B native  |
| local files              | none, blosc, zstd or gzip; no shards           | points or a mask, 1-D array | C native  |
| any other                | sharding, with nothing before or after         | any                         | F shards  |
| snapshots                | none, or a large chunk in independent blocks   | slices, part of a chunk     | E partial |
| any other                | any                                            | any                         | D Python  |

I tries the other paths first and replaces the chunks that fail. G fetches; D, E and F decode and place what it fetches.

A write takes the first path whose row matches, per row of chunks:

| store                    | codecs                               | what the selection covers        | path           |
|--------------------------|--------------------------------------|----------------------------------|----------------|
| local files, conditional | none, blosc, zstd or gzip, no shards | whole chunks, one value for each | native         |
| any                      | any, no shards                       | whole chunks                     | encode and set |
| can splice               | sharding                             | less than half of a large shard  | splice         |
| any                      | any                                  | anything else                    | update (merge) |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.config import config
from omnizarr.engine.buffers import Placing, Stage, give_back, most_workers, places_long_rows, rows_of, take_stage
from omnizarr.engine.chunk_cache import ChunkCache
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.pool import run
from omnizarr.engine.read.native_small import read_small as read_key
from omnizarr.engine.read.partial import decodes_parts, part_of, read_part
from omnizarr.engine.read.python import Worker
from omnizarr.engine.read.shards import ShardReader
from omnizarr.engine.write.python import write
from omnizarr.errors import ChunkError, CodecError, MissingDependencyError
from omnizarr.indexing import Cell, Pick, Projection, Selection, only_chunk, rows_from

if TYPE_CHECKING:
    from omnizarr.engine.read.salvage import OnCorrupt

__all__ = ["read", "read_key", "write"]

_REMOTE_WORKERS = 32  # threads that ask a remote store whether what is cached is still right


def read(layout: Layout, selection: Selection, out: npt.NDArray[Any], on_corrupt: OnCorrupt = "raise") -> None:
    """Fills `out`, which has the selection's shape, with the elements that the selection picks."""
    if on_corrupt == "raise":
        _read(layout, selection, out)
    else:
        from omnizarr.engine.read.salvage import salvage  # lazy import: few callers set `on_corrupt`

        salvage(layout, selection, out, on_corrupt)


def _read(layout: Layout, selection: Selection, out: npt.NDArray[Any]) -> None:
    if selection.empty:
        return
    if not out.flags.c_contiguous and selection.folded != selection.shape:
        whole = np.empty(selection.shape, out.dtype)  # folding the axes of `out` itself would make a copy
        _read(layout, selection, whole)
        out[...] = whole
        return
    block = selection.block(out)
    if layout.cache is not None and layout.store.holds:
        _read_cached(layout, layout.cache, selection, block)
        return
    if not layout.store.remote and not selection.points:
        found = only_chunk(selection.picks, layout.axes)
        if found is not None:
            _read_one(layout, *found, block)
            return
    projection = Projection(selection.picks, selection.points, layout.axes)
    cells = len(projection)
    workers = config.workers
    largest = layout.largest
    sharding = None if largest is None or layout.sharding is None else sharding_of(largest)
    staged = largest if sharding is None else sharding.inner
    stages: list[Stage] = []

    def start() -> Worker:
        stage = take_stage(staged)
        if not stages:  # the one who may work alone, and not those who join when the store is slow
            stage.placing = placing
        stages.append(stage)
        return Worker(layout, projection, block, stage)

    placing = None
    left = None if layout.store.remote else _read_compiled(layout, staged, projection, block)
    if left is not None:
        if not left:
            return
        cells = len(left)
    most, alone = rows_of(largest, cells, workers, block.nbytes)
    if layout.store.remote:
        from omnizarr.engine.read.remote import fetch  # only those wait for it who wait for a network

        run(fetch(layout, projection, lambda: _touch(block)), lambda: start().take, min(workers, cells), alone=alone)
    else:
        workers = min(workers, -(-cells // most), most_workers(largest, block.nbytes))
        # What goes to the block by way of another array has to be in that one at once.
        if alone and workers > 1 and projection.plain and places_long_rows(largest, most):
            placing = Placing()
        try:
            run(projection.rows(most) if left is None else rows_from(left, most), start, workers, alone=alone)
        finally:
            if placing is not None:
                placing.finish()
    for stage in stages:  # not those of a read that was broken off: somebody may still be working in them
        give_back(stage)


def _read_compiled(
    layout: Layout, chain: Chain | None, projection: Projection, block: npt.NDArray[Any]
) -> list[Cell] | None:
    """Has the compiled loop read what it can, if it can read such chunks at all; gives what is left."""
    if not layout.store.files:
        return None
    from omnizarr.engine.read.native import read_cells, usable  # only for files

    number = usable(layout, chain, block)
    return None if number is None or chain is None else read_cells(layout, chain, number, projection, block)


def _read_cached(layout: Layout, cache: ChunkCache, selection: Selection, block: npt.NDArray[Any]) -> None:
    from omnizarr.engine.read.cached import CachedReader  # few programs ask for a cache

    projection = Projection(selection.picks, selection.points, layout.axes)
    cells = len(projection)
    workers = _REMOTE_WORKERS if layout.store.remote else config.workers
    most, alone = rows_of(layout.largest, cells, workers, block.nbytes)
    run(
        projection.rows(1 if layout.store.remote else most),
        lambda: CachedReader(layout, cache, projection, block),
        min(workers, cells),
        alone=alone and not layout.store.remote,
    )


def _touch(block: npt.NDArray[Any]) -> None:
    """Has the system give the memory of a result, which costs about as much as to fill it: best done while nothing has
    arrived yet. No value changes."""
    if block.flags.c_contiguous and not block.dtype.hasobject:
        pages = block.reshape(-1).view(np.uint8)[:: 2**12]
        pages[...] = pages.copy()


def _read_one(layout: Layout, chunk: tuple[int, ...], inner: tuple[Pick, ...], block: npt.NDArray[Any]) -> None:
    """Reads from the only chunk there is: no threads, no rows, nothing that is made for the next one."""
    chain = layout.chain(chunk)
    names = tuple(map(str, chunk))
    key = layout.key(names)
    cell = Cell(names, chunk, inner, ..., False)
    try:
        layout.check_size(chain)
        sharding = None if layout.sharding is None else sharding_of(chain)
        if layout.store.files and _read_one_compiled(layout, chain, sharding, key, cell, block):
            return
        if sharding is not None:
            stage = take_stage(sharding.inner)
            ShardReader(layout, (), True, block, stage).read(sharding, key, cell)
            give_back(stage)
            return
        part = part_of(chain, layout.store, inner)
        if part is not None:
            if not read_part(chain, layout.store, key, part, block):
                block[...] = layout.fill
            return
        data = layout.get(key, chain.encoded.limit)
        if data is None:
            block[...] = layout.fill
        elif (
            chain.direct
            and block.shape == chain.spec.shape
            and block.flags.c_contiguous
            and block.dtype == layout.dtype
        ):
            chain.decode_into(data, block, block.reshape(-1).view(np.uint8).data)
        else:
            block[...] = chain.decode(data)[inner]
    except CodecError as error:
        raise ChunkError("read", layout.name, chunk, key, error) from error
    except MissingDependencyError as error:
        raise error.add_context(f"cannot read array `{layout.name}`") from None


def _read_one_compiled(
    layout: Layout,
    chain: Chain,
    sharding: BoundSharding | None,
    key: str,
    cell: Cell,
    block: npt.NDArray[Any],
) -> bool:
    """Has the compiled loop read from a chunk, if it can, and unless it is better to decode a part of it."""
    from omnizarr.engine.read.native import read_one, read_shard, usable  # only for files

    number = usable(layout, chain if sharding is None else sharding.inner, block)
    if number is None:
        return False
    if sharding is not None:
        return read_shard(layout, sharding, number, key, cell, block)
    if decodes_parts(chain) and part_of(chain, layout.store, cell.inner) is not None:
        return False
    path, flags = layout.store.path_of(key)
    return read_one(path, flags, (0, -1), chain, number, cell.inner, block)
