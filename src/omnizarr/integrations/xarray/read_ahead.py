"""The values that xarray reads while it opens a dataset, of all its variables, read together.

xarray loads each index coordinate, and looks at the first and the last element of each variable with a unit of time,
one after another. The first of these reads reads the values for all of them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.nodes import Array
from omnizarr.nodes.read_many import read_many

__all__ = ["ReadAhead"]

_MOST_BYTES = 2**26  # of one coordinate; a larger one is read when xarray asks for it


class ReadAhead:
    """Values of several arrays, by the path of the array."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._pending: dict[str, tuple[Array, bool]] = {}
        self._whole: dict[str, npt.NDArray[Any]] = {}
        self._ends: dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}

    def add(self, array: Array, *, whole: bool) -> bool:
        """Reads this array together with the others: all its elements, or the first and the last one. False if it is
        empty or too large, so that it has to be read on its own."""
        if not array.size or (whole and array.nbytes > _MOST_BYTES):
            return False
        self._pending[array.path] = (array, whole)
        return True

    def read(self, array: Array, key: tuple[Any, ...]) -> npt.NDArray[Any] | None:
        """`array[key]` for integers and slices, if the value was read ahead; else None.

        Whole arrays are released once they are read as a whole, because xarray then has them in memory.
        """
        path = array.path
        with self._lock:
            if path in self._pending:
                self._read_pending()
            elements = self._whole.get(path)
            if elements is not None:
                part = elements[key]
                if part.shape == elements.shape:
                    del self._whole[path]
                return np.asarray(part)
            ends = self._ends.get(path)
        if ends is None:
            return None
        for end, is_end in zip(ends, (_is_first, _is_last), strict=True):
            if all(is_end(item, length) for item, length in zip(key, array.shape, strict=True)):
                return end[tuple(0 if isinstance(item, (int, np.integer)) else slice(None) for item in key)]
        return None

    def _read_pending(self) -> None:
        pending, self._pending = self._pending, {}
        requests: list[tuple[Array, Any]] = []
        for array, whole in pending.values():
            requests.append((array, (slice(None),) * array.ndim if whole else (slice(0, 1),) * array.ndim))
            if not whole:
                requests.append((array, tuple(slice(length - 1, length) for length in array.shape)))
        values = iter(read_many(requests))
        for path, (_, whole) in pending.items():
            if whole:
                self._whole[path] = next(values)
            else:
                self._ends[path] = (next(values), next(values))


def _span(item: Any, length: int) -> tuple[int, int]:
    """The first index that an item of a key selects, and how many it selects."""
    if isinstance(item, slice):
        indices = range(*item.indices(length))
        return (indices[0], len(indices)) if indices else (0, 0)
    return (int(item) % length, 1)


def _is_first(item: Any, length: int) -> bool:
    return _span(item, length) == (0, 1)


def _is_last(item: Any, length: int) -> bool:
    return _span(item, length) == (length - 1, 1)
