"""`take`: the elements of several arrays at the same indices."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, overload

from omnizarr.api.open_nodes import open_array
from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array
from omnizarr.nodes.protocols.take import take_many
from omnizarr.nodes.views import LazyView
from omnizarr.store import Store

__all__ = ["as_arrays", "take"]


@overload
def take(arrays: Mapping[str, Any], indices: Any, axis: int = 0, out: Any = None) -> dict[str, Any]: ...
@overload
def take(arrays: Sequence[Any], indices: Any, axis: int = 0, out: Any = None) -> list[Any]: ...
def take(arrays: Any, indices: Any, axis: int = 0, out: Any = None) -> Any:
    """`take(indices, axis)` of each of several arrays: a list, or a dictionary if `arrays` is one.

    `arrays` are arrays, lazy views, and locations, which are opened for reading. Each chunk is read and decoded once;
    arrays in remote stores are read at the same time. `out` has one output for each array, in the form of `arrays`;
    `Array.take` says what an output may be.

    Example:
        >>> batch = omnizarr.take({"image": images, "label": labels}, [5, 2, 5])
        >>> batch["label"]
        array([...])
    """
    return take_many(as_arrays(arrays), indices, axis, out)


def as_arrays(arrays: Any) -> Any:
    """A list or dictionary of arrays and lazy views, with all locations opened for reading."""
    if isinstance(arrays, Mapping):
        return {name: _as_array(array) for name, array in arrays.items()}
    if isinstance(arrays, (Array, LazyView)) or not isinstance(arrays, Sequence) or isinstance(arrays, (str, bytes)):
        raise ArgumentError(f"`arrays`: expected several arrays, found {arrays!r}", argument="arrays")
    return [_as_array(array) for array in arrays]


def _as_array(array: Any) -> Array | LazyView:
    if isinstance(array, (str, os.PathLike, Store)):
        return open_array(array, mode="r")
    if not isinstance(array, (Array, LazyView)):
        raise ArgumentError(
            f"`arrays`: expected arrays, lazy views or locations, found {type(array).__name__}", argument="arrays"
        )
    return array
