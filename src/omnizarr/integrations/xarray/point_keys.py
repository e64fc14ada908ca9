"""Pointwise selections of xarray, as few points and as many slices as possible.

For `da.isel(x=points_x, y=points_y)` xarray gives an array of indices for every dimension, also for those that it
selects as a whole, such as `time`. Read as points, a series of 10,000 times at 100 places would be a million points. An
array that alone varies along an axis of the result, in equal steps, becomes a slice again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.nodes import Array

__all__ = ["read_points"]


def read_points(array: Array, key: tuple[Any, ...]) -> npt.NDArray[Any]:
    """`array[key]` with the axes in the order of xarray: first those of the index arrays, then those of slices.

    `key` has a slice or an array of integers for each dimension. All arrays have the same number of axes.
    """
    arrays = {position: np.asarray(item) for position, item in enumerate(key) if not isinstance(item, slice)}
    shape = np.broadcast_shapes(*(indices.shape for indices in arrays.values()))
    rank = len(shape)
    axes = _separate_axes(list(arrays.values()), rank)
    new_key: list[Any] = list(key)
    slices: dict[int, int] = {}  # the positions of arrays that become slices, by the axis of the result
    for axis, number in axes.items():
        position = list(arrays)[number]
        part = _as_slice(arrays[position].reshape(-1), array.shape[position])
        if part is not None:
            new_key[position], slices[axis] = part, position
    point_axes = [axis for axis in range(rank) if axis not in slices]
    point_shape = tuple(shape[axis] for axis in point_axes)
    points = [position for position in arrays if position not in slices.values()]
    for position in points:
        lengths = tuple(arrays[position].shape[axis] for axis in point_axes)
        new_key[position] = np.broadcast_to(arrays[position].reshape(lengths), point_shape)
    result = np.asarray(array[tuple(new_key)])

    # The axes of the result as NumPy orders them: an axis of `shape`, or minus one minus the position of a slice.
    slices_of_key = [-1 - position for position in range(len(key)) if position not in points]
    of_slices = {position: axis for axis, position in slices.items()}
    order = [of_slices.get(-1 - item, item) for item in slices_of_key]
    if not points:  # all axes that are left have length 1
        result = result.reshape(result.shape + point_shape)
        order += point_axes
    else:
        adjacent = points[-1] - points[0] == len(points) - 1
        start = points[0] if adjacent else 0
        order[start:start] = point_axes
    new_order = [*range(rank), *(item for item in order if item < 0)]
    return result.transpose([order.index(item) for item in new_order])


def _separate_axes(arrays: list[npt.NDArray[Any]], rank: int) -> dict[int, int]:
    """The axes along which only one array varies, which varies along no other; with the number of that array."""
    varying = [[axis for axis in range(rank) if indices.shape[axis] > 1] for indices in arrays]
    users = [sum(axis in axes for axes in varying) for axis in range(rank)]
    return {axes[0]: number for number, axes in enumerate(varying) if len(axes) == 1 and users[axes[0]] == 1}


def _as_slice(indices: npt.NDArray[Any], length: int) -> slice | None:
    """The slice that selects the same elements; None if the indices do not rise in equal steps."""
    first, last = int(indices[0]), int(indices[-1])
    step = int(indices[1]) - first
    if first < 0 or step < 1 or last >= length or not np.array_equal(indices, np.arange(first, last + 1, step)):
        return None
    return slice(first, last + 1, step)
