"""`bench`: the measured speed of reading an array in the usual patterns, and how much is decoded but not used."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array
from omnizarr.tools.results import Progress
from omnizarr.tools.selections import selection_text

__all__ = ["AccessPattern", "bench"]

_MOST_BYTES = 256 * 2**20  # of one read, so that memory stays bounded
_MOST_READS = 1000


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """A way to read an array, and its measured speed."""

    name: str
    selection: str
    """The first selection that was read; the others are at random places."""
    reads: int
    seconds: float
    """The median time of a read."""
    nbytes: int
    """The size of the elements of one read."""
    rate: float
    """Bytes of elements per second, at the median."""
    amplification: float
    """Decoded bytes per byte of the first selection, as `Array.explain` counts them; chunks that are not stored are not
    decoded."""
    requests: int
    """Reads from the store for the first selection."""
    stored_bytes: int
    """Bytes that are read from the store for the first selection."""


def bench(
    array: Array, *, seconds: float = 1.0, seed: int = 0, progress: Progress | None = None
) -> list[AccessPattern]:
    """Reads an array in the usual patterns, each for about so many seconds.

    The first read of each pattern is not counted. The files are probably in the cache of the operating system after it,
    so the rates are those of decoding; for a remote store, they are those of requests.
    """
    if not seconds > 0:
        raise ArgumentError(f"`seconds`: expected a number above 0, found {seconds!r}", argument="seconds")
    if array.size == 0:
        raise ArgumentError("cannot measure an array without elements", argument="array")
    dice = random.Random(seed)
    patterns = list(_patterns(array, dice))
    results = []
    for number, (name, choose) in enumerate(patterns):
        results.append(_measure(array, name, choose, seconds))
        if progress is not None:
            progress(number + 1, len(patterns))
    return results


def _measure(array: Array, name: str, choose: Callable[[], tuple[Any, ...]], seconds: float) -> AccessPattern:
    first = choose()
    array[first]  # opens files, fills caches
    times: list[float] = []
    deadline = time.perf_counter() + seconds
    while (not times or time.perf_counter() < deadline) and len(times) < _MOST_READS:
        selection = choose()
        start = time.perf_counter()
        array[selection]
        times.append(time.perf_counter() - start)
    median = max(sorted(times)[len(times) // 2], 1e-9)
    count = _count(array, first)
    nbytes = count * array.itemsize
    cost = array.explain[first]
    return AccessPattern(
        name,
        selection_text(first),
        len(times),
        median,
        nbytes,
        nbytes / median,
        cost.amplification,
        cost.requests,
        cost.stored_bytes,
    )


def _patterns(array: Array, dice: random.Random) -> Iterator[tuple[str, Callable[[], tuple[Any, ...]]]]:
    """The names of patterns, and functions that choose a random selection."""
    shape, dimensions = array.shape, range(array.ndim)
    names = [
        name or f"dimension {axis}"
        for axis, name in zip(dimensions, array.dimension_names or (None,) * array.ndim, strict=True)
    ]
    yield "whole array", lambda: _bounded(array, tuple(slice(0, length) for length in shape))
    if not shape:
        return
    yield "one chunk", lambda: _chunk(array, dice)
    yield "one element", lambda: tuple(dice.randrange(length) for length in shape)
    if array.ndim == 1:
        return
    for axis in dimensions:

        def plane(axis: int = axis) -> tuple[Any, ...]:
            return _bounded(
                array,
                tuple(
                    dice.randrange(length) if other == axis else slice(0, length) for other, length in enumerate(shape)
                ),
            )

        yield f"one index of {names[axis]}", plane
    if array.ndim == 2:
        return
    for axis in dimensions:

        def line(axis: int = axis) -> tuple[Any, ...]:
            return tuple(
                slice(0, length) if other == axis else dice.randrange(length) for other, length in enumerate(shape)
            )

        yield f"all of {names[axis]} at one point", line


def _chunk_lengths(array: Array) -> list[int]:
    return [max(lengths, default=1) if not isinstance(lengths, int) else lengths for lengths in array.chunks]


def _chunk(array: Array, dice: random.Random) -> tuple[Any, ...]:
    """A random chunk."""
    starts = [
        dice.randrange(-(-length // size)) * size
        for length, size in zip(array.shape, _chunk_lengths(array), strict=True)
    ]
    ends = [
        min(start + size, length)
        for start, size, length in zip(starts, _chunk_lengths(array), array.shape, strict=True)
    ]
    return tuple(slice(start, end) for start, end in zip(starts, ends, strict=True))


def _bounded(array: Array, selection: tuple[Any, ...]) -> tuple[Any, ...]:
    """The selection, shortened along its first dimensions to what fits in memory, in whole chunks."""
    chunks = _chunk_lengths(array)
    items = list(selection)
    for axis, item in enumerate(items):
        nbytes = _count(array, tuple(items)) * max(1, array.itemsize)
        if nbytes <= _MOST_BYTES:
            break
        if isinstance(item, slice):
            keep = max(1, item.stop * _MOST_BYTES // nbytes)
            items[axis] = slice(0, min(item.stop, -(-keep // chunks[axis]) * chunks[axis]))
    return tuple(items)


def _count(array: Array, selection: tuple[Any, ...]) -> int:
    return prod(item.stop - item.start if isinstance(item, slice) else 1 for item in selection)
