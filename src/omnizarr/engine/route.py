"""Chooses the route of a read or write, and lists all routes. `read/direct` (J or G) and `write/update` (splice) may
still decline.

A read takes the first route whose row matches:

| store                    | codecs of the (inner) chunk              | selection                 | route     |
|--------------------------|------------------------------------------|---------------------------|-----------|
| any, with `on_corrupt=`  | any                                      | any                       | I salvage |
| snapshots, with `cache=` | any                                      | any                       | H cached  |
| http://, answers ≤ 2 ms  | any                                      | any                       | J direct  |
| remote                   | any                                      | any                       | G remote  |
| snapshots                | one that decodes parts, no local blosc   | slices; E saves ≥ 256 KiB | E partial |
| local files              | none, blosc, zstd, gzip; one chunk shape | slices, one (inner) chunk | A native  |
| local files              | none, blosc, zstd, gzip; one chunk shape | slices, several chunks    | B native  |
| local files              | none, blosc, zstd, gzip; no shards       | points or mask, 1-D array | C native  |
| local files              | none, blosc, zstd, gzip; one chunk shape | indices on one axis       | C native  |
| any                      | sharding, no codec before or after it    | any                       | F shards  |
| snapshots                | none                                     | slices; E saves ≥ 16 KiB  | E partial |
| any                      | any                                      | any                       | D Python  |

Routes A to C report a chunk as `UNUSUAL` if it is damaged or in a form that the kernel does not handle; D, E or F reads
it again and names what is wrong. A and B decode only the blocks of a Blosc chunk that hold selected elements; without
the kernel, E does. I runs the other routes and replaces the chunks that fail. G and J fetch; the kernel
(`native/received`), or else D, E and F, decode and place what they have fetched. J is for plain `http://` addresses
without a proxy whose shortest recent request took at most 2 ms; it leaves the rest to G if the store turns out to be
slow. In a memory store, E serves compressed chunks only. The setting `native` turns the kernel off.

A write takes the first route whose row matches, for each row of chunks:

| store                | codecs                                               | the selection covers  | route          |
|----------------------|------------------------------------------------------|-----------------------|----------------|
| local files, updates | none, blosc, zstd, gzip; one chunk shape, no shards  | whole chunks          | native         |
| any                  | any, no shards                                       | whole chunks          | encode and set |
| splicing             | sharding, no codec around it; stored shard ≥ 256 KiB | up to half of a shard | splice         |
| any                  | any                                                  | anything else         | update         |

Python instead of the kernel encodes zstd chunks of up to 256 KiB and a single value for many chunks, because that is
faster, and data types with padding, because it clears the padding. The kernel then writes these values to local files.
Writes to remote stores are sent many at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import Chain
from omnizarr.config import config
from omnizarr.dtypes.record_padding import has_padding
from omnizarr.engine.buffers import BackgroundPlacer, WorkerBuffer, borrow_buffer, return_buffer
from omnizarr.engine.chunk_cache import ChunkCache
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.pool import run
from omnizarr.engine.read.partial import decodes_parts, part_of
from omnizarr.engine.read.python import ChunkReader, read_chunk
from omnizarr.engine.read.shards import ShardReader
from omnizarr.engine.schedule import max_workers, places_in_background, plan_rows
from omnizarr.indexing import Cell, Pick, Projection, Selection, only_chunk, rows_from
from omnizarr.native import MAX_CHUNK_BYTES, codec, kernel
from omnizarr.store import Snapshots

if TYPE_CHECKING:
    from omnizarr.engine.read.native import NativeReader
    from omnizarr.engine.read.salvage import OnCorrupt
    from omnizarr.store.requests.writes import ConcurrentWrites

__all__ = ["read", "read_key", "write"]

_SMALL_FRAME = 2**18  # bytes; up to 256 KiB, the newer Zstandard that Python encodes with is faster by a sixth
_CACHE_WORKERS = 32  # threads that check a cache against a remote store
_DEFAULT_REQUESTS = 32  # writes in flight, if a remote store does not name a limit


# -- reading


def read_key(layout: Layout, key: Any) -> Any:
    """`array[key]` by route A or B, for a key of integers and slices with step 1; None if another route is needed. It
    makes neither a selection nor a projection, which take longer than reading one small chunk."""
    reader = layout.native_reader
    if reader is None:
        reader = layout.native_reader = _new_native_reader(layout)
    return reader.read_key(key if type(key) is tuple else (key,)) if reader else None


def read(layout: Layout, selection: Selection, out: npt.NDArray[Any], on_corrupt: OnCorrupt = "raise") -> None:
    """Fill `out`, which has the selection's shape, with the selected elements."""
    if on_corrupt != "raise":  # I
        from omnizarr.engine.read.salvage import salvage  # lazy import: few callers set `on_corrupt`

        salvage(read, layout, selection, out, on_corrupt)
        return
    if selection.empty:
        return
    if not out.flags.c_contiguous and selection.folded_shape != selection.shape:
        contiguous = np.empty(selection.shape, out.dtype)  # folding the axes of `out` itself would copy it
        read(layout, selection, contiguous)
        out[...] = contiguous
        return
    block = selection.block(out)
    store = layout.store
    if layout.cache is not None and layout.snapshots is not None:  # H
        _read_cached(layout, layout.cache, layout.snapshots, selection, block)
        return
    reader = _native_reader(layout)
    native = reader if reader and _may_read(reader, layout, block) else None
    if not store.remote and not selection.points:
        single = only_chunk(selection.picks, layout.axes)
        if single is not None:
            _read_one(layout, native, *single, block)
            return
    projection = Projection(selection.picks, selection.points, layout.axes)
    cells = None
    if native is not None:
        cells = native.read_slices(projection, block, _part_test(layout))  # B
        if cells is None:
            cells = native.read_points(projection, block)  # C
        if cells is None:
            cells = native.read_gathered(projection, block)  # C
    if cells is None or cells:
        _read_in_python(layout, projection, cells, block)


