"""The order of the samples of an epoch: a permutation of blocks, and one of the samples of each group of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.loaders.random_numbers import permutation
from omnizarr.loaders.sources import BlockRuns, SampleSource

__all__ = ["EpochOrder", "ReadGroup"]

_FIRST_GROUP = 2**23  # bytes: 8 MiB are read in some milliseconds, so that the first batch comes soon
_BLOCKS, _SAMPLES = 3, 4  # parts of the keys of random numbers


class ReadGroup(NamedTuple):
    """Samples that are read, and in a shuffled epoch mixed, at a time."""

    runs: BlockRuns
    order: npt.NDArray[np.int64] | None
    """The samples of the runs that are given, in their order; None for all, one after the other."""
    nbytes: int


class EpochOrder:
    """The sequence of all samples of an epoch. It depends on nothing but the source, the seed and the epoch."""

    def __init__(self, source: SampleSource, seed: int, epoch: int, *, shuffle: bool) -> None:
        self._source = source
        self._key = seed, epoch
        self._shuffle = shuffle
        sizes = source.block_sizes(seed, epoch)
        self._blocks = permutation(len(sizes), seed, epoch, _BLOCKS) if shuffle else np.arange(len(sizes))
        self._ends = np.cumsum(sizes[self._blocks])

    def groups(self, start: int, stop: int, first: int, most_bytes: int) -> Iterator[ReadGroup]:
        """The samples at positions from `first` to before `stop`, in the groups of the share that begins at `start`.
        Groups grow up to `most_bytes`, and end where a block does if they can."""
        size = self._source.sample_bytes
        target = min(_FIRST_GROUP, most_bytes)
        while start < stop:
            end = min(stop, start + max(1, target // size))
            if end < stop:
                number = int(np.searchsorted(self._ends, end, side="right"))
                boundary = int(self._ends[number - 1]) if number else 0
                end = boundary if boundary > start else end
            if end > first:
                yield self._group(start, end, max(0, first - start))
            start = end
            target = min(2 * target, most_bytes)

    def _group(self, start: int, end: int, skipped: int) -> ReadGroup:
        nbytes = (end - start - skipped) * self._source.sample_bytes
        if not self._shuffle:
            return ReadGroup(self._runs(start + skipped, end), None, nbytes)
        order = permutation(end - start, *self._key, _SAMPLES, start)[skipped:]
        return ReadGroup(self._runs(start, end), order, nbytes)

    def _runs(self, start: int, end: int) -> BlockRuns:
        first = int(np.searchsorted(self._ends, start, side="right"))
        last = int(np.searchsorted(self._ends, end, side="left"))
        ends = self._ends[first : last + 1]
        begins = np.concatenate([self._ends[first - 1 : first] if first else [0], ends[:-1]]).astype(np.int64)
        filled = ends > begins  # blocks without samples: random crops may leave some out
        blocks = self._blocks[first : last + 1][filled]
        starts = np.maximum(begins, start)[filled] - begins[filled]
        stops = np.minimum(ends, end)[filled] - begins[filled]
        return BlockRuns(blocks, starts, stops)
