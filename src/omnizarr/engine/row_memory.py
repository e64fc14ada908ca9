"""Where the rows of a chunk belong in the block, as memory that one system call fills without a copy in between."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.indexing import Cell, Projection

__all__ = ["row_memory"]

_LEAST_ROW = 512  # bytes; shorter rows are copied faster than listed
_MOST_ROWS = 1024  # parts that one system call fills (IOV_MAX)


def row_memory(
    block: npt.NDArray[Any], cell: Cell, projection: Projection, shape: tuple[int, ...]
) -> list[memoryview] | None:
    """Buffers for the rows of a chunk of this shape, one after the other: slices of the block for selected rows,
    scratch memory for the rest. None if the rows do not lie in one piece each, or if copying them is as fast."""
    inner, outer = cell.inner, cell.outer
    if projection.order is not None or projection.points or not shape or type(outer) is not tuple:
        return None
    whole = tuple([slice(0, length, 1) for length in shape[1:]])
    if not all(isinstance(pick, slice) for pick in (*inner[1:], *outer[1:])):
        return None
    if inner[1:] != whole or outer[1:] != whole or block.shape[1:] != shape[1:] or not block.flags.c_contiguous:
        return None
    row = block.nbytes // len(block)
    places, positions = outer[0], inner[0]
    memory: Any = memoryview(block.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    if isinstance(positions, slice):
        if positions != slice(0, shape[0], 1) or not isinstance(places, slice) or places.step != 1:
            return None
        return [memory[places.start * row : places.stop * row]]
    if row < _LEAST_ROW or shape[0] > _MOST_ROWS or 2 * len(positions) < shape[0]:
        return None
    targets = np.full(shape[0], -1, np.int64)
    targets[positions] = np.arange(places.start, places.stop) if isinstance(places, slice) else places
    starts = targets * row
    count = np.count_nonzero(targets >= 0)
    if count != len(positions):  # a row that is needed twice
        return None
    scratch = memoryview(bytearray(row)) if count < shape[0] else memory
    return [memory[start : start + row] if start >= 0 else scratch for start in starts.tolist()]
