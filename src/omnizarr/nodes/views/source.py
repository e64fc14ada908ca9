"""What a lazy view reads from, and the lengths of its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.indexing import Selection

__all__ = ["Chunks", "Source", "ViewPick", "block_lengths", "lengths_along"]

ViewPick: TypeAlias = int | range | npt.NDArray[np.intp]
"""What a view takes along one dimension of its source: one index, which drops the dimension, or many."""
Chunks: TypeAlias = tuple[int, ...] | tuple[tuple[int, ...], ...]


class Source(Protocol):
    """An array, a concatenation of arrays, or another view."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def chunks(self) -> Chunks: ...
    @property
    def shards(self) -> Chunks | None: ...
    def _read(self, selection: Selection, out: npt.NDArray[Any] | None) -> npt.NDArray[Any]: ...
    def __dask_tokenize__(self) -> Any: ...


def lengths_along(chunks: Chunks, axis: int, length: int) -> tuple[int, ...]:
    """The lengths of the chunks along one axis."""
    size = chunks[axis]
    if isinstance(size, tuple):
        return size
    whole, rest = divmod(length, max(1, size))
    return (size,) * whole + ((rest,) if rest else ())


def block_lengths(pick: ViewPick, lengths: Sequence[int]) -> tuple[int, ...]:
    """The lengths of the blocks of a pick, each of which lies in one chunk; `lengths` are those of the chunks."""
    if isinstance(pick, int) or not len(pick):
        return (0,)
    edges = np.cumsum(lengths)
    if isinstance(pick, range):
        ascending = pick if pick.step > 0 else pick[::-1]
        before = np.clip(-((ascending.start - edges) // ascending.step), 0, len(pick))  # how many lie before each edge
        counts = np.diff(before, prepend=0)
        return tuple(int(count) for count in (counts if pick.step > 0 else counts[::-1]) if count)
    chunk = np.searchsorted(edges, pick, side="right")
    ends = np.flatnonzero(np.diff(chunk)) + 1
    if len(ends) >= 2 * len(lengths):  # not sorted: blocks in one chunk would be tiny
        return (len(pick),)
    return tuple(int(count) for count in np.diff([0, *ends, len(pick)]))
