"""The elements of an array or of a selection, block by block, so that memory stays small whatever the array's size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array
from omnizarr.tools.selections import Index

__all__ = ["BLOCK_BYTES", "Elements"]

BLOCK_BYTES = 32 * 2**20
"""The size of a block. Larger ones are not faster (measured), unless a single chunk is larger."""


class Elements:
    """An array, or a selection of it, that is read block by block."""

    def __init__(self, array: Array, selection: Index | None = None) -> None:
        items = selection or ()
        self._fields = [item for item in items if isinstance(item, str)]
        known = array.dtype.names or ()
        for field in self._fields:
            if field not in known:
                raise ArgumentError(
                    f"the data type {array.data_type.name} has no field {field!r}",
                    argument="selection",
                    hint=f"its fields are {', '.join(known)}" if known else None,
                )
        selected = tuple(item for item in items if not isinstance(item, str))
        self._view = array.lazy[selected] if selected else array.lazy
        self.shape = self._view.shape
        self.dtype: np.dtype[Any] = array.dtype
        if self._fields:
            # `dtype[list]` keeps the offsets of the whole record; one field is its own type.
            one = len(self._fields) == 1
            self.dtype = array.dtype[self._fields[0]] if one else array.dtype[self._fields]

    @property
    def nbytes(self) -> int:
        """The size of all elements, in bytes."""
        return int(np.prod(self.shape, dtype=object)) * max(1, self.dtype.itemsize)

    def read(self, region: tuple[slice, ...]) -> npt.NDArray[Any]:
        """The elements of a region."""
        block = np.asarray(self._view[region].read())
        return block[self._fields[0] if len(self._fields) == 1 else self._fields] if self._fields else block

    def whole_chunks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[slice, ...]]:
        """Regions of whole chunks that cover all elements once, so that each chunk is decoded once."""
        if not self.shape:
            yield ()
            return
        lengths = [max(1, *edges) if edges else 1 for edges in self._view.chunks]
        room = block_bytes // max(1, self.dtype.itemsize)
        for axis in reversed(range(len(lengths))):  # grow along the last axes first: their chunks are read together
            others = int(np.prod([lengths[other] for other in range(len(lengths)) if other != axis], dtype=object))
            count = max(1, room // max(1, others * lengths[axis]))
            lengths[axis] = min(max(1, self.shape[axis]), lengths[axis] * count)
        yield from _tiles(self.shape, lengths)

    def in_order(self, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[slice, ...]]:
        """Regions that follow each other in C order: the elements of all blocks, one after the other, are those of the
        whole in C order."""
        if not self.shape:
            yield ()
            return
        room = max(1, block_bytes // max(1, self.dtype.itemsize))
        lengths = [1] * len(self.shape)
        for axis in reversed(range(len(self.shape))):
            lengths[axis] = max(1, min(self.shape[axis], room))
            if lengths[axis] < self.shape[axis]:
                chunk = max(self._view.chunks[axis], default=1)
                lengths[axis] -= lengths[axis] % chunk if lengths[axis] > chunk else 0
                break
            room //= lengths[axis]
            if not room:
                break
        yield from _tiles(self.shape, lengths)


def _tiles(shape: Sequence[int], lengths: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    starts = [range(0, total, length) for total, length in zip(shape, lengths, strict=True)]
    for corner in product(*starts):
        yield tuple(
            slice(start, min(start + length, total))
            for start, length, total in zip(corner, lengths, shape, strict=True)
        )
