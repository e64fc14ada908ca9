"""Memory in which a row of chunks lies one after the other, on its way between store and block.

Chunks that are worked on one by one cost the interpreter's lock several times each, and small copies with short rows.
A row of them is fetched, then decoded, then placed in a single copy; and the memory, being used again, stays warm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.engine.layout import sharding_of
from omnizarr.engine.pool import aside

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = [
    "Placing",
    "Stage",
    "Staging",
    "give_back",
    "most_workers",
    "places_long_rows",
    "row_length",
    "rows_of",
    "take_stage",
]

_ROW_BYTES = 2**20  # larger rows fall out of the processor's cache between the steps
_ROW_CHUNKS = 64
_SHORT = 50  # microseconds of decoding a chunk, below which a second thread costs more than it brings
_FETCHED = 20  # microseconds that a chunk costs beside its decoding
_PARTLY = 3  # times as many bytes are decoded as a window that cuts through chunks takes of them, roughly
_SOON = 2000  # microseconds in which one thread is done before another has begun
_BESIDE = 56 * 2**20
_ANY = 2**16  # more threads than anybody has
_KEPT = 4  # stages that are kept between reads
_KEPT_BYTES = 2**22  # of the largest of them
_LONG = 2**19  # bytes of a row that another thread may place: for less, to meet takes longer than to copy
_GUARD = 64  # bytes behind each chunk, so that one that is too long is noticed; a multiple of every alignment


def row_length(chain: Chain) -> int:
    """How many chunks are worked on together, if there are so many."""
    return max(1, min(_ROW_CHUNKS, _ROW_BYTES // max(1, chain.spec.nbytes)))


def rows_of(chain: Chain | None, cells: int, workers: int, nbytes: int) -> tuple[int, bool]:
    """How many chunks are worked on together, of `cells` that give `nbytes`, and whether it is better to work alone: a
    thread that wants the interpreter's lock again after each short call into the system or a codec mostly waits for
    it, and little work is done before another one has begun."""
    if chain is None:
        return 1, False
    sharding = sharding_of(chain)
    if sharding is not None:  # one is a row of rows
        inner = sharding.inner
        chunks = min(cells * sharding.count, cells + _PARTLY * nbytes // max(1, inner.spec.nbytes))
        if cells * _FETCHED + chunks * inner.microseconds < _SOON:
            return cells, True
        return 1, _is_short(inner, _shard_row(sharding))
    each = chain.microseconds
    if not chain.compressed:  # then no more is read than is wanted, gaps included
        each *= min(1, _PARTLY * nbytes / max(1, cells * chain.spec.nbytes))
    if cells * (each + _FETCHED) < _SOON:
        return max(1, min(row_length(chain), cells)), True
    most = max(1, min(row_length(chain), cells // (2 * workers)))
    return most, _is_short(chain, most)


def most_workers(chain: Chain | None, nbytes: int) -> int:
    """How many threads may stage chunks on the way to a result of `nbytes`, lest large chunks take more memory beside
    it than 56 MiB and an eighth of it: each thread holds a chunk, and a good half of that again as it is stored."""
    if chain is None or sharding_of(chain) is not None:  # of shards, only rows are staged
        return _ANY
    return max(1, (_BESIDE + nbytes // 8) // max(1, 8 * chain.spec.nbytes // 5))


def _shard_row(sharding: BoundSharding) -> int:
    return min((row_length(sharding.inner), *sharding.grid[-1:]))


def _is_short(chain: Chain, count: int) -> bool:
    """Whether the calls that decode a row are so short that another thread would only wait between them."""
    return chain.microseconds * (count if chain.batches else 1) < _SHORT


def places_long_rows(chain: Chain | None, most: int) -> bool:
    """Whether rows of `most` chunks are so long that it pays to have another thread copy them."""
    sharding = None if chain is None else sharding_of(chain)
    if sharding is not None:
        chain, most = sharding.inner, _shard_row(sharding)
    return chain is not None and most * chain.spec.nbytes >= _LONG


class Staging:
    """Room for a row of chunks."""

    def __init__(self, chain: Chain, count: int) -> None:
        self.chain = chain
        self.count = count
        spec = chain.spec
        size = spec.nbytes
        # What is read straight into its place may be too long for it; what is decoded there is not.
        step = size if chain.compressed else -(-size // _GUARD) * _GUARD + _GUARD
        memory = np.empty((count, step), np.uint8)
        strides = [spec.dtype.itemsize]
        for length in reversed(spec.shape[1:]):
            strides.insert(0, strides[0] * length)
        self._chunks = np.ndarray(
            (count, *spec.shape), spec.dtype, memory.data, 0, (step, *strides) if spec.shape else (step,)
        )
        self.chunks = [
            self._chunks[number] if spec.shape else self._chunks[number : number + 1].reshape(())
            for number in range(count)
        ]
        """Room for each chunk, contiguous."""
        self._bytes = [memory[number, : size + 1].data for number in range(count)]
        self.memories = [room[:size] for room in self._bytes]
        """The bytes of that room."""
        self.memory = memory.reshape(-1).data if step == size else None
        """All of it, if there are no gaps between chunks."""
        self._encoded: list[memoryview] = []
        rank = len(spec.shape)
        self._row = (*range(1, rank), 0)
        self._width = spec.dtype.itemsize * (spec.shape[-1] if rank else 1)
        self._void = np.dtype((np.void, self._width)) if rank > 1 and self._width < 2**31 else None

    def bytes(self, number: int) -> memoryview:
        """The bytes of a chunk's room; if chunks are read straight into it, one more, which one that is too long would
        fill."""
        return self._bytes[number]

    def encoded(self, number: int) -> memoryview:
        """Room for the stored form of a chunk, if that is hardly longer than the chunk itself."""
        if not self._encoded:
            count = len(self._bytes)
            length = len(self._bytes[0])
            memory = np.empty((count, length + length // 16 + 1024), np.uint8)
            self._encoded = [memory[place].data for place in range(count)]
        return self._encoded[number]

    def place(self, target: npt.NDArray[Any], count: int) -> None:
        """Copies the first `count` chunks, side by side along the last dimension, to `target`."""
        there, here = self._sides(target, count)
        there[...] = here

    def gather(self, source: npt.NDArray[Any], count: int) -> None:
        """The reverse of `place`."""
        there, here = self._sides(source, count)
        here[...] = there

    def _sides(self, block: npt.NDArray[Any], count: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Views of the block and of the chunks whose elements correspond. Where the rows of chunks are contiguous in
        the block they are taken as single, wide elements, which are copied in larger strides."""
        chunks = self._chunks[:count]
        if self._void is not None and block.dtype == chunks.dtype and block.strides[-1] == block.itemsize:
            return block.view(self._void), chunks.view(self._void)[..., 0].transpose(self._row)
        split = block.reshape(*block.shape[:-1], count, block.shape[-1] // count)
        return split, chunks.transpose(*self._row, chunks.ndim - 1)


class Placing:
    """Another thread that places a row in the block while the caller fetches and decodes the next: a single long copy,
    which is also the first to touch the memory of a new block. Threads that both fetch and decode would want the
    interpreter's lock several times in every chunk; these two meet once in a row. Nobody waits: a row that comes while
    the other thread is busy is placed by the caller."""

    def __init__(self) -> None:
        self._done: Future[object] | None = None
        self._away: Staging | None = None

    def place(self, staging: Staging, target: npt.NDArray[Any], count: int) -> Staging | None:
        """Has a row placed, and gives the room for the next one; None if there has to be a new one."""
        done = None
        if self._done is None or self._done.done():
            self.finish()  # if it failed, nothing more is placed
            done = aside(lambda: staging.place(target, count))
        if done is None:
            staging.place(target, count)
            return staging
        free, self._away, self._done = self._away, staging, done
        return free

    def finish(self) -> None:
        """Waits until everything is in its place."""
        if self._done is not None:
            self._done.result()


class Stage:
    """One thread's room, which is used again for every row, and by whoever reads next."""

    def __init__(self) -> None:
        self._staging: Staging | None = None
        self.placing: Placing | None = None
        """Who places rows, if it is not the thread that decodes them."""

    def room_for(self, chain: Chain, count: int) -> Staging:
        """Room for `count` chunks; what lay there before is lost."""
        room = self._staging
        if room is None or room.chain is not chain or room.count < count:
            self._staging = room = Staging(chain, count)
        return room

    def fits(self, chain: Chain | None) -> bool:
        """Whether its room is for such chunks."""
        return self._staging is not None and self._staging.chain is chain

    def place(self, target: npt.NDArray[Any], count: int) -> None:
        """Has the first `count` chunks in the room placed side by side in `target`, at once or in a while."""
        assert self._staging is not None
        if self.placing is None:
            self._staging.place(target, count)
        else:
            self._staging = self.placing.place(self._staging, target, count)

    @property
    def nbytes(self) -> int:
        """How much memory it has, roughly."""
        return 0 if self._staging is None else 2 * self._staging.count * self._staging.chain.spec.nbytes


_idle: list[Stage] = []  # those that were used last come last; a list, since nothing is quicker for threads to share


def take_stage(chain: Chain | None) -> Stage:
    """A stage for one thread, to be given back. A small read would spend a good part of its time on new memory."""
    for position in range(len(_idle) - 1, -1, -1):
        try:
            if _idle[position].fits(chain):
                return _idle.pop(position)
        except IndexError:  # another thread took it
            break
    return Stage()


def give_back(stage: Stage) -> None:
    """Keeps a stage for the next read, unless it is large, or there are enough."""
    stage.placing = None
    if 0 < stage.nbytes <= _KEPT_BYTES:
        _idle.append(stage)
        if len(_idle) > _KEPT:
            del _idle[:-_KEPT]
