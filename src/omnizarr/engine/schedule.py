"""The cost model: how many chunks are worked on together, how many threads are worth starting, and what is fetched
whole. All times are rough, measured on one machine; they decide between equally correct alternatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.config import config
from omnizarr.engine.layout import sharding_of
from omnizarr.engine.pool import run_native, submit
from omnizarr.store import Buffer

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = [
    "decode_row",
    "max_wait",
    "max_workers",
    "native_threads",
    "places_in_background",
    "plan_rows",
    "row_length",
    "takes_whole_shard",
]

_ROW_BYTES = 2**20  # longer rows fall out of the processor's cache between the steps
_ROW_CHUNKS = 64
_SHORT_US = 50  # microseconds of decoding per call, below which a second thread costs more than it saves
_FETCH_US = 20  # microseconds that a chunk costs in addition to its decoding
_OVERREAD = 3  # a window that cuts through chunks decodes about 3 times the bytes that it takes
_TINY_US = 2000  # microseconds of work that one thread finishes before a second one has started
_EXTRA_BYTES = 56 * 2**20
_UNLIMITED = 2**16  # more threads than any machine runs
_LONG_ROW = 2**19  # bytes of a row, below which handing the copy to another thread takes longer than the copy
_SHARE_US = 250  # microseconds of decoding that are worth handing to another thread
_NATIVE_WAKE_US = 100  # microseconds of work that are worth waking a kernel thread, which takes a fifth of that
_SLOW = 200e-6  # seconds for a chunk or shard, above which several threads should wait for the store
_SLOW_BYTE = 2e-9  # seconds per byte of a chunk or shard in addition
_READ_US = 0.4  # microseconds for a read of some hundred bytes from a file that is open
_NATIVE_CHUNK_US = 5  # microseconds that the kernel needs for a chunk in addition to its decoding


def row_length(chain: Chain) -> int:
    """The maximum number of chunks in a row."""
    return max(1, min(_ROW_CHUNKS, _ROW_BYTES // max(1, chain.spec.nbytes)))


def plan_rows(chain: Chain | None, cells: int, workers: int, nbytes: int) -> tuple[int, bool]:
    """The number of chunks per row, for `cells` chunks that give `nbytes`; and whether the calling thread works without
    helpers first. It does so if there is little work, or if the calls are so short that a helper would mostly wait for
    the interpreter's lock."""
    if chain is None:
        return 1, False
    sharding = sharding_of(chain)
    if sharding is not None:  # a shard is worked on in rows of inner chunks
        inner = sharding.inner
        chunks = min(cells * sharding.count, cells + _OVERREAD * nbytes // max(1, inner.spec.nbytes))
        if cells * _FETCH_US + chunks * inner.microseconds < _TINY_US:
            return cells, True
        return 1, _is_short(inner, _shard_row_length(sharding))
    microseconds = chain.microseconds
    if not chain.compressed:  # only the selected bytes are read, gaps included
        microseconds *= min(1, _OVERREAD * nbytes / max(1, cells * chain.spec.nbytes))
    if cells * (microseconds + _FETCH_US) < _TINY_US:
        return max(1, min(row_length(chain), cells)), True
    length = max(1, min(row_length(chain), cells // (2 * workers)))
    return length, _is_short(chain, length)


def max_wait(nbytes: int = 0) -> float:
    """The seconds for a chunk or shard of `nbytes`, above which several threads should wait for the store."""
    return _SLOW + nbytes * _SLOW_BYTE


def max_workers(chain: Chain | None, nbytes: int) -> int:
    """How many threads may decode chunks for a result of `nbytes`, so that they need at most 56 MiB plus an eighth of
    the result in addition to it. Each thread holds a decoded chunk, and its stored form of about 0.6 times the size."""
    if chain is None or sharding_of(chain) is not None:  # of a shard, a thread holds only a row
        return _UNLIMITED
    return max(1, (_EXTRA_BYTES + nbytes // 8) // max(1, 8 * chain.spec.nbytes // 5))


def native_threads(chain: Chain, count: int, nbytes: int, reads: int = 1) -> int:
    """How many threads the kernel uses for `count` chunks that give `nbytes`, with so many reads per chunk."""
    share = 1.0 if chain.compressed else min(1.0, nbytes / (count * chain.spec.nbytes))
    work = count * (_NATIVE_CHUNK_US + (reads - 1) * _READ_US + chain.microseconds * share)
    threads: int = min(1 + int(work / _NATIVE_WAKE_US), config.workers, count)
    return threads if threads < 2 else min(threads, max_workers(chain, nbytes))


def takes_whole_shard(sharding: BoundSharding, count: int) -> bool:
    """Whether to read or write the whole shard, if a selection touches `count` of its inner chunks: more than half."""
    return 2 * count > sharding.count


def places_in_background(chain: Chain | None, length: int) -> bool:
    """Whether rows of `length` chunks are so long that another thread should copy them to the block."""
    sharding = None if chain is None else sharding_of(chain)
    if sharding is not None:
        chain, length = sharding.inner, _shard_row_length(sharding)
    return chain is not None and length * chain.spec.nbytes >= _LONG_ROW


def _shard_row_length(sharding: BoundSharding) -> int:
    return min((row_length(sharding.inner), *sharding.grid[-1:]))


def _is_short(chain: Chain, count: int) -> bool:
    """Whether the calls that decode a row are so short that a second thread would only wait between them."""
    return chain.microseconds * (count if chain.batches else 1) < _SHORT_US


def decode_row(
    chain: Chain,
    values: Sequence[Buffer | None],
    chunks: Sequence[npt.NDArray[Any]],
    memories: Sequence[memoryview],
    room: memoryview | None,
) -> None:
    """`chain.decode_many`, shared with other threads if it takes long and this thread is not one of the pool. Each
    share is decoded by one library call, which does not hold the interpreter's lock."""
    count = len(values)
    shares = 1
    if chain.batches and room is not None and count > 1:
        shares = min(count, config.workers, int(count * chain.microseconds / _SHARE_US))
    run_native(shares - 1, lambda helpers: _decode_shares(chain, values, chunks, memories, room, 1 + helpers))


def _decode_shares(
    chain: Chain,
    values: Sequence[Buffer | None],
    chunks: Sequence[npt.NDArray[Any]],
    memories: Sequence[memoryview],
    room: memoryview | None,
    shares: int,
) -> None:
    if shares < 2:
        chain.decode_many(values, chunks, memories, room)
        return
    count = len(values)
    size = chain.spec.nbytes
    edges = [count * share // shares for share in range(shares + 1)]

    def decode(share: int) -> None:
        start, stop = edges[share], edges[share + 1]
        assert room is not None
        chain.decode_many(
            values[start:stop], chunks[start:stop], memories[start:stop], room[size * start : size * stop]
        )

    futures: list[Future[object]] = []
    own_shares = [0]
    for share in range(1, shares):
        future = submit(lambda share=share: decode(share))  # type: ignore[misc]
        if future is None:
            own_shares.append(share)
        else:
            futures.append(future)
    try:
        for share in own_shares:
            decode(share)
    finally:
        for future in futures:  # wait even after an error: no thread may write to this memory afterwards
            future.exception()
    for future in futures:
        future.result()
