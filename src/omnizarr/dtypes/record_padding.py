"""Padding of NumPy records: bytes between fields that belong to none of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["has_padding", "leaf_types", "native_layout", "without_padding", "zeroed_padding"]


def leaf_types(dtype: np.dtype[Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], np.dtype[Any]]]:
    """The simple dtypes inside a dtype, each with the path of field names to it. For a sub-array, that of its
    elements."""
    dtype = dtype.base
    if dtype.fields is None:
        yield path, dtype
    else:
        for name in dtype.names or ():
            yield from leaf_types(dtype.fields[name][0], (*path, name))


@lru_cache(256)
def has_padding(dtype: np.dtype[Any]) -> bool:
    """Whether an element has bytes that belong to no field."""
    dtype = dtype.base
    if dtype.fields is None:
        return False
    parts = [dtype.fields[name][0] for name in dtype.names or ()]
    return sum(part.itemsize for part in parts) < dtype.itemsize or any(map(has_padding, parts))


@lru_cache(256)
def without_padding(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same fields without padding."""
    if dtype.subdtype is not None:
        return np.dtype((without_padding(dtype.base), dtype.shape))
    if dtype.fields is None:
        return dtype
    names = list(dtype.names or ())
    return np.dtype({"names": names, "formats": [without_padding(dtype.fields[name][0]) for name in names]})


def native_layout(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same record in native byte order, without titles and without the flag for aligned structs."""
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
    """The array in C order as elements of `stored`, with zeros as padding. Padding in memory has arbitrary content,
    which must not get into files."""
    if not has_padding(stored):
        return np.asarray(array, stored, order="C")
    result = np.zeros(array.shape, stored)
    # Between equal dtypes NumPy copies the padding, too. From a dtype without padding it copies field by field.
    result[...] = array.astype(without_padding(array.dtype))
    return result
