"""Chunk and shard lengths for "auto": pure functions of the array's shape and element size.

The target sizes are measured. docs/defaults.md has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["auto_chunks", "auto_shards", "target_bytes"]

_SMALLEST = 2**20  # below 1 MiB, the cost per file slows whole reads and writes; above, small windows read too much
_LARGEST = 2**23  # a small window reads at least one whole chunk: more than 8 MiB would take over 10 ms
_SHARD = 2**25  # one object to write or move at a time, small compared with the memory of a laptop
_BALANCE = 2**10  # bytes of target per chunk: from 1 GiB on, the target grows with the square root of the array's size
_TOLERANCE = math.sqrt(2)  # the largest ratio between a chunk length and the ideal length, either way
_MANY = 64  # with so many chunks along a dimension, the overhang of the last wastes less than 2 %


def target_bytes(nbytes: int) -> int:
    """The chunk size, in bytes, for an array of `nbytes` bytes: 1 MiB up to 1 GiB. From there, the size and the number
    of chunks grow equally fast, until the size is 8 MiB."""
    return min(max(math.isqrt(nbytes * _BALANCE), _SMALLEST), _LARGEST)


def auto_chunks(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Chunk lengths for about `target_bytes`, as close to a cube as the shape allows.

    Short dimensions are not divided. Each length is from 1 to the dimension's length.
    """
    lengths = [max(1, length) for length in shape]
    nbytes = math.prod(lengths) * max(1, itemsize)
    elements = target_bytes(nbytes) / max(1, itemsize)
    chunks = [1] * len(lengths)
    # From the shortest dimension to the longest: longer dimensions share the elements that shorter ones do not use.
    # Among equal lengths the last dimension, which is contiguous in memory, compensates the rounding of the others.
    for turn, axis in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        ideal = max(1.0, elements) ** (1 / (len(lengths) - turn))
        chunks[axis] = _chunk_length(lengths[axis], ideal)
        elements /= chunks[axis]
    return tuple(chunks)


def _chunk_length(length: int, ideal: float) -> int:
    """A chunk length near `ideal` with little or no overhang at the end of a dimension."""
    if length <= ideal * _TOLERANCE:
        return length
    if length >= ideal * _MANY:
        return int(2 ** round(math.log2(ideal)))
    fewest = math.ceil(length / (ideal * _TOLERANCE))
    most = int(length * _TOLERANCE / ideal)
    exact = [length // count for count in range(fewest, most + 1) if length % count == 0]
    if exact:
        # Rounding makes ties exact: for an ideal of 90.5, rounding errors must not decide between 64 and 128.
        return min(exact, key=lambda size: (round(abs(math.log2(size / ideal)), 6), size))
    return math.ceil(length / round(length / ideal))


def auto_shards(shape: Sequence[int], chunks: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Shard lengths for chunks of these lengths: whole multiples of them, at most 32 MiB, doubled along the dimension
    with the most shards."""
    counts = [1] * len(chunks)
    most = [max(1, -(-length // size)) for length, size in zip(shape, chunks, strict=True)]
    nbytes = math.prod(chunks) * max(1, itemsize)
    while nbytes * 2 <= _SHARD:
        axis = max(range(len(counts)), key=lambda axis: most[axis] / counts[axis], default=None)
        if axis is None or counts[axis] * 2 > most[axis]:
            break
        counts[axis] *= 2
        nbytes *= 2
    return tuple(size * count for size, count in zip(chunks, counts, strict=True))
