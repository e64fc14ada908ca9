"""The chunks that zarr-python's codec pipeline is given, recognized as one selection of the array.

zarr-python cuts a selection into chunks and passes a list: where each chunk is stored, what is taken from it, and where
that goes. The engine plans its own reads and writes, for many chunks at once. So the list is turned back into the box
of slices that it came from. Each item is compared, because a list may come from another kind of selection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeAlias

from omnizarr.chunk_keys import ChunkKeys
from omnizarr.engine import Layout
from omnizarr.indexing import Selection

__all__ = ["Box", "Item", "box_of", "split_key"]

Item: TypeAlias = tuple[Any, Any, Any, Any, bool]
"""Where the chunk is stored, its specification, what is taken, where that goes, and whether it is taken entirely."""


class Box(NamedTuple):
    """A range of indices in each dimension, and which dimensions an integer selected."""

    starts: tuple[int, ...]
    stops: tuple[int, ...]
    dropped: tuple[bool, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result, without dropped dimensions."""
        return tuple(
            stop - start
            for start, stop, dropped in zip(self.starts, self.stops, self.dropped, strict=True)
            if not dropped
        )

    def selection(self) -> Selection:
        """The selection of the engine."""
        lengths = tuple(stop - start for start, stop in zip(self.starts, self.stops, strict=True))
        picks = tuple(slice(start, stop, 1) for start, stop in zip(self.starts, self.stops, strict=True))
        return Selection(picks, (), self.shape, lengths)


def split_key(keys: ChunkKeys, rank: int, slashes: int, path: str) -> tuple[str, tuple[int, ...]] | None:
    """The prefix of an array, and the coordinates of the chunk whose key is `path`; None if `path` is no such key.
    `slashes` is the number of slashes in a chunk key without prefix."""
    place = len(path)
    for _ in range(slashes + 1):
        place = path.rfind("/", 0, place)
        if place < 0:
            break
    coordinates = keys.coordinates(path[place + 1 :], rank)
    return None if coordinates is None else (path[: place + 1], coordinates)


def box_of(
    layout: Layout, first: tuple[int, ...], last: tuple[int, ...], sizes: Sequence[int], batch: Sequence[Item]
) -> Box | None:
    """The box that a list of chunks covers, in C order; None if it is not a box of slices with step 1 and integers.
    `first` and `last` are the coordinates of the first and the last chunk, `sizes` the chunk shape."""
    if prod(high - low + 1 for low, high in zip(first, last, strict=True)) != len(batch):
        return None
    head, tail, targets = batch[0][2], batch[-1][2], batch[0][3]
    rank = len(sizes)
    if not all(isinstance(item, tuple) for item in (head, tail, targets)) or len(head) != rank or len(tail) != rank:
        return None
    starts, stops, dropped = [], [], []
    for dimension, size in enumerate(sizes):
        begin, end = head[dimension], tail[dimension]
        if type(begin) is slice and type(end) is slice:
            if begin.step not in (1, None) or None in (begin.start, end.stop):
                return None
            begin, end = begin.start, end.stop
            dropped.append(False)
        elif isinstance(begin, int) and begin == end:
            end = begin + 1
            dropped.append(True)
        else:
            return None
        starts.append(first[dimension] * size + begin)
        stops.append(last[dimension] * size + end)
    box = Box(tuple(starts), tuple(stops), tuple(dropped))
    if len(batch) == 1:  # often a single element: takes a fifth of the time of the general comparison
        whole = all(type(target) is slice and target.start == 0 for target in targets)
        return box if whole and tuple([target.stop for target in targets]) == box.shape else None
    return box if _fits(layout, box, first, last, sizes, batch) else None


def _fits(
    layout: Layout,
    box: Box,
    first: tuple[int, ...],
    last: tuple[int, ...],
    sizes: Sequence[int],
    batch: Sequence[Item],
) -> bool:
    """Whether each item of the list is the expected one."""
    inner: list[list[Any]] = []
    outer: list[list[slice]] = []
    steps = iter([target.step if type(target) is slice else None for target in batch[0][3]])
    for dimension, size in enumerate(sizes):
        chunks = range(first[dimension], last[dimension] + 1)
        start, stop = box.starts[dimension], box.stops[dimension]
        bounds = [(max(start - chunk * size, 0), min(stop - chunk * size, size)) for chunk in chunks]
        if box.dropped[dimension]:
            inner.append([bounds[0][0]])
            continue
        step = batch[0][2][dimension].step
        inner.append([slice(low, high, step) for low, high in bounds])
        step = next(steps, None)
        outer.append(
            [
                slice(chunk * size + low - start, chunk * size + high - start, step)
                for chunk, (low, high) in zip(chunks, bounds, strict=True)
            ]
        )
    names = [[str(chunk) for chunk in range(low, high + 1)] for low, high in zip(first, last, strict=True)]
    expected = zip(_paths(layout, names), product(*inner), product(*outer), strict=True)
    return all(
        item[0].path == path and item[2] == chunk_selection and item[3] == target
        for item, (path, chunk_selection, target) in zip(batch, expected, strict=True)
    )


def _paths(layout: Layout, names: Sequence[Sequence[str]]) -> Iterator[str]:
    for start, ends in layout.rows(names):
        for end in ends:
            yield start + end
