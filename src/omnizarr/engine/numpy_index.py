"""`array[index]` and `array[index] = value`, as NumPy does them where it does them right.

Before NumPy 2.5, text (`StringDType`) is damaged by many an index that has an array in it, in reading and in writing,
and the process may die of it later. One array alone, for one dimension, does no harm, if it takes from memory that is
not broadcast: all others are brought into that form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["put", "taken"]

_DAMAGES_TEXT = np.lib.NumpyVersion(np.__version__) < "2.5.0"


def taken(array: npt.NDArray[Any], index: Any) -> npt.NDArray[Any]:
    """What `index` selects."""
    if _DAMAGES_TEXT and _is_harmful(array, index):
        places = _places(array.shape, index)
        flat = np.ravel_multi_index(places, array.shape)
        return array.reshape(-1)[flat.reshape(-1)].reshape(flat.shape)
    found: npt.NDArray[Any] = array[index]
    return found


def put(array: npt.NDArray[Any], index: Any, value: npt.NDArray[Any]) -> None:
    """Puts `value` where `index` selects."""
    if not _DAMAGES_TEXT or not _is_harmful(array, index):
        array[index] = value
        return
    places = _places(array.shape, index)
    items = np.broadcast_to(value, places[0].shape).copy().reshape(-1)
    if array.flags.c_contiguous:
        array.reshape(-1)[np.ravel_multi_index(places, array.shape).reshape(-1)] = items
        return
    coordinates = zip(*(place.reshape(-1).tolist() for place in places), strict=True)
    for place, item in zip(coordinates, items.tolist(), strict=True):
        array[place] = item


def _is_harmful(array: npt.NDArray[Any], index: Any) -> bool:
    return array.dtype.kind == "T" and isinstance(index, tuple) and any(isinstance(part, np.ndarray) for part in index)


def _indices(part: Any) -> Any:
    return np.flatnonzero(part) if isinstance(part, np.ndarray) and part.dtype == bool else part


def _places(shape: tuple[int, ...], index: tuple[Any, ...]) -> tuple[npt.NDArray[np.intp], ...]:
    """The coordinates of all that is selected, an array for each dimension: arrays that are paired come first in an
    index here, and a single one stays where it is. A mask is the places where it is true."""
    index = tuple(_indices(part) for part in index)
    arrays = [axis for axis, part in enumerate(index) if not isinstance(part, slice)]
    width = index[arrays[0]].ndim  # of a mesh all are of one width, and points are of width 1
    alone = [axis for axis, part in enumerate(index) if isinstance(part, slice)]
    order = sorted([*alone, arrays[0]])  # where the axes of the result come from
    places: list[npt.NDArray[np.intp]] = []
    for axis, part in enumerate(index):
        after = order[order.index(axis if axis in alone else arrays[0]) + 1 :]
        behind = sum(width if later == arrays[0] else 1 for later in after)
        found = np.arange(*part.indices(shape[axis])) if isinstance(part, slice) else part
        places.append(found.reshape(*found.shape, *(1,) * behind))
    return tuple(np.broadcast_arrays(*places))
