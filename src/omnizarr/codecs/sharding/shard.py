"""The bytes of a shard: encoded inner chunks one after the other, and an index of them at one end. It knows nothing of
arrays, so that whoever packs chunks into shards, as a codec or as a storage transformer, does it here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs.chain import Chain
from omnizarr.codecs.contract import Buffer, ChunkSpec
from omnizarr.codecs.sharding.index import ShardIndex
from omnizarr.errors import CodecError

__all__ = ["ShardBytes", "index_spec"]

_EMPTY = 2**64 - 1


def index_spec(grid: Sequence[int]) -> ChunkSpec:
    """The index of a shard that has so many inner chunks along each dimension, as the codecs of an index meet it."""
    return ChunkSpec((*grid, 2), np.dtype(np.uint64), np.array(_EMPTY, np.uint64))


class ShardBytes:
    """Packs `count` inner chunks into a shard, and says where they lie in one."""

    def __init__(
        self, count: int, index: Chain, *, at_start: bool, largest: int, bare_index: Chain | None = None
    ) -> None:
        """`index` is bound to an `index_spec`, and encodes every index to the same size; `largest` is how long the
        stored form of an inner chunk can be; `bare_index` is how an index is read that does not fit `index`: without a
        checksum."""
        self.count = count
        self._index = index
        self._bare_index = bare_index
        assert index.encoded.size is not None
        self.index_size: int = index.encoded.size
        self.at_start = at_start
        self._largest = largest

    @property
    def index_range(self) -> tuple[int, int | None]:
        """Where the index lies in a shard, as a byte range."""
        return (0, self.index_size) if self.at_start else (-self.index_size, None)

    def decode_index(self, data: Buffer, shard_size: int | None = None) -> ShardIndex:
        """The index, from the bytes that lie at `index_range`."""
        if self._bare_index is not None:
            return ShardIndex(self._guessed(data).reshape(-1, 2), shard_size, self._largest)
        self._check_length(data, self.index_size)
        return ShardIndex(self._index.decode(data).reshape(-1, 2), shard_size, self._largest)

    def _guessed(self, data: Buffer) -> npt.NDArray[Any]:
        """The entries of an index that ends in a checksum, or else of one that has none."""
        assert self._bare_index is not None
        size = self._bare_index.spec.nbytes
        self._check_length(data, size)
        try:
            return self._index.decode(data)
        except CodecError:
            return self._bare_index.decode(data[:size] if self.at_start else data[len(data) - size :])

    @staticmethod
    def _check_length(data: Buffer, size: int) -> None:
        if len(data) < size:
            raise CodecError(
                "sharding_indexed", f"the shard is too short for its index: expected {size} bytes, found {len(data)}"
            )

    def split(self, data: Buffer) -> list[Buffer | None]:
        """A shard's inner chunks as views, in C order; None for the empty ones."""
        view = memoryview(data)
        start, length = self.index_range
        index = self.decode_index(view[start:] if length is None else view[:length], len(view))
        return [None if place is None else view[place[0] : place[0] + place[1]] for place in index]

    def updated_pieces(
        self, index: ShardIndex, changed: Mapping[int, Buffer | None]
    ) -> list[Buffer | tuple[int, int]] | None:
        """A shard of which some inner chunks were changed, as the pieces that it is made of: bytes, and what stays of
        the old one, where it lies and how many bytes it has. None if nothing is left in it."""
        offsets, sizes = (column.astype(np.int64) for column in index.entries.T)
        kept = offsets != -1  # what is empty has the largest number that there is
        numbers = sorted(changed)
        lengths = np.where(kept, sizes, 0)
        there = kept.copy()
        for number in numbers:
            part = changed[number]
            there[number] = part is not None
            lengths[number] = 0 if part is None else len(part)
        if not there.any():
            return None
        kept[numbers] = False
        pieces: list[Buffer | tuple[int, int]] = []
        before = 0
        for number in [*numbers, self.count]:
            pieces += _runs(offsets[before:number][kept[before:number]], sizes[before:number][kept[before:number]])
            part = changed.get(number)
            if part is not None:
                pieces.append(part)
            before = number + 1
        encoded = self._index_of(there, lengths[there])
        return [encoded, *pieces] if self.at_start else [*pieces, encoded]

    def join(self, parts: Sequence[Buffer | None]) -> Buffer:
        """A shard made of encoded inner chunks, in C order; None for the empty ones."""
        there = np.array([part is not None for part in parts], bool)
        pieces = [part for part in parts if part is not None]
        index = self._index_of(there, np.array(list(map(len, pieces)), np.int64))
        return b"".join([index, *pieces] if self.at_start else [*pieces, index])

    def _index_of(self, there: npt.NDArray[np.bool_], lengths: npt.NDArray[np.int64]) -> Buffer:
        """The index of a shard that has these inner chunks, which are so long, one after the other."""
        first = self.index_size if self.at_start else 0
        entries = np.full((self.count, 2), _EMPTY, np.uint64)
        entries[there, 0] = first + np.cumsum(lengths) - lengths
        entries[there, 1] = lengths
        return self._index.encode(entries.reshape(self._index.spec.shape))


def _runs(offsets: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> list[Buffer | tuple[int, int]]:
    """Chunks that follow each other as they do in the old shard, in as few pieces as they form there."""
    if not len(offsets):
        return []
    ends = offsets + sizes
    breaks = np.flatnonzero(offsets[1:] != ends[:-1]) + 1
    starts = offsets[np.concatenate(([0], breaks))].tolist()
    stops = ends[np.concatenate((breaks - 1, [len(ends) - 1]))].tolist()
    return [(start, stop - start) for start, stop in zip(starts, stops, strict=True)]
