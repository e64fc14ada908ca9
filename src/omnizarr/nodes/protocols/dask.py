"""An array, or a lazy view of one, as a dask array."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from omnizarr._imports import load_optional

__all__ = ["Chunked", "dask_array", "import_dask_array"]


class Chunked(Protocol):
    """What `dask_array` needs of an array."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def chunks(self) -> tuple[int, ...] | tuple[tuple[int, ...], ...]: ...
    @property
    def shards(self) -> tuple[int, ...] | tuple[tuple[int, ...], ...] | None: ...


def import_dask_array() -> Any:
    """The module `dask.array`. MissingDependencyError if it is not installed."""
    return load_optional("a dask array", "omnizarr[dask]", "dask.array")


def dask_array(array: Chunked, chunks: Any, inline_array: bool) -> Any:
    """The dask array of `array`; `Array.to_dask` explains the arguments."""
    library = import_dask_array()
    if chunks is None or (isinstance(chunks, str) and chunks == "auto" and array.dtype.hasobject):
        # dask cannot estimate the size of elements of variable length.
        chunks = array.chunks if array.shards is None else array.shards
    # dask would read an empty selection to find the type of blocks, and scalars for arrays without dimensions.
    meta = np.empty((0,) * len(array.shape), array.dtype)
    return library.from_array(array, chunks=chunks, meta=meta, inline_array=inline_array)
