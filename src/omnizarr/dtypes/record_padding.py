"""Records as they lie in memory: which have gaps between their fields, and how to do without what lies in the gaps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["as_stored", "leaves", "packed", "padded", "rebuilt"]


def leaves(dtype: np.dtype[Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], np.dtype[Any]]]:
    """The simple types within a type, each with the names of the fields that lead to it; of a sub-array its element."""
    dtype = dtype.base
    if dtype.fields is None:
        yield path, dtype
    else:
        for name in dtype.names or ():
            yield from leaves(dtype.fields[name][0], (*path, name))


@lru_cache(256)
def padded(dtype: np.dtype[Any]) -> bool:
    """Whether there are bytes in an element that belong to no field."""
    dtype = dtype.base
    if dtype.fields is None:
        return False
    parts = [dtype.fields[name][0] for name in dtype.names or ()]
    return sum(part.itemsize for part in parts) < dtype.itemsize or any(map(padded, parts))


@lru_cache(256)
def packed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same fields, one after the other without gaps."""
    if dtype.subdtype is not None:
        return np.dtype((packed(dtype.base), dtype.shape))
    if dtype.fields is None:
        return dtype
    names = list(dtype.names or ())
    return np.dtype({"names": names, "formats": [packed(dtype.fields[name][0]) for name in names]})


def rebuilt(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same record in the byte order of this machine, without what does not count: titles, and the note that it was
    made to be aligned."""
    if dtype.subdtype is not None:
        return np.dtype((rebuilt(dtype.base), dtype.shape))
    if dtype.fields is None:
        return dtype if dtype.isnative else dtype.newbyteorder("=")
    names = list(dtype.names or ())
    return np.dtype(
        {
            "names": names,
            "formats": [rebuilt(dtype.fields[name][0]) for name in names],
            "offsets": [dtype.fields[name][1] for name in names],
            "itemsize": dtype.itemsize,
        }
    )


def as_stored(array: npt.NDArray[Any], stored: np.dtype[Any]) -> npt.NDArray[Any]:
    """The array in C order as elements of `stored`, with zeros in all gaps: what lies there in memory may be anything,
    and no business of whoever reads the file."""
    if not padded(stored):
        return np.asarray(array, stored, order="C")
    found = np.zeros(array.shape, stored)
    # NumPy copies equal types gaps and all; from a type that has none it goes field by field.
    found[...] = array.astype(packed(array.dtype))
    return found
