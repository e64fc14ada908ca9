"""`take`: the elements at indices along one axis, of one array or of several by the same indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.engine.pool import run
from omnizarr.errors import ArgumentError, SelectionError
from omnizarr.indexing import Selection, numpy_selection
from omnizarr.nodes.protocols.output_memory import as_output

__all__ = ["as_indices", "take_along", "take_many"]

_MOST_ARRAYS = 32  # read at a time from remote stores; the store's window limits the requests


def as_indices(indices: Any, argument: str = "indices") -> npt.NDArray[np.intp]:
    """Indices as an array of integers, of any shape."""
    array = np.asarray(indices)
    if array.size == 0 and array.dtype.kind == "f":  # an empty list
        array = array.astype(np.intp)
    if array.dtype.kind not in "iu":
        raise SelectionError(
            f"`{argument}`: expected integers, found {array.dtype}",
            hint="for a mask use `z.oindex[mask]`" if array.dtype == bool else None,
        )
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.intp).max:
        raise SelectionError(f"`{argument}`: the index {int(array.max())} is out of bounds")
    return array.astype(np.intp, copy=False)


def _selection(array: Any, indices: npt.NDArray[np.intp], axis: int) -> Selection:
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)) or not -array.ndim <= axis < array.ndim:
        expected = f"an integer from {-array.ndim} to {array.ndim - 1}" if array.ndim else "an array with dimensions"
        raise ArgumentError(f"`axis`: expected {expected}, found {axis!r}", argument="axis")
    return numpy_selection((*(slice(None),) * (int(axis) % array.ndim), indices), array.shape)


def take_along(array: Any, indices: Any, axis: int = 0, out: Any = None) -> Any:
    """What `Array.take` returns, for an array or a lazy view."""
    return _read(array, _selection(array, as_indices(indices), axis), out)


def _read(array: Any, selection: Selection, out: Any) -> Any:
    if out is None:
        result = array._read(selection, None)
        return result[()] if selection.shape == () else result
    array._read(selection, as_output(out, selection.shape, array.dtype))
    return out


def take_many(arrays: Any, indices: Any, axis: int = 0, out: Any = None) -> Any:
    """What `omnizarr.take` returns: `take` of each array, in the form of `arrays`."""
    if isinstance(arrays, Mapping):
        if out is not None and (not isinstance(out, Mapping) or set(out) != set(arrays)):
            raise ArgumentError(f"`out`: expected the names {', '.join(map(str, arrays))}", argument="out")
        outputs = None if out is None else [out[name] for name in arrays]
        return dict(zip(arrays, take_many([*arrays.values()], indices, axis, outputs), strict=True))
    if not isinstance(arrays, Sequence) or isinstance(arrays, (str, bytes)):
        raise ArgumentError(f"`arrays`: expected several arrays, found {arrays!r}", argument="arrays")
    if out is not None and (not isinstance(out, Sequence) or len(out) != len(arrays)):
        raise ArgumentError(f"`out`: expected one for each of the {len(arrays)} arrays", argument="out")
    whole = as_indices(indices)
    # Check everything before the first read.
    selections = [_selection(array, whole, axis) for array in arrays]
    outputs = [None] * len(arrays) if out is None else list(out)
    for array, selection, output in zip(arrays, selections, outputs, strict=True):
        if output is not None:
            as_output(output, selection.shape, array.dtype)
    results: list[Any] = [None] * len(arrays)

    def read(number: int) -> None:
        results[number] = _read(arrays[number], selections[number], outputs[number])

    def is_remote(array: Any) -> bool:
        return bool(getattr(getattr(array, "store", None), "remote", False))

    for number, array in enumerate(arrays):  # a read of local files already uses all cores
        if not is_remote(array):
            read(number)
    remote = [number for number, array in enumerate(arrays) if is_remote(array)]
    run(remote, lambda: read, min(_MOST_ARRAYS, len(remote)))
    return results
