"""`array[index]` and `array[index] = value`, with a workaround for a bug of NumPy.

Before NumPy 2.5, many indices that contain an array corrupt text (`StringDType`), in reading and in writing, and the
process may crash later. A single index array for one dimension is safe if the memory is not broadcast; all other
indices are converted to that form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["assign", "take"]

_CORRUPTS_TEXT = np.lib.NumpyVersion(np.__version__) < "2.5.0"


def take(array: npt.NDArray[Any], index: Any) -> npt.NDArray[Any]:
    """`array[index]`."""
    if _CORRUPTS_TEXT and _is_unsafe(array, index):
        coordinates = _coordinates(array.shape, index)
        flat = np.ravel_multi_index(coordinates, array.shape)
        return array.reshape(-1)[flat.reshape(-1)].reshape(flat.shape)
    elements: npt.NDArray[Any] = array[index]
    return elements


def assign(array: npt.NDArray[Any], index: Any, value: npt.NDArray[Any]) -> None:
    """`array[index] = value`."""
    if not _CORRUPTS_TEXT or not _is_unsafe(array, index):
        array[index] = value
        return
    coordinates = _coordinates(array.shape, index)
    items = np.broadcast_to(value, coordinates[0].shape).copy().reshape(-1)
    if array.flags.c_contiguous:
        array.reshape(-1)[np.ravel_multi_index(coordinates, array.shape).reshape(-1)] = items
        return
    points = zip(*(axis.reshape(-1).tolist() for axis in coordinates), strict=True)
    for point, item in zip(points, items.tolist(), strict=True):
        array[point] = item


def _is_unsafe(array: npt.NDArray[Any], index: Any) -> bool:
    return array.dtype.kind == "T" and isinstance(index, tuple) and any(isinstance(part, np.ndarray) for part in index)


def _indices(part: Any) -> Any:
    return np.flatnonzero(part) if isinstance(part, np.ndarray) and part.dtype == bool else part


def _coordinates(shape: tuple[int, ...], index: tuple[Any, ...]) -> tuple[npt.NDArray[np.intp], ...]:
    """The coordinates of all selected elements, one array per dimension. In an index of the engine, paired arrays come
    first and a single array stays at its dimension. A mask stands for the indices where it is true."""
    index = tuple(_indices(part) for part in index)
    arrays = [axis for axis, part in enumerate(index) if not isinstance(part, slice)]
    width = index[arrays[0]].ndim  # the arrays of a mesh all have one width; points have width 1
    slices = [axis for axis, part in enumerate(index) if isinstance(part, slice)]
    order = sorted([*slices, arrays[0]])  # the axes of the result, by the dimension each comes from
    coordinates: list[npt.NDArray[np.intp]] = []
    for axis, part in enumerate(index):
        following = order[order.index(axis if axis in slices else arrays[0]) + 1 :]
        trailing = sum(width if later == arrays[0] else 1 for later in following)
        indices = np.arange(*part.indices(shape[axis])) if isinstance(part, slice) else part
        coordinates.append(indices.reshape(*indices.shape, *(1,) * trailing))
    return tuple(np.broadcast_arrays(*coordinates))
