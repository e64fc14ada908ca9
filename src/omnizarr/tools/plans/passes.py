"""Through which regions an array passes when its chunks change: one pass where that is cheap, otherwise several.

A pass reads regions of one array and writes them to another. The last one writes whole objects of the target. If memory
holds only small regions, a single pass would read each chunk of the source many times. Then the elements pass through
intermediate arrays, as in Rechunker (https://rechunker.readthedocs.io). A chunk of an intermediate array is what a
region of one pass and a region of the next have in common, so its grid is rectilinear, and no chunk is read twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, permutations
from math import exp, lcm, log, prod
from typing import TypeAlias

__all__ = ["Lengths", "Passes", "count_common", "find_passes", "intermediate_edges"]

Lengths: TypeAlias = tuple[int, ...]

_MOST_PASSES = 5
_MOST_ORDERS = 24  # in which dimensions are enlarged: all orders of up to four dimensions
_OPERATION_BYTES = 2**18  # an object costs as much time as this many bytes: about 0.3 ms on a local disk


@dataclass(frozen=True, slots=True)
class Passes:
    """The regions of each pass, and what they cost together."""

    regions: tuple[Lengths, ...]
    operations: int
    """Objects read and written, each as often as it is."""
    bytes: int
    """Bytes read and written, uncompressed. Each read of a part of a chunk counts as the whole chunk."""

    @property
    def cost(self) -> int:
        """Bytes and operations as one number."""
        return self.bytes + self.operations * _OPERATION_BYTES


def find_passes(shape: Lengths, itemsize: int, source: Lengths, target: Lengths, most: int) -> Passes:
    """The cheapest passes from chunks `source` to objects `target` (chunks or shards) with regions of at most `most`
    bytes. `target` must fit in `most`. They take at most as many operations as Rechunker's plan of two passes."""
    elements = max(1, most // itemsize)
    source = _clip(source, shape)
    target = _clip(target, shape)
    plain = _enlarge(shape, target, shape, elements, range(len(shape))[::-1])
    limits = tuple(map(max, plain, source))
    candidates = [measure_passes(shape, itemsize, source, target, [plain])]
    if prod(source) <= elements:
        first = _enlarge(shape, source, limits, elements, range(len(shape))[::-1], whole=False)
        candidates.append(measure_passes(shape, itemsize, source, target, [first, plain]))
    operations = candidates[-1].operations
    candidates += _candidates(shape, itemsize, source, target, elements)
    allowed = [passes for passes in candidates if passes.operations <= operations]
    return min(allowed, key=lambda passes: (passes.cost, len(passes.regions)))


def measure_passes(
    shape: Lengths, itemsize: int, source: Lengths, target: Lengths, regions: Iterable[Lengths]
) -> Passes:
    """The cost of passes with these regions. Equal neighbours are one pass."""
    merged: list[Lengths] = []
    for lengths in regions:
        if not merged or merged[-1] != lengths:
            merged.append(lengths)
    reads = prod(map(count_common, source, merged[0], shape))
    operations = reads + prod(map(_count, shape, target))
    nbytes = prod(shape) * itemsize
    moved = reads * prod(source) * itemsize + nbytes
    for before, after in pairwise(merged):
        operations += 2 * prod(map(count_common, before, after, shape))
        moved += 2 * nbytes
    return Passes(tuple(merged), operations, moved)


def count_common(first: int, second: int, length: int) -> int:
    """The number of pieces of a dimension, if it is cut at the multiples of both `first` and `second`."""
    return (length - 1) // first + (length - 1) // second - (length - 1) // lcm(first, second) + 1


def intermediate_edges(first: int, second: int, length: int) -> list[int]:
    """The lengths of these pieces."""
    cuts = sorted({*range(0, length, first), *range(0, length, second), length})
    return [end - start for start, end in pairwise(cuts)]


def _candidates(shape: Lengths, itemsize: int, source: Lengths, target: Lengths, elements: int) -> Iterator[Passes]:
    orders = list(islice(permutations(range(len(shape))[::-1]), _MOST_ORDERS))
    for last in {_enlarge(shape, target, shape, elements, order) for order in orders}:
        yield measure_passes(shape, itemsize, source, target, [last])
        if prod(source) > elements:
            continue
        limits = tuple(map(max, last, source))
        firsts = {
            _enlarge(shape, source, limits, elements, order, whole=whole) for order in orders for whole in (True, False)
        }
        for first in firsts:
            for count in range(2, _MOST_PASSES + 1):
                regions = [_between(first, last, step / (count - 1)) for step in range(1, count - 1)]
                yield measure_passes(shape, itemsize, source, target, [first, *regions, last])


def _enlarge(
    shape: Lengths, chunks: Lengths, limits: Lengths, elements: int, order: Sequence[int], *, whole: bool = True
) -> Lengths:
    """Chunks enlarged to at most `elements` and `limits`, one dimension after the other. Each length is a multiple of
    that of the chunks, or all of the dimension; or its limit, if not `whole`."""
    lengths = list(chunks)
    for dimension in order:
        room = elements // max(1, prod(lengths) // lengths[dimension])
        length = min(room, limits[dimension])
        if length < shape[dimension] and (whole or length < limits[dimension]):
            length -= length % chunks[dimension]
        lengths[dimension] = max(lengths[dimension], length)
    return tuple(lengths)


def _between(first: Lengths, last: Lengths, share: float) -> Lengths:
    """Lengths between `first` and `last`, in geometric steps: the regions of all passes have about the same size."""
    return tuple(
        max(1, int(exp(log(start) * (1 - share) + log(end) * share) * (1 + 1e-12)))
        for start, end in zip(first, last, strict=True)
    )


def _clip(chunks: Lengths, shape: Lengths) -> Lengths:
    return tuple(max(1, min(chunk, length)) for chunk, length in zip(chunks, shape, strict=True))


def _count(length: int, chunk: int) -> int:
    return -(-length // chunk)
