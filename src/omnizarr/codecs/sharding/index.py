"""The index of a shard: the position and size of each inner chunk, validated when it is created (R100–R106)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import CodecError

__all__ = ["ShardIndex"]

_EMPTY = 2**64 - 1


class ShardIndex:
    """The (offset, size) of each inner chunk, in C order. Both are 2⁶⁴-1 for an empty inner chunk."""

    __slots__ = ("entries",)

    def __init__(self, entries: npt.NDArray[Any], shard_size: int | None, largest: int) -> None:
        """Raise CodecError for invalid entries. `shard_size` is the size of the shard, if known; `largest` is the
        maximum size of an encoded inner chunk."""
        offsets, sizes = entries[:, 0], entries[:, 1]
        empty = offsets == np.uint64(_EMPTY)
        if (empty != (sizes == np.uint64(_EMPTY))).any():
            raise CodecError("sharding_indexed", "the index has an entry with only one of offset and size")
        limit = np.uint64(2**63 - 1 if shard_size is None else shard_size)
        outside = ~empty & ((offsets > limit) | (sizes > limit - np.minimum(offsets, limit)))
        self._raise_if_any(
            entries,
            outside,
            "beyond the end of any shard" if shard_size is None else f"but the shard has {shard_size} bytes",
        )
        self._raise_if_any(
            entries, ~empty & (sizes > np.uint64(min(largest, 2**63))), f"but it can have at most {largest} bytes"
        )
        self._check_overlap(offsets[~empty] if empty.any() else offsets, sizes[~empty] if empty.any() else sizes)
        self.entries = entries

    @staticmethod
    def _check_overlap(offsets: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> None:
        """Raise CodecError if inner chunks share some of their bytes. They may share all of them: a writer may store
        equal inner chunks once (R103)."""
        if (offsets[1:] >= offsets[:-1] + sizes[:-1]).all():  # in C order, as most writers store them
            return
        order = np.lexsort((sizes, offsets))
        offsets, sizes = offsets[order], sizes[order]
        same = (offsets[1:] == offsets[:-1]) & ((sizes[1:] == sizes[:-1]) | (sizes[:-1] == 0))
        if (~same & (offsets[1:] < offsets[:-1] + sizes[:-1])).any():
            raise CodecError("sharding_indexed", "the index has inner chunks that overlap")

    @staticmethod
    def _raise_if_any(entries: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], reason: str) -> None:
        if wrong.any():
            number = int(np.flatnonzero(wrong)[0])
            offset, size = entries[number].tolist()
            raise CodecError(
                "sharding_indexed", f"the index has inner chunk {number} with {size} bytes at {offset}, {reason}"
            )

    def present(self) -> list[int]:
        """The numbers of the inner chunks that are not empty."""
        numbers: list[int] = np.flatnonzero(self.entries[:, 0] != np.uint64(_EMPTY)).tolist()
        return numbers

    def __getitem__(self, number: int) -> tuple[int, int] | None:
        """The (offset, size) of an inner chunk; None if it is empty."""
        offset, size = self.entries[number].tolist()
        return None if offset == _EMPTY else (offset, size)

    def extents(self, numbers: Sequence[int]) -> list[tuple[int, int] | None]:
        """The (offset, size) of each of these inner chunks; None for the empty ones."""
        entries = self.entries[np.asarray(numbers, np.intp)].tolist()
        return [None if offset == _EMPTY else (offset, size) for offset, size in entries]

    def __iter__(self) -> Iterator[tuple[int, int] | None]:
        return (None if offset == _EMPTY else (offset, size) for offset, size in self.entries.tolist())
