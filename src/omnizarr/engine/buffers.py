"""Reusable memory for rows of chunks on their way between store and block.

A row is fetched, then decoded, then copied to the block at once. Chunks that are handled one by one would take the
interpreter's lock several times each and make many short copies. Reused memory also stays in the processor's cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import Chain
from omnizarr.engine.pool import submit

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["BackgroundPlacer", "RowBuffer", "WorkerBuffer", "borrow_buffer", "return_buffer"]

_IDLE_BUFFERS = 4  # kept between reads
_IDLE_BYTES = 2**22  # size of the largest buffer that is kept
_GUARD = 64  # bytes after each chunk, to detect a stored value that is too long; a multiple of every alignment


class RowBuffer:
    """Memory for `count` chunks."""

    def __init__(self, chain: Chain, count: int) -> None:
        self.chain = chain
        self.count = count
        spec = chain.spec
        size = spec.nbytes
        # A stored value that is read directly into the buffer may be longer than a chunk; a decoded chunk is not.
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
        """One contiguous array per chunk."""
        self._guarded = [memory[number, : size + 1].data for number in range(count)]
        self.memories = [room[:size] for room in self._guarded]
        """The bytes of each chunk."""
        self.memory = memory.reshape(-1).data if step == size else None
        """The bytes of all chunks, if there are no gaps between them."""
        self._encoded: list[memoryview] = []
        rank = len(spec.shape)
        self._row = (*range(1, rank), 0)
        self._width = spec.dtype.itemsize * (spec.shape[-1] if rank else 1)
        self._void = np.dtype((np.void, self._width)) if rank > 1 and self._width < 2**31 else None

    def bytes(self, number: int) -> memoryview:
        """The bytes of a chunk; for an uncompressed chain one more, which only a value that is too long fills."""
        return self._guarded[number]

    def encoded(self, number: int) -> memoryview:
        """Memory for the stored form of a chunk, a sixteenth and 1 KiB longer than the chunk."""
        if not self._encoded:
            count = len(self._guarded)
            length = len(self._guarded[0])
            memory = np.empty((count, length + length // 16 + 1024), np.uint8)
            self._encoded = [memory[number].data for number in range(count)]
        return self._encoded[number]

    def place(self, target: npt.NDArray[Any], count: int) -> None:
        """Copy the first `count` chunks, side by side along the last dimension, to `target`."""
        outside, inside = self._matching_views(target, count)
        outside[...] = inside

    def gather(self, source: npt.NDArray[Any], count: int) -> None:
        """The reverse of `place`."""
        outside, inside = self._matching_views(source, count)
        inside[...] = outside

    def _matching_views(self, block: npt.NDArray[Any], count: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Views of the block and of the chunks whose elements correspond. If the last dimension of the block is
        contiguous, a whole line of a chunk becomes one wide element, which NumPy copies in larger steps."""
        chunks = self._chunks[:count]
        if self._void is not None and block.dtype == chunks.dtype and block.strides[-1] == block.itemsize:
            return block.view(self._void), chunks.view(self._void)[..., 0].transpose(self._row)
        split = block.reshape(*block.shape[:-1], count, block.shape[-1] // count)
        return split, chunks.transpose(*self._row, chunks.ndim - 1)


class BackgroundPlacer:
    """Copies a row to the block in another thread, while the calling thread fetches and decodes the next row.

    The copy is a single long call, and also the first to touch the memory of a new block. Two threads that both fetch
    and decode would compete for the interpreter's lock several times per chunk; these two meet once per row. Neither
    waits for the other: if the other thread is busy, the calling thread copies the row itself."""

    def __init__(self) -> None:
        self._future: Future[object] | None = None
        self._in_use: RowBuffer | None = None

    def place(self, row: RowBuffer, target: npt.NDArray[Any], count: int) -> RowBuffer | None:
        """Have a row copied, and return the buffer for the next one; None if a new one is needed."""
        future = None
        if self._future is None or self._future.done():
            self.finish()  # raises if the last copy failed
            future = submit(lambda: row.place(target, count))
        if future is None:
            row.place(target, count)
            return row
        free, self._in_use, self._future = self._in_use, row, future
        return free

    def finish(self) -> None:
        """Wait until all rows are copied."""
        if self._future is not None:
            self._future.result()


class WorkerBuffer:
    """The row buffer of one thread, reused for each row and, after `return_buffer`, by the next read."""

    def __init__(self) -> None:
        self._row: RowBuffer | None = None
        self.placer: BackgroundPlacer | None = None
        """Copies rows to the block, if not the thread itself."""

    def row(self, chain: Chain, count: int) -> RowBuffer:
        """A buffer for `count` chunks. It overwrites the one before."""
        row = self._row
        if row is None or row.chain is not chain or row.count < count:
            self._row = row = RowBuffer(chain, count)
        return row

    def fits(self, chain: Chain | None) -> bool:
        """Whether its row buffer is for chunks of this chain."""
        return self._row is not None and self._row.chain is chain

    def place(self, target: npt.NDArray[Any], count: int) -> None:
        """Copy the first `count` chunks of the row to `target`, now or in the background."""
        assert self._row is not None
        if self.placer is None:
            self._row.place(target, count)
        else:
            self._row = self.placer.place(self._row, target, count)

    @property
    def nbytes(self) -> int:
        """The approximate size of its memory."""
        return 0 if self._row is None else 2 * self._row.count * self._row.chain.spec.nbytes


_idle: list[WorkerBuffer] = []  # the most recently used come last; a list, which threads share without a lock


def borrow_buffer(chain: Chain | None) -> WorkerBuffer:
    """A buffer for one thread, if possible an idle one: allocating memory is a large part of a small read."""
    for position in range(len(_idle) - 1, -1, -1):
        try:
            if _idle[position].fits(chain):
                return _idle.pop(position)
        except IndexError:  # another thread removed one
            break
    return WorkerBuffer()


def return_buffer(buffer: WorkerBuffer) -> None:
    """Keep a buffer for the next read, unless it is large or enough are idle."""
    buffer.placer = None
    if 0 < buffer.nbytes <= _IDLE_BYTES:
        _idle.append(buffer)
        if len(_idle) > _IDLE_BUFFERS:
            del _idle[:-_IDLE_BUFFERS]
