"""Regions of an array that are read one after the other, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

__all__ = ["regions"]


def regions(shape: Sequence[int], unit: Sequence[int], most: int) -> Iterator[tuple[slice, ...]]:
    """Regions in C order that cover `shape`. Each consists of whole units, such as chunks, and of at most `most`
    elements unless one unit has more."""
    lengths = [max(1, min(size, length)) for size, length in zip(unit, shape, strict=True)]
    for axis in reversed(range(len(lengths))):
        factor = max(1, most // max(1, prod(lengths)))
        count = -(-shape[axis] // lengths[axis])
        lengths[axis] = min(lengths[axis] * min(factor, max(1, count)), max(1, shape[axis]))
    starts = [range(0, length, step) for length, step in zip(shape, lengths, strict=True)]
    for corner in product(*starts):
        yield tuple(
            slice(start, min(start + step, length)) for start, step, length in zip(corner, lengths, shape, strict=True)
        )
