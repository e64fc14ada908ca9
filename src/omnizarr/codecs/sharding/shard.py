"""The byte format of a shard: encoded inner chunks, with an index at one end.

It does not depend on arrays. The sharding codec and the sharding storage transformer share it.
"""

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
    """The input of the index codecs, for a shard with a `grid` of inner chunks."""
    return ChunkSpec((*grid, 2), np.dtype(np.uint64), np.array(_EMPTY, np.uint64))


class ShardBytes:
    """Packs `count` encoded inner chunks into a shard, and finds them in it."""

    def __init__(
        self, count: int, index: Chain, *, at_start: bool, largest: int, bare_index: Chain | None = None
    ) -> None:
        """`index` is a chain with a fixed output size, bound to an `index_spec`. `largest` is the maximum size of an
        encoded inner chunk. `bare_index` is a chain without checksum, used for an index that `index` cannot decode."""
        self.count = count
        self._index = index
        self._bare_index = bare_index
        assert index.encoded.size is not None
        self.index_size: int = index.encoded.size
        self.at_start = at_start
        self._largest = largest

    @property
    def index_range(self) -> tuple[int, int | None]:
        """The byte range of the index in a shard."""
        return (0, self.index_size) if self.at_start else (-self.index_size, None)

    def decode_index(self, data: Buffer, shard_size: int | None = None) -> ShardIndex:
        """Decode the index from the bytes at `index_range`."""
        if self._bare_index is not None:
            return ShardIndex(self._decode_old_index(data).reshape(-1, 2), shard_size, self._largest)
        self._check_length(data, self.index_size)
        return ShardIndex(self._index.decode(data).reshape(-1, 2), shard_size, self._largest)

    def _decode_old_index(self, data: Buffer) -> npt.NDArray[Any]:
        """The entries of an index with a valid checksum, or else without checksum."""
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
                "sharding_indexed",
                f"the shard is too short to hold its index: expected {size} bytes, found {len(data)}",
            )

    def split(self, data: Buffer) -> list[Buffer | None]:
        """The encoded inner chunks of a shard as views, in C order; None for the empty ones."""
        view = memoryview(data)
        start, length = self.index_range
        index = self.decode_index(view[start:] if length is None else view[:length], len(view))
        return [None if extent is None else view[extent[0] : extent[0] + extent[1]] for extent in index]

    def updated_pieces(
        self, index: ShardIndex, changed: Mapping[int, Buffer | None]
    ) -> list[Buffer | tuple[int, int]] | None:
        """A shard with some inner chunks `changed`, as a list of pieces: new bytes, or the (offset, size) of bytes to
        copy from the old shard. None if all inner chunks are empty."""
        offsets, sizes = (column.astype(np.int64) for column in index.entries.T)
        from_old = offsets != -1  # the largest uint64 marks an empty inner chunk
        numbers = sorted(changed)
        lengths = np.where(from_old, sizes, 0)
        present = from_old.copy()
        for number in numbers:
            part = changed[number]
            present[number] = part is not None
            lengths[number] = 0 if part is None else len(part)
        if not present.any():
            return None
        from_old[numbers] = False
        pieces: list[Buffer | tuple[int, int]] = []
        before = 0
        for number in [*numbers, self.count]:
            pieces += _runs(
                offsets[before:number][from_old[before:number]], sizes[before:number][from_old[before:number]]
            )
            part = changed.get(number)
            if part is not None:
                pieces.append(part)
            before = number + 1
        encoded = self._encode_index(present, lengths[present])
        return [encoded, *pieces] if self.at_start else [*pieces, encoded]

    def join(self, parts: Sequence[Buffer | None]) -> Buffer:
        """A shard of encoded inner chunks, given in C order; None for the empty ones."""
        present = np.array([part is not None for part in parts], bool)
        pieces = [part for part in parts if part is not None]
        index = self._encode_index(present, np.array(list(map(len, pieces)), np.int64))
        return b"".join([index, *pieces] if self.at_start else [*pieces, index])

    def _encode_index(self, present: npt.NDArray[np.bool_], lengths: npt.NDArray[np.int64]) -> Buffer:
        """The encoded index of a shard with the `present` inner chunks, of these lengths, without gaps."""
        first = self.index_size if self.at_start else 0
        entries = np.full((self.count, 2), _EMPTY, np.uint64)
        entries[present, 0] = first + np.cumsum(lengths) - lengths
        entries[present, 1] = lengths
        return self._index.encode(entries.reshape(self._index.spec.shape))


def _runs(offsets: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> list[Buffer | tuple[int, int]]:
    """The (offset, size) of the given byte ranges, with adjacent ranges merged."""
    if not len(offsets):
        return []
    ends = offsets + sizes
    breaks = np.flatnonzero(offsets[1:] != ends[:-1]) + 1
    starts = offsets[np.concatenate(([0], breaks))].tolist()
    stops = ends[np.concatenate((breaks - 1, [len(ends) - 1]))].tolist()
    return [(start, stop - start) for start, stop in zip(starts, stops, strict=True)]
