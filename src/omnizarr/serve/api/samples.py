"""Limits and a histogram for a picture, from the chunks that a window reads anyway or from a few others."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.nodes import Array
from omnizarr.serve.api.windows import as_numbers, window_cost
from omnizarr.tools.selections import Index

__all__ = ["SAMPLE_BYTES", "Sample", "sample"]

_BINS = 64
_MOST_CHUNKS = 8
_MOST_BYTES = 2**26  # decoded
SAMPLE_BYTES = 2 * _MOST_BYTES
"""About the memory that a sample takes."""
_MOST_ELEMENTS = 2**20  # read of a chunk
_MOST_SORTED = 2**16  # elements of a chunk that count for limits and histogram: more take longer than the picture


@dataclass(frozen=True, slots=True)
class Sample:
    """What a sample of the elements says about all."""

    count: int
    min: float | None
    max: float | None
    low: float | None
    """The value below which 2 % of the finite elements lie."""
    high: float | None
    """The value below which 98 % of the finite elements lie."""
    nan: float
    """The share of elements that are NaN or infinite."""
    histogram: list[int]
    """Counts in equal bins from `min` to `max`."""


def sample(array: Array, selection: Index, part: str = "") -> Sample:
    """Limits and histogram of an array, from up to 8 chunks at equal distances; of the chunks that `selection` touches
    first."""
    blocks = []
    for block in _blocks(array, selection):
        numbers = as_numbers(block, part).reshape(-1)
        blocks.append(numbers[:: _odd(-(-numbers.size // _MOST_SORTED))])
    numbers = np.concatenate(blocks) if blocks else np.zeros(0)
    finite = numbers[np.isfinite(numbers)] if numbers.dtype.kind == "f" else numbers
    if not finite.size:
        return Sample(numbers.size, None, None, None, None, 1.0 if numbers.size else 0.0, [0] * _BINS)
    finite = finite.astype("f8")
    half = finite / 2  # the difference of two halves never overflows
    low, high = np.percentile(half, (2, 98)) * 2
    least, most = float(finite.min()), float(finite.max())
    return Sample(
        count=numbers.size,
        min=least,
        max=most,
        low=float(low),
        high=float(high),
        nan=1 - finite.size / numbers.size,
        histogram=_histogram(half),
    )


def _odd(step: int) -> int:
    """The step, made odd: rows have even lengths, so that an even step would sample a few columns only."""
    return step | 1


def _histogram(numbers: npt.NDArray[np.float64]) -> list[int]:
    """Counts in equal bins. `numpy.histogram` refuses ranges that are so narrow that bins have no width."""
    least = numbers.min()
    span = numbers.max() - least
    if not span > 0:
        return [numbers.size, *[0] * (_BINS - 1)]
    bins = np.minimum(((numbers - least) / span * _BINS).astype("i8"), _BINS - 1)
    counts: list[int] = np.bincount(bins, minlength=_BINS).tolist()
    return counts


def _blocks(array: Array, selection: Index) -> list[npt.NDArray[Any]]:
    """A chunk that the selection touches, and others at equal distances along all dimensions."""
    if not array.size:
        return []
    if not array.ndim:
        return [np.asarray(array[...])]
    axes = array._layout.axes
    inner = array._inner_shape()
    if inner is None:
        counts = [axis.count for axis in axes]
    else:
        counts = [-(-length // size) for length, size in zip(array.shape, inner, strict=True)]

    def region(chunk: tuple[int, ...]) -> tuple[slice, ...]:
        if inner is not None:
            return tuple(slice(n * size, (n + 1) * size) for n, size in zip(chunk, inner, strict=True))
        bounds = [axis.bounds(n) for axis, n in zip(axes, chunk, strict=True)]
        return tuple(slice(start, start + size) for start, size in bounds)

    first = []
    for number, count in enumerate(counts):
        item = selection[number] if number < len(selection) and ... not in selection else 0
        position = item if isinstance(item, int) else 0
        size = inner[number] if inner is not None else None
        place = (
            position // size if size else axes[number].locate(min(max(position, 0), max(axes[number].length - 1, 0)))
        )
        first.append(min(max(0, place), count - 1))
    chosen = [tuple(first)]
    for step in range(1, _MOST_CHUNKS):
        chosen.append(tuple(min(count - 1, count * step // _MOST_CHUNKS) for count in counts))
    blocks: list[npt.NDArray[Any]] = []
    read = 0
    for chunk in dict.fromkeys(chosen):
        part = _thinned(region(chunk), array.itemsize)
        if window_cost(array, part).needs_confirmation:
            continue  # limits of colours are not worth a large read
        block = np.asarray(array.get_basic_selection(part))
        blocks.append(block)
        read += block.nbytes
        if read > _MOST_BYTES or array.store.remote:
            break  # a remote store sends one chunk: the picture must come soon
    return blocks


def _thinned(region: tuple[slice, ...], itemsize: int) -> tuple[slice, ...]:
    """A region with steps that leave few enough elements: percentiles of millions take seconds, and a chunk can be
    larger than memory, above all an absent one."""
    lengths = [item.stop - item.start for item in region]
    steps = [1] * len(region)
    room = max(1, min(_MOST_ELEMENTS, _MOST_BYTES // max(1, itemsize)))
    while (count := prod(lengths)) > room:
        axis = lengths.index(max(lengths))
        steps[axis] *= max(2, min(-(-count // room), lengths[axis]))
        lengths[axis] = -(-(region[axis].stop - region[axis].start) // steps[axis])
    return tuple(slice(item.start, item.stop, step) for item, step in zip(region, steps, strict=True))
