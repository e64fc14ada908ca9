"""Arrays side by side without copying them: `concat` and `stack`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from omnizarr.api.open_nodes import open_array
from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array
from omnizarr.nodes.views import Concatenation, LazyView
from omnizarr.store import Store

__all__ = ["concat", "stack"]


def concat(arrays: Iterable[Any], axis: int = 0) -> LazyView:
    """The arrays one after the other along an axis, as a view that reads their elements when they are needed.

    `arrays` are arrays, lazy views, and locations, such as paths and URLs, which are opened for reading. Their shapes
    may differ along `axis`. The type of the elements is the one to which NumPy promotes all types.

    Example:
        >>> days = omnizarr.concat(["monday.zarr", "tuesday.zarr"])
        >>> days[20:30, 0].read()
        array([...])
    """
    views = _views(arrays)
    return LazyView(Concatenation(views, _axis(axis, views[0].ndim, "axis")))


def stack(arrays: Iterable[Any], axis: int = 0) -> LazyView:
    """The arrays, of equal shapes, along a new axis, as a view; `concat` explains `arrays`.

    Example:
        >>> channels = omnizarr.stack(["red.zarr", "green.zarr", "blue.zarr"], axis=-1)
        >>> channels.shape
        (512, 512, 3)
    """
    views = _views(arrays)
    axis = _axis(axis, views[0].ndim + 1, "axis")
    for view in views:
        if view.shape != views[0].shape:
            raise ArgumentError(
                f"`arrays`: expected equal shapes, found {views[0].shape} and {view.shape}", argument="arrays"
            )
    return LazyView(Concatenation([view[(slice(None),) * axis + (np.newaxis,)] for view in views], axis))


def _views(arrays: Iterable[Any]) -> list[LazyView]:
    if isinstance(arrays, (str, os.PathLike, Array, LazyView)) or not isinstance(arrays, Iterable):
        raise ArgumentError(f"`arrays`: expected several arrays, found {arrays!r}", argument="arrays")
    views: list[LazyView] = []
    for array in arrays:
        if isinstance(array, (str, os.PathLike, Store)):
            array = open_array(array, mode="r")
        if not isinstance(array, (Array, LazyView)):
            raise ArgumentError(
                f"`arrays`: expected arrays, lazy views and locations, found {type(array).__name__}", argument="arrays"
            )
        views.append(array.lazy if isinstance(array, Array) else array)
    if not views:
        raise ArgumentError("`arrays`: expected at least one array", argument="arrays")
    return views


def _axis(axis: Any, ndim: int, argument: str) -> int:
    if not isinstance(axis, (int, np.integer)) or isinstance(axis, bool) or not -ndim <= axis < ndim:
        raise ArgumentError(
            f"`{argument}`: expected an integer from {-ndim} to {ndim - 1}, found {axis!r}", argument=argument
        )
    return int(axis) % ndim
