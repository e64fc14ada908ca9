"""Storing dask arrays: `from_dask`."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

from omnizarr._imports import load_optional
from omnizarr.api.create_nodes import create_array
from omnizarr.api.location import StoreLike
from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array, takes_array_options
from omnizarr.nodes.protocols.dask import import_dask_array

__all__ = ["from_dask"]

_LARGEST_CHUNK = 64 * 2**20  # bytes; a reader of one element decodes a whole chunk


@overload
def from_dask(
    x: Any, store: StoreLike = None, *, name: str | None = None, compute: Literal[True] = True, **options: Any
) -> Array: ...


@overload
def from_dask(x: Any, store: StoreLike = None, *, name: str | None = None, compute: bool, **options: Any) -> Any: ...


@takes_array_options(without=("data", "shape"))
def from_dask(x: Any, store: StoreLike = None, *, name: str | None = None, compute: bool = True, **options: Any) -> Any:
    """Creates an array from a dask array, and stores its blocks, each as soon as dask has computed it.

    The chunks are the blocks of `x` if these are regular and have at most 64 MiB. Otherwise, or with other `chunks` or
    `shards`, several tasks may write to one chunk or shard: nothing is lost, but it takes longer. If a task fails, the
    array remains with the blocks that were stored.

    Example:
        >>> x = dask.array.random.random((1000, 1000), chunks=(250, 250))
        >>> z = omnizarr.from_dask(x, "random.zarr")
        >>> z.chunks
        (250, 250)

    Args:
        x: the dask array.
        store: where to create the array: a path, a URL, a store, a dict, or None for a new store in memory, which the
            worker processes of a cluster cannot write to.
        name: the path of the array in the store; the root if not given.
        compute: False creates the array without its elements, and returns a `Delayed` that stores them and whose
            result is the array.

    The other options are those of `create_array`.
    """
    dask_array = import_dask_array()
    if not isinstance(x, dask_array.Array):
        raise ArgumentError(
            f"`x`: expected a dask array, found {type(x).__name__}", argument="x", hint="`from_array` takes others"
        )
    if any(math.isnan(length) for length in x.shape):
        raise ArgumentError(
            "`x`: its blocks have unknown lengths", argument="x", hint="`x.compute_chunk_sizes()` computes them"
        )
    for option in ("data", "shape"):
        if option in options:
            raise ArgumentError(f"there is no option `{option}`: `x` has it", argument=option)
    if options.get("dtype") is None:
        options["dtype"] = x.dtype
    chunks = options.get("chunks", "auto")
    if isinstance(chunks, str) and chunks == "auto" and options.get("shards") is None and _are_chunks(x):
        options["chunks"] = x.chunksize
    array = create_array(store, name=name, **{**options, "shape": x.shape})
    # Without a lock: an update of a chunk or shard keeps the changes of other tasks.
    stored = dask_array.store(x, array, lock=False, compute=compute)
    if compute:
        return array
    return load_optional("a dask array", "omnizarr[dask]", "dask").delayed(_first)(array, stored)


def _first(array: Array, _: object) -> Array:
    return array


def _are_chunks(x: Any) -> bool:
    """Whether the blocks of a dask array can be the chunks of a regular grid, and are small enough."""
    regular = all(
        all(length == lengths[0] for length in lengths[:-1]) and lengths[-1] <= lengths[0] for lengths in x.chunks
    )
    return regular and 0 < math.prod(x.chunksize) * x.dtype.itemsize <= _LARGEST_CHUNK
