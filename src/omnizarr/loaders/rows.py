"""Rows as samples: sample `i` is `array[i]` of each array."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import ArgumentError
from omnizarr.loaders.sources import BlockRuns, SampleSource, chunk_length, read_part

__all__ = ["Rows"]


class Rows(SampleSource):
    """The rows of arrays of the same length. A block has the rows of whole chunks."""

    def __init__(self, arrays: Sequence[Any], names: Sequence[str], block_bytes: int, whole_bytes: int) -> None:
        super().__init__(arrays, [array.shape[1:] for array in arrays])
        for array, name in zip(arrays, names, strict=True):
            if array.shape[0] != arrays[0].shape[0]:
                raise ArgumentError(
                    f"`arrays`: expected arrays of one length, found {arrays[0].shape[0]} rows in {names[0]} and "
                    f"{array.shape[0]} in {name}",
                    argument="arrays",
                )
        largest = max(arrays, key=lambda array: array.nbytes)
        length = chunk_length(largest, 0)
        self._block = length * max(1, block_bytes // (length * self.sample_bytes)) if block_bytes > 1 else 1
        # A chunk of labels can be as long as a thousand chunks of images: each read would decode it again.
        small = [array.nbytes <= whole_bytes and chunk_length(array, 0) > self._block for array in arrays]
        self._small: list[bool] = small
        self._whole: dict[int, npt.NDArray[Any]] = {}
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        return int(self.arrays[0].shape[0])

    def block_sizes(self, seed: int, epoch: int) -> npt.NDArray[np.int64]:
        whole, rest = divmod(self.count, self._block)
        sizes = np.full(whole + bool(rest), self._block, np.int64)
        if rest:
            sizes[-1] = rest
        return sizes

    def start(self) -> None:
        self._lock = threading.Lock()  # in a forked child, no thread holds it
        self._whole = {}

    def read(self, runs: BlockRuns, order: npt.NDArray[np.int64] | None, epoch: tuple[int, int]) -> list[Any]:
        starts = runs.blocks * self._block + runs.starts
        lengths = runs.stops - runs.starts
        if order is None and np.array_equal(starts[:-1] + lengths[:-1], starts[1:]):
            first, last = int(starts[0]), int(starts[-1] + lengths[-1])
            return [self._slice(number, first, last) for number in range(len(self.arrays))]
        before = np.cumsum(lengths) - lengths
        rows = np.repeat(starts - before, lengths) + np.arange(lengths.sum())
        return self.read_numbers(rows if order is None else rows[order], epoch)

    def read_numbers(self, numbers: npt.NDArray[np.int64], epoch: tuple[int, int]) -> list[Any]:
        parts = []
        for number, array in enumerate(self.arrays):
            if self._small[number]:
                parts.append(self._whole_array(number)[numbers])
            else:
                parts.append(read_part(array, (numbers,), self.memory))
        return parts

    def _slice(self, number: int, start: int, stop: int) -> npt.NDArray[Any]:
        if self._small[number]:
            return self._whole_array(number)[start:stop].copy()
        return read_part(self.arrays[number], (slice(start, stop),), self.memory)

    def _whole_array(self, number: int) -> npt.NDArray[Any]:
        with self._lock:
            if number not in self._whole:
                self._whole[number] = read_part(self.arrays[number], (), self.memory)
            return self._whole[number]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_whole": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.start()
