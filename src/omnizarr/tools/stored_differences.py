"""Which regions of two arrays of the same encoding are stored with different bytes. Only these need to be decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from math import prod

import numpy as np

from omnizarr.dtypes import same_bits
from omnizarr.engine import Layout
from omnizarr.nodes import Array
from omnizarr.nodes.stored_chunks import stored_chunks
from omnizarr.store import Buffer

__all__ = ["PairBatch", "pair_batches", "same_encoding"]

_BATCH = 2**25  # bytes of the elements of one array whose stored bytes are compared at once
_MOST_CHUNKS = 1024  # in a batch
_MANY_CHUNKS = 10_000  # from which on the stored chunks are listed, because most of a large grid may be absent


@dataclass(frozen=True, slots=True)
class PairBatch:
    """The comparison of some chunks of two arrays."""

    identical: int
    """The elements in chunks that are stored with the same bytes, or absent, in both arrays."""
    different: tuple[tuple[slice, ...], ...]
    """The regions of the other chunks. Chunks side by side share a region."""


def same_encoding(first: Array, second: Array) -> bool:
    """Whether equal stored bytes mean equal elements: both arrays have the same shape, chunks and codecs."""
    a, b = first._model, second._model
    return (
        a.shape == b.shape
        and a.data_type == b.data_type
        and a.grid == b.grid
        and a.codecs == b.codecs
        and not a.storage_transformers
        and not b.storage_transformers
        and same_bits(a.filler, b.filler)
    )


def pair_batches(first: Array, second: Array) -> Iterator[PairBatch]:
    """Compares the stored bytes of all chunks of two arrays of the same encoding. If there are many, it lists the
    stored ones, so that its cost does not depend on the size of the grid."""
    layouts = tuple(map(_layout, (first, second)))
    counts = [axis.count for axis in layouts[0].axes]
    total = prod(counts)
    numbers: Sequence[int] = range(total)
    if _MANY_CHUNKS < total < 2**62 and all(layout.store.listable for layout in layouts):
        numbers = np.union1d(*(_stored_numbers(layout, counts) for layout in layouts)).tolist()
    listed = compared = 0
    remaining = iter(numbers)
    largest = layouts[0].largest
    size = 1 if largest is None else max(1, largest.spec.nbytes)
    while batch := list(islice(remaining, max(1, min(_MOST_CHUNKS, _BATCH // size)))):
        chunks = [_coordinates(number, counts) for number in batch]
        regions = [_region(layouts[0], chunk) for chunk in chunks]
        different = _merged(compress(regions, _differ(layouts, chunks)))
        elements = sum(map(_size, regions))
        yield PairBatch(elements - sum(map(_size, different)), different)
        compared += elements
        listed += len(batch)
    if listed < total:
        yield PairBatch(prod(first.shape) - compared, ())


def _layout(array: Array) -> Layout:
    if array._model.guessed_keys:
        array._guess_keys()
    return array._layout


def _stored_numbers(layout: Layout, counts: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The numbers, in C order, of the stored chunks inside the array: eight bytes per chunk."""

    def numbers() -> Iterator[int]:
        for _, chunk in stored_chunks(layout):
            if all(index < count for index, count in zip(chunk, counts, strict=True)):
                number = 0
                for index, count in zip(chunk, counts, strict=True):
                    number = number * count + index
                yield number

    return np.fromiter(numbers(), np.int64)


def _coordinates(number: int, counts: Sequence[int]) -> tuple[int, ...]:
    chunk = []
    for count in reversed(counts):
        number, index = divmod(number, count)
        chunk.append(index)
    return tuple(reversed(chunk))


def _differ(layouts: Sequence[Layout], chunks: Sequence[tuple[int, ...]]) -> list[bool]:
    """Whether each chunk has other stored bytes in one array than in the other. A value that is too long for its chunk
    counts as different, so that a read reports it."""
    limits = [layouts[0].chain(chunk).encoded.limit for chunk in chunks]
    values: list[list[Buffer | None]] = []
    for layout in layouts:
        keys = [layout.key(tuple(map(str, chunk))) for chunk in chunks]
        requests = [(key, (0, limit + 1)) for key, limit in zip(keys, limits, strict=True)]
        values.append(layout.store.get_partial_values(requests))
    return [
        a is not b if a is None or b is None else len(a) > limit or memoryview(a) != memoryview(b)
        for a, b, limit in zip(*values, limits, strict=True)
    ]


def _region(layout: Layout, chunk: tuple[int, ...]) -> tuple[slice, ...]:
    bounds = [axis.bounds(index) for axis, index in zip(layout.axes, chunk, strict=True)]
    return tuple(
        slice(start, min(start + size, axis.length)) for axis, (start, size) in zip(layout.axes, bounds, strict=True)
    )


def _size(region: tuple[slice, ...]) -> int:
    return prod(part.stop - part.start for part in region)


def _merged(regions: Iterable[tuple[slice, ...]]) -> tuple[tuple[slice, ...], ...]:
    """The regions, with those side by side joined, because a read of several chunks uses more threads."""
    merged: list[tuple[slice, ...]] = []
    for region in regions:
        last = merged[-1] if merged else region
        changed = [axis for axis, (a, b) in enumerate(zip(last, region, strict=True)) if a != b]
        if len(changed) == 1 and last[changed[0]].stop == region[changed[0]].start:
            axis = changed[0]
            merged[-1] = (*last[:axis], slice(last[axis].start, region[axis].stop), *last[axis + 1 :])
        else:
            merged.append(region)
    return tuple(merged)
