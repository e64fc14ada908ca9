"""Records as they lie in memory: which have gaps between their fields, and how to do without what lies in the gaps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["has_padding", "leaf_types", "native_layout", "without_padding", "zeroed_padding"]


def leaf_types(dtype: np.dtype[Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], np.dtype[Any]]]:
    """The simple types within a type, each with the names of the fields that lead to it; of a sub-array its element."""
    dtype = dtype.base
    if dtype.fields is None:
        yield path, dtype
    else:
        for name in dtype.names or ():
            yield from leaf_types(dtype.fields[name][0], (*path, name))


@lru_cache(256)
def has_padding(dtype: np.dtype[Any]) -> bool:
    """Whether there are bytes in an element that belong to no field."""
    dtype = dtype.base
    if dtype.fields is None:
        return False
    parts = [dtype.fields[name][0] for name in dtype.names or ()]
    return sum(part.itemsize for part in parts) < dtype.itemsize or any(map(has_padding, parts))


@lru_cache(256)
def without_padding(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same fields, one after the other without gaps."""
    if dtype.subdtype is not None:
        return np.dtype((without_padding(dtype.base), dtype.shape))
    if dtype.fields is None:
        return dtype
    names = list(dtype.names or ())
    return np.dtype({"names": names, "formats": [without_padding(dtype.fields[name][0]) for name in names]})


def native_layout(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same record in the byte order of this machine, without what does not count: titles, and the note that it was
    made to be aligned."""
    if dtype.subdtype is not None:
        return np.dtype((native_layout(dtype.base), dtype.shape))
    if dtype.fields is None:
        return dtype if dtype.isnative else dtype.newbyteorder("=")
    names = list(dtype.names or ())
    return np.dtype(
        {
            "names": names,
            "formats": [native_layout(dtype.fields[name][0]) for name in names],
            "offsets": [dtype.fields[name][1] for name in names],
            "itemsize": dtype.itemsize,
        }
    )


def zeroed_padding(array: npt.NDArray[Any], stored: np.dtype[Any]) -> npt.NDArray[Any]:
    """The array in C order as elements of `stored`, with zeros in all gaps: what lies there in memory may be anything,
    and no business of whoever reads the file."""
    if not has_padding(stored):
        return np.asarray(array, stored, order="C")
    found = np.zeros(array.shape, stored)
    # NumPy copies equal types gaps and all; from a type that has none it goes field by field.
    found[...] = array.astype(without_padding(array.dtype))
    return found
