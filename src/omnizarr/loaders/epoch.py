"""One pass over the samples of a process: an iterator over batches, which reads groups of samples ahead."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from omnizarr.config import config
from omnizarr.engine.read_ahead import read_in_order
from omnizarr.loaders.order import EpochOrder, ReadGroup
from omnizarr.loaders.processes import Share
from omnizarr.loaders.sources import SampleSource

__all__ = ["Epoch", "SampleRange", "group_bytes"]

_REMOTE_THREADS = 4  # groups that are requested at a time; each sends many requests
_PARTS = 5  # of the buffer: a group that the caller works on, two ahead, one whose last batch the caller holds, a batch


def group_bytes(buffer_bytes: int) -> int:
    """The largest group of samples within a buffer."""
    return buffer_bytes // _PARTS


class SampleRange(NamedTuple):
    """Where the samples of a process are in the sequence of an epoch, in whole batches except for the last."""

    start: int
    stop: int
    batch: int

    @property
    def batches(self) -> int:
        """How many batches there are."""
        return -(-(self.stop - self.start) // self.batch)

    def part(self, share: Share) -> SampleRange:
        """The share of a worker, in whole batches."""
        batches = share.of(self.batches)
        return SampleRange(
            self.start + batches.start * self.batch, min(self.stop, self.start + batches.stop * self.batch), self.batch
        )


class Epoch(Iterator[Any]):
    """The batches of one epoch from number `first` on."""

    def __init__(
        self,
        source: SampleSource,
        key: tuple[int, int],
        samples: SampleRange,
        share: Share,
        first: int,
        *,
        shuffle: bool,
        buffer_bytes: int,
        form: Callable[[list[Any]], Any],
    ) -> None:
        self.number = key[1]
        self.share = share
        self.received = first
        """How many batches the caller has received, in this process and before a resumption."""
        self.ended = False
        self._source = source
        self._key = key
        self._range = samples
        self._shuffle = shuffle
        self._bytes = group_bytes(buffer_bytes)
        self._form = form
        self._batches: Iterator[list[Any]] | None = None
        self._process = os.getpid()

    def __next__(self) -> Any:
        if self.ended:
            raise StopIteration
        if self._batches is None or self._process != os.getpid():  # a forked child has no threads: it goes on by itself
            self._process = os.getpid()
            self._batches = self._read()
        try:
            batch = next(self._batches)
        except StopIteration:
            self.ended = True
            self._batches = None
            raise
        self.received += 1
        return self._form(batch)

    def close(self) -> None:
        """Stop reading ahead. The iterator gives no more batches."""
        self.ended = True
        if self._batches is not None and self._process == os.getpid():
            self._batches.close()  # type: ignore[attr-defined]
        self._batches = None

    def _read(self) -> Iterator[list[Any]]:
        samples = self._range
        first = samples.start + self.received * samples.batch
        if first >= samples.stop:
            return
        order = EpochOrder(self._source, *self._key, shuffle=self._shuffle)
        self._source.start()
        groups = ((group, group.nbytes) for group in order.groups(samples.start, samples.stop, first, self._bytes))
        pieces: list[list[Any]] = []
        missing = min(samples.batch, samples.stop - first)
        for arrays in read_in_order(
            self._load,
            groups,
            ahead=True,
            most_bytes=3 * self._bytes,
            at_once=_REMOTE_THREADS if self._source.remote else 1,
        ):
            position, length = 0, len(arrays[0])
            while position < length:
                count = min(missing, length - position)
                pieces.append([array[position : position + count] for array in arrays])
                position += count
                missing -= count
                first += count
                if not missing:
                    joined = (
                        pieces[0]
                        if len(pieces) == 1
                        else [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
                    )
                    pieces = []
                    yield joined
                    del joined
                    missing = min(samples.batch, samples.stop - first)
            del arrays

    def _load(self, group: ReadGroup) -> list[Any]:
        with config(max_request_bytes=min(config.max_request_bytes, self._bytes)):
            return self._source.read(group.runs, group.order, self._key)