def _read_one(
    layout: Layout,
    native: NativeReader | None,
    chunk: tuple[int, ...],
    picks: tuple[Pick, ...],
    block: npt.NDArray[Any],
) -> None:
    """Read from the only chunk that slices touch, in the calling thread."""
    cell = Cell(tuple(map(str, chunk)), chunk, picks, ..., False)
    if native is not None:
        takes_part = _part_test(layout)
        if (takes_part is None or not takes_part(picks)) and native.read_chunk(cell, block):  # A
            return
    sharding = None if layout.sharding is None else sharding_of(layout.chain(chunk))
    if sharding is None:
        read_chunk(layout, cell, block)  # D or E
        return
    buffer = borrow_buffer(sharding.inner)
    ShardReader(layout, (), True, block, buffer).read(cell)  # F
    return_buffer(buffer)


def _read_in_python(layout: Layout, projection: Projection, cells: list[Cell] | None, block: npt.NDArray[Any]) -> None:
    """Routes D to G and J: `cells`, or all of the projection if that is None, in several threads if that is faster."""
    largest = layout.largest
    sharding = None if largest is None or layout.sharding is None else sharding_of(largest)
    decoded = largest if sharding is None else sharding.inner
    buffers: list[WorkerBuffer] = []
    placer = received = None

    def start() -> ChunkReader | ShardReader:
        buffer = borrow_buffer(decoded)
        if not buffers:  # only for the calling thread, which may work without helpers
            buffer.placer = placer
        buffers.append(buffer)
        if sharding is None:
            return ChunkReader(layout, projection, block, buffer, received)  # D and E
        return ShardReader(layout, projection.points, projection.plain, block, buffer, received)  # F

    count = len(projection) if cells is None else len(cells)
    workers = config.workers
    length, caller_first = plan_rows(largest, count, workers, block.nbytes)
    if layout.store.remote:  # J, then G
        from omnizarr.engine.read.direct import read_directly  # lazy import: remote stores only
        from omnizarr.engine.read.native.received import ReceivedChunks
        from omnizarr.engine.read.remote import fetch

        received = ReceivedChunks.of(layout, projection, block)
        remaining = read_directly(layout, projection, start, block.nbytes)
        if remaining is not None:
            with closing(fetch(layout, projection, remaining, block)) as fetched:  # after an error, send no more
                run(fetched, lambda: start().place_fetched, min(workers, count), caller_first=caller_first)
    else:
        workers = min(workers, -(-count // length), max_workers(largest, block.nbytes))
        # Not if rows go to the block through a temporary array, which must be complete when it is assigned.
        if caller_first and workers > 1 and projection.plain and places_in_background(largest, length):
            placer = BackgroundPlacer()
        try:
            rows = projection.rows(length) if cells is None else rows_from(cells, length)
            run(rows, start, workers, caller_first=caller_first)
        finally:
            if placer is not None:
                placer.finish()
    for buffer in buffers:  # not after an error: another thread may still use its buffer
        return_buffer(buffer)


def _read_cached(
    layout: Layout, cache: ChunkCache, snapshots: Snapshots, selection: Selection, block: npt.NDArray[Any]
) -> None:
    from omnizarr.engine.read.cached import CachedReader  # lazy import: few programs use a cache

    projection = Projection(selection.picks, selection.points, layout.axes)
    count = len(projection)
    remote = layout.store.remote
    workers = _CACHE_WORKERS if remote else config.workers
    length, caller_first = plan_rows(layout.largest, count, workers, block.nbytes)
    run(
        projection.rows(1 if remote else length),
        lambda: CachedReader(layout, cache, snapshots, projection, block),
        min(workers, count),
        caller_first=caller_first and not remote,
    )


# -- what the kernel can do


def _kernel_codec(layout: Layout, chain: Chain) -> int | None:
    """The kernel's number for the codec of a chain; None if the kernel cannot handle the chunks of this array."""
    if chain.native is None or layout.local_files is None or layout.snapshots is None or layout.uniform is None:
        return None
    return codec(chain.native)


def _may_read(reader: NativeReader, layout: Layout, block: npt.NDArray[Any]) -> bool:
    """Whether the kernel can fill this block, and the settings allow it."""
    settings = config.current
    return bool(settings.native and reader.nbytes <= settings.max_chunk_bytes and block.dtype == layout.dtype)


def _native_reader(layout: Layout) -> NativeReader | Literal[False]:
    """The reader that the layout keeps, made at the first read; False if the kernel cannot read this array."""
    reader: NativeReader | Literal[False] | None = layout.native_reader
    if reader is None:
        reader = layout.native_reader = _new_native_reader(layout)
    return reader


def _new_native_reader(layout: Layout) -> NativeReader | Literal[False]:
    """Reads an array with the kernel; False if the kernel cannot do that."""
    chain = layout.uniform
    if chain is None or layout.local_files is None or layout.store.remote:
        return False
    # A key must not skip the search for guessed chunk keys, or the cache.
    usual = layout.cache is None and not layout.model.guessed_keys
    name = "native reader" if usual else "native reader, not by key"
    known = layout.model.shared.get(name)
    if known is not None:
        like, members = known
        reader: NativeReader = like(members, layout)
        return reader
    if max(chain.spec.nbytes, chain.encoded.limit) > MAX_CHUNK_BYTES:
        return False
    sharding = None if layout.sharding is None else sharding_of(chain)
    number = _kernel_codec(layout, chain if sharding is None else sharding.inner)
    if number is None:
        return False
    from omnizarr.engine.read.native import NativeReader  # lazy import: local files only

    by_key = usual and (sharding is not None or not _prefers_parts(chain))  # nor route E
    reader = NativeReader(layout, chain, sharding, number, by_key=by_key)
    layout.model.shared[name] = NativeReader.like, reader.shared_members()
    return reader


def _write_codec(layout: Layout) -> int | None:
    """The kernel's number for the codec, if the kernel encodes chunks as Python does and at least as fast."""
    chain = layout.uniform
    if chain is None or has_padding(layout.dtype) or (chain.native == "zstd" and chain.spec.nbytes <= _SMALL_FRAME):
        return None
    return _kernel_codec(layout, chain)


def _part_test(layout: Layout) -> Callable[[tuple[Pick, ...]], bool] | None:
    """Tells for which picks route E decodes less than routes A and B; None if for none."""
    chain = layout.uniform
    if chain is None or not _prefers_parts(chain):
        return None
    return lambda picks: part_of(chain, layout, picks) is not None


def _prefers_parts(chain: Chain) -> bool:
    """Whether route E may decode less of a chunk than the kernel, which knows only the blocks of Blosc."""
    return decodes_parts(chain) and chain.native != "blosc"


# -- writing


def write(
    layout: Layout,
    selection: Selection,
    value: npt.NDArray[Any],
    *,
    keep_empty: bool,
    fields: str | list[str] | None = None,
) -> None:
    """Store `value`, broadcast to the selection's shape, at the selection: whole elements, or only `fields` of them.
    Chunks that hold nothing but the fill value are erased, unless `keep_empty`."""
    from omnizarr.engine.write.writer import Constant, WriteOptions, Writer  # lazy import: most programs only read

    block = selection.broadcast(value)
    if selection.empty:
        return
    store = layout.store
    projection = Projection(selection.picks, selection.points, layout.axes)
    count = len(projection)
    settings = config.current
    workers = settings.workers
    length, _ = plan_rows(layout.largest, count, workers, block.nbytes)
    constant = Constant() if value.ndim == 0 and fields is None else None
    sending = _new_sending(layout) if store.remote and count > 1 else None
    files = layout.local_files
    if files is not None and (not settings.native or kernel() is None or store.updates is None):
        files = None
    number = _write_codec(layout) if files is not None and constant is None else None
    splicing = None if layout.sharding is None else store.splicing
    options = WriteOptions(keep_empty, fields, constant, files, number, splicing, sending)
    try:
        run(
            projection.rows(length),
            lambda: Writer(layout, projection, block, options),
            min(workers, -(-count // length)),
        )
    finally:
        if sending is not None:
            sending.finish()


def _new_sending(layout: Layout) -> ConcurrentWrites:
    from omnizarr.store.requests.window import Window
    from omnizarr.store.requests.writes import ConcurrentWrites  # lazy import: remote stores only

    # Its own window, because a write takes another time than a read.
    window = layout.store.window
    return ConcurrentWrites(Window(_DEFAULT_REQUESTS if window is None else window.most_requests))
