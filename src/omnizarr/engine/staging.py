"""Memory in which a row of chunks lies one after the other, on its way between store and block.

Chunks that are worked on one by one cost the interpreter's lock several times each, and small copies with short rows.
A row of them is fetched, then decoded, then placed in a single copy; and the memory, being used again, stays warm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import Chain

__all__ = ["Staging", "rows_of", "staged"]

_ROW_BYTES = 2**20  # larger rows fall out of the processor's cache between the steps
_ROW_CHUNKS = 64
_SHORT = 50  # microseconds of decoding a chunk, below which a second thread costs more than it brings
_GUARD = 64  # bytes behind each chunk, so that one that is too long is noticed; a multiple of every alignment


def rows_of(chain: Chain | None, cells: int, workers: int) -> tuple[int, bool]:
    """How many chunks are worked on together, and whether it is better to work alone: a thread that wants the
    interpreter's lock again after each short call into the system or a codec mostly waits for it."""
    if chain is None:
        return 1, False
    row = max(1, min(_ROW_CHUNKS, _ROW_BYTES // max(1, chain.spec.nbytes), cells // (2 * workers)))
    return row, chain.microseconds < _SHORT


class Staging:
    """Room for a row of chunks."""

    def __init__(self, chain: Chain, count: int) -> None:
        self.chain = chain
        self.count = count
        spec = chain.spec
        size = spec.nbytes
        step = -(-size // _GUARD) * _GUARD + _GUARD
        memory = np.empty((count, step), np.uint8)
        strides = [spec.dtype.itemsize]
        for length in reversed(spec.shape[1:]):
            strides.insert(0, strides[0] * length)
        self._chunks = np.ndarray(
            (count, *spec.shape), spec.dtype, memory.data, 0, (step, *strides) if spec.shape else (step,)
        )
        self._chunk_list = [
            self._chunks[number] if spec.shape else self._chunks[number : number + 1].reshape(())
            for number in range(count)
        ]
        self._bytes = [memory[number, : size + 1].data for number in range(count)]
        self._exact = [room[:size] for room in self._bytes]
        self._encoded: list[memoryview] = []
        rank = len(spec.shape)
        self._row = (*range(1, rank), 0)
        self._width = spec.dtype.itemsize * (spec.shape[-1] if rank else 1)
        self._void = np.dtype((np.void, self._width)) if rank > 1 and self._width < 2**31 else None

    def chunk(self, number: int) -> npt.NDArray[Any]:
        """Room for one chunk, contiguous."""
        return self._chunk_list[number]

    def memory(self, number: int) -> memoryview:
        """The bytes of that room."""
        return self._exact[number]

    def bytes(self, number: int) -> memoryview:
        """The same with one byte more, which a chunk that is too long would fill."""
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


def staged(room: Staging | None, chain: Chain, count: int) -> Staging:
    """The room that there is, if it serves for `count` such chunks; else a new one."""
    return room if room is not None and room.chain is chain and room.count >= count else Staging(chain, count)
