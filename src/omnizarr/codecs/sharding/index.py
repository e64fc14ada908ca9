"""The index of a shard: where each inner chunk lies, checked before anybody trusts it (R100–R106)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import CodecError

__all__ = ["ShardIndex"]

_EMPTY = 2**64 - 1


class ShardIndex:
    """(offset, nbytes) of each inner chunk in C order; both 2⁶⁴-1 for an empty one."""

    __slots__ = ("entries",)

    def __init__(self, entries: npt.NDArray[Any], shard_size: int | None, largest: int) -> None:
        """`shard_size`, where it is known, is what no entry may reach beyond; `largest` is how long the stored form of
        an inner chunk can be."""
        offsets, sizes = entries[:, 0], entries[:, 1]
        empty = offsets == np.uint64(_EMPTY)
        if (empty != (sizes == np.uint64(_EMPTY))).any():
            raise CodecError("sharding_indexed", "the index has an entry with an offset or a size, but not both")
        limit = np.uint64(2**63 - 1 if shard_size is None else shard_size)
        outside = ~empty & ((offsets > limit) | (sizes > limit - np.minimum(offsets, limit)))
        self._refuse(
            entries,
            outside,
            "which no shard can have" if shard_size is None else f"but the shard has {shard_size} bytes",
        )
        self._refuse(entries, ~empty & (sizes > np.uint64(min(largest, 2**63))), f"more than the {largest} it can have")
        self._check_apart(offsets[~empty] if empty.any() else offsets, sizes[~empty] if empty.any() else sizes)
        self.entries = entries

    @staticmethod
    def _check_apart(offsets: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> None:
        """Refuses inner chunks that share some of their bytes. Those that share all of them may do so: a writer that
        stores equal ones once breaks no rule (R103)."""
        if (offsets[1:] >= offsets[:-1] + sizes[:-1]).all():  # in order, as most writers store them
            return
        order = np.lexsort((sizes, offsets))
        offsets, sizes = offsets[order], sizes[order]
        same = (offsets[1:] == offsets[:-1]) & ((sizes[1:] == sizes[:-1]) | (sizes[:-1] == 0))
        if (~same & (offsets[1:] < offsets[:-1] + sizes[:-1])).any():
            raise CodecError("sharding_indexed", "the index has inner chunks that overlap")

    @staticmethod
    def _refuse(entries: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], why: str) -> None:
        if wrong.any():
            number = int(np.flatnonzero(wrong)[0])
            offset, size = entries[number].tolist()
            raise CodecError(
                "sharding_indexed", f"the index says that inner chunk {number} has {size} bytes at {offset}, {why}"
            )

    def present(self) -> list[int]:
        """The numbers of the inner chunks that are not empty."""
        found: list[int] = np.flatnonzero(self.entries[:, 0] != np.uint64(_EMPTY)).tolist()
        return found

    def __getitem__(self, number: int) -> tuple[int, int] | None:
        offset, size = self.entries[number].tolist()
        return None if offset == _EMPTY else (offset, size)

    def spans(self, numbers: Sequence[int]) -> list[tuple[int, int] | None]:
        """The same for many."""
        entries = self.entries[np.asarray(numbers, np.intp)].tolist()
        return [None if offset == _EMPTY else (offset, size) for offset, size in entries]

    def __iter__(self) -> Iterator[tuple[int, int] | None]:
        return (None if offset == _EMPTY else (offset, size) for offset, size in self.entries.tolist())
