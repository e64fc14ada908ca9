"""Windows as samples: boxes of one size, in a regular order or at random places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import ArgumentError
from omnizarr.loaders.random_numbers import random_state
from omnizarr.loaders.sources import BlockRuns, SampleSource, chunk_length, read_part

__all__ = ["Windows", "window_axes"]

_SPARSE = 4  # if the box around windows has more than 4 times their elements, each window is read by itself
_CROPS, _NUMBERED = 1, 2  # parts of the keys of random numbers


class _WindowAxis:
    """How windows lie along one axis: `size` elements each, `stride` from one to the next. The last one ends where the
    array does, so that the windows cover every element."""

    def __init__(self, axes: tuple[int, ...], length: int, size: int, stride: int) -> None:
        self.axes = axes
        """The number of the axis in each array."""
        self.length = length
        self.size = size
        self.stride = stride

    @property
    def count(self) -> int:
        """How many windows there are."""
        return -(-(self.length - self.size) // self.stride) + 1

    def origins(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Where windows begin."""
        return np.minimum(numbers * self.stride, self.length - self.size)


class Windows(SampleSource):
    """Windows along some axes of arrays; all of the other axes. With `crops`, so many windows at random places in each
    epoch, each place with the same probability. A block has the windows that begin in a box of chunks."""

    def __init__(self, arrays: Sequence[Any], axes: Sequence[_WindowAxis], crops: int | None, block_bytes: int) -> None:
        shapes = []
        for number, array in enumerate(arrays):
            shape = list(array.shape)
            for axis in axes:
                shape[axis.axes[number]] = axis.size
            shapes.append(tuple(shape))
        super().__init__(arrays, shapes)
        self._axes = axes
        self._crops = crops
        self._counts = [axis.count for axis in axes]
        largest = max(range(len(arrays)), key=lambda number: arrays[number].nbytes)
        self._box = self._box_lengths(largest, block_bytes)
        self._boxes = [-(-count // length) for count, length in zip(self._counts, self._box, strict=True)]

    def _box_lengths(self, largest: int, block_bytes: int) -> list[int]:
        """The length of a box along each axis in windows: those that begin in one chunk, or in so many chunks that the
        elements have `block_bytes`."""
        lengths = [
            min(axis.count, max(1, chunk_length(self.arrays[largest], axis.axes[largest]) // axis.stride))
            for axis in self._axes
        ]
        while True:
            spans = [(length - 1) * axis.stride + axis.size for length, axis in zip(lengths, self._axes, strict=True)]
            windows = prod(axis.size for axis in self._axes)
            if self.sample_bytes * prod(spans) // windows * 2 > block_bytes:
                return lengths
            growing = [number for number, axis in enumerate(self._axes) if lengths[number] < axis.count]
            if not growing:
                return lengths
            shortest = min(growing, key=lambda number: spans[number])
            lengths[shortest] = min(self._axes[shortest].count, 2 * lengths[shortest])

    @property
    def count(self) -> int:
        return prod(self._counts) if self._crops is None else self._crops

    def block_sizes(self, seed: int, epoch: int) -> npt.NDArray[np.int64]:
        sizes: npt.NDArray[np.int64] = np.ones((), np.int64)
        for count, length, boxes in zip(self._counts, self._box, self._boxes, strict=True):
            along = np.full(boxes, length, np.int64)
            along[-1] = count - length * (boxes - 1)
            sizes = np.multiply.outer(sizes, along)
        sizes = sizes.reshape(-1)
        if self._crops is None:
            return sizes
        generator = random_state(seed, epoch, _CROPS)
        random = generator.multinomial(self._crops, sizes / sizes.sum())
        return random.astype(np.int64, copy=False)

    def _origins(self, block: int, begin: int, end: int, epoch: tuple[int, int]) -> npt.NDArray[np.int64]:
        """Where windows of a block begin, from number `begin` to before `end`: a row for each window, a column for each
        axis."""
        corner = np.unravel_index(block, self._boxes)
        first = [int(index) * length for index, length in zip(corner, self._box, strict=True)]
        lengths = [
            min(length, count - start) for start, length, count in zip(first, self._box, self._counts, strict=True)
        ]
        if self._crops is None:
            local: Sequence[Any] = np.unravel_index(np.arange(begin, end), lengths)
        else:  # all crops of the block up to the last one, so that a run can begin anywhere
            generator = random_state(*epoch, _CROPS, block)
            random = generator.random_sample((end, len(lengths)))[begin:]
            local = [(random[:, axis] * length).astype(np.int64) for axis, length in enumerate(lengths)]
        columns = [
            axis.origins(start + own.astype(np.int64))
            for axis, start, own in zip(self._axes, first, local, strict=True)
        ]
        return np.stack(columns, axis=1)

    def read(self, runs: BlockRuns, order: npt.NDArray[np.int64] | None, epoch: tuple[int, int]) -> list[Any]:
        total = int((runs.stops - runs.starts).sum())
        places = np.arange(total)
        if order is not None:
            places = np.full(total, -1)
            places[order] = np.arange(len(order))
            total = len(order)
        outputs = self._outputs(total)
        first = 0
        for block, start, stop in zip(*(column.tolist() for column in runs), strict=True):
            own = places[first : first + stop - start]
            first += stop - start
            self._fill(outputs, own[own >= 0], self._origins(block, start, stop, epoch)[own >= 0])
        return outputs

    def _outputs(self, count: int) -> list[npt.NDArray[Any]]:
        new_array = self.memory.new_array
        return [new_array((count, *shape), array.dtype) for array, shape in zip(self.arrays, self.shapes, strict=True)]

    def read_numbers(self, numbers: npt.NDArray[np.int64], epoch: tuple[int, int]) -> list[Any]:
        if self._crops is None:
            indices = np.unravel_index(numbers, self._counts)
            columns = [axis.origins(index) for axis, index in zip(self._axes, indices, strict=True)]
            origins = np.stack(columns, axis=1)
        else:
            spaces = [axis.count for axis in self._axes]
            origins = np.array(
                [
                    [int(part * space) for part, space in zip(random, spaces, strict=True)]
                    for random in (
                        random_state(*epoch, _NUMBERED, int(number)).random_sample(len(spaces)) for number in numbers
                    )
                ],
                np.int64,
            )
        outputs = self._outputs(len(numbers))
        for number in range(len(numbers)):
            self._fill(outputs, np.array([number]), origins[number : number + 1])
        return outputs

    def _fill(
        self, outputs: Sequence[npt.NDArray[Any]], places: npt.NDArray[np.int64], origins: npt.NDArray[np.int64]
    ) -> None:
        """Read windows that lie close together, and put them at `places`."""
        if not len(origins):
            return
        low, high = origins.min(axis=0), origins.max(axis=0)
        sizes = [axis.size for axis in self._axes]
        spans = [int(end - begin) + size for begin, end, size in zip(low, high, sizes, strict=True)]
        if prod(spans) > _SPARSE * prod(sizes) * len(origins):
            for place, origin in zip(places, origins, strict=True):
                self._fill(outputs, place[np.newaxis], origin[np.newaxis])
            return
        offsets = (origins - low).tolist()
        for number, array in enumerate(self.arrays):
            output = outputs[number]
            key = [slice(None)] * array.ndim
            for axis, begin, span in zip(self._axes, low.tolist(), spans, strict=True):
                key[axis.axes[number]] = slice(begin, begin + span)
            if len(origins) == 1:
                read_part(array, tuple(key), self.memory, output[places[0]])
                continue
            box = read_part(array, tuple(key), self.memory)
            window = [slice(None)] * array.ndim
            for place, offset in zip(places.tolist(), offsets, strict=True):
                for axis, begin in zip(self._axes, offset, strict=True):
                    window[axis.axes[number]] = slice(begin, begin + axis.size)
                output[place] = box[tuple(window)]


def window_axes(
    arrays: Sequence[Any], names: Sequence[str], window: Any, overlap: Any, *, every: bool
) -> list[_WindowAxis]:
    """The axes of windows. With `every`, windows begin at every element."""
    sizes = _by_axis(window, "window", max(array.ndim for array in arrays))
    overlaps = dict.fromkeys(sizes, overlap) if isinstance(overlap, int) else _by_axis(overlap, "overlap", None)
    for name in overlaps.keys() - sizes.keys():
        raise ArgumentError(f"`overlap`: axis {name!r} has no window", argument="overlap")
    axes = []
    for name, size in sizes.items():
        numbers = tuple(_axis_number(array, label, name) for array, label in zip(arrays, names, strict=True))
        lengths = [array.shape[number] for array, number in zip(arrays, numbers, strict=True)]
        for length, label in zip(lengths, names, strict=True):
            if length != lengths[0]:
                raise ArgumentError(
                    f"`arrays`: expected one length of axis {name!r}, found {lengths[0]} in {names[0]} and {length} in "
                    f"{label}",
                    argument="arrays",
                )
        if not 1 <= size <= lengths[0]:
            raise ArgumentError(
                f"`window`: expected a size from 1 to the length {lengths[0]} of axis {name!r}, found {size}",
                argument="window",
            )
        shared = overlaps.get(name, 0)
        if not 0 <= shared < size:
            raise ArgumentError(
                f"`overlap`: expected a number from 0 to below the size {size} of the window on axis {name!r}, found "
                f"{shared}",
                argument="overlap",
            )
        axes.append(_WindowAxis(numbers, lengths[0], size, 1 if every else size - shared))
    for number, label in enumerate(names):
        if len({axis.axes[number] for axis in axes}) < len(axes):
            raise ArgumentError(f"`window`: names an axis of {label} twice", argument="window")
    return axes


def _by_axis(spec: Any, argument: str, most: int | None) -> dict[int | str, int]:
    """Numbers for axes, from a sequence for the first axes (None leaves one out) or a mapping of numbers or names."""
    if isinstance(spec, (int, np.integer)) and not isinstance(spec, bool):
        spec = (spec,)
    if isinstance(spec, Mapping):
        items = dict(spec)
    elif isinstance(spec, Sequence) and not isinstance(spec, (str, bytes)):
        items = {axis: size for axis, size in enumerate(spec) if size is not None}
    else:
        items = {None: None}
    for axis, size in items.items():
        named = isinstance(axis, (int, str)) and not isinstance(axis, bool)
        if not named or not isinstance(size, (int, np.integer)) or isinstance(size, bool):
            raise ArgumentError(
                f"`{argument}`: expected a number for each of the first axes, or a mapping of axes or names of "
                f"dimensions to numbers, found {spec!r}",
                argument=argument,
            )
    if not items:
        raise ArgumentError(f"`{argument}`: expected at least one axis, found {spec!r}", argument=argument)
    return {axis: int(size) for axis, size in items.items()}


def _axis_number(array: Any, label: str, axis: int | str) -> int:
    if isinstance(axis, str):
        names = getattr(array, "dimension_names", None) or ()
        if axis not in names:
            raise ArgumentError(f"`window`: {label} has no dimension named {axis!r}", argument="window")
        return int(names.index(axis))
    if not -array.ndim <= axis < array.ndim:
        raise ArgumentError(f"`window`: {label} has no axis {axis}", argument="window")
    return axis % int(array.ndim)
