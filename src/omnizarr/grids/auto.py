"""Chunk and shard lengths for those who ask for "auto": pure functions of the array's shape and element size.

The target sizes are measured; docs/defaults.md has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["auto_chunks", "auto_shards", "target_bytes"]

_SMALLEST = 2**20  # below 1 MiB the cost per file shows in whole reads and writes; above, windows cost more for nothing
_LARGEST = 2**23  # a window touches at least one whole chunk: more than 8 MiB would cost it over 10 ms
_SHARD = 2**25  # one object to write or move at a time, and still small beside the memory of a laptop
_BALANCE = 2**10  # bytes of target per chunk: the target grows with the root of the array's size, from 1 GiB on
_SPREAD = math.sqrt(2)  # how far from the wanted length a chunk length may be, either way
_MANY = 64  # with so many chunks in a row, the overhang of the last wastes less than 2 % and evenness gains nothing


def target_bytes(nbytes: int) -> int:
    """How many bytes a chunk of an array of `nbytes` bytes should have: 1 MiB, and more for arrays past 1 GiB, so that
    the number of chunks grows only as fast as their size until that is 8 MiB."""
    return min(max(math.isqrt(nbytes * _BALANCE), _SMALLEST), _LARGEST)


def auto_chunks(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Chunk lengths that give about `target_bytes`, as near to a cube as the shape allows.

    Dimensions that are short are kept whole. No length is more than the dimension's, or less than 1.
    """
    lengths = [max(1, length) for length in shape]
    nbytes = math.prod(lengths) * max(1, itemsize)
    elements = target_bytes(nbytes) / max(1, itemsize)
    chunks = [1] * len(lengths)
    # The shortest dimensions choose first: what they do not use up, the longer ones share. Of equals the last, which
    # is contiguous in memory, chooses last and so makes up for the others' rounding.
    for turn, axis in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        wanted = max(1.0, elements) ** (1 / (len(lengths) - turn))
        chunks[axis] = _near(lengths[axis], wanted)
        elements /= chunks[axis]
    return tuple(chunks)


def _near(length: int, wanted: float) -> int:
    """A chunk length near `wanted` that leaves little or no overhang at the end of a dimension."""
    if length <= wanted * _SPREAD:
        return length
    if length >= wanted * _MANY:
        return int(2 ** round(math.log2(wanted)))
    fewest = math.ceil(length / (wanted * _SPREAD))
    most = int(length * _SPREAD / wanted)
    exact = [length // count for count in range(fewest, most + 1) if length % count == 0]
    if exact:
        # rounded, lest the last bits of a logarithm decide between 64 and 128 where 90.5 is wanted: the smaller wins
        return min(exact, key=lambda size: (round(abs(math.log2(size / wanted)), 6), size))
    return math.ceil(length / round(length / wanted))


def auto_shards(shape: Sequence[int], chunks: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Shard lengths for chunks of these lengths: whole multiples of them, about 32 MiB together, growing along the
    dimensions that have the most chunks left."""
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
