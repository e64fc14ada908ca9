"""`LazyArray`: an omnizarr array as xarray indexes it. Each selection is one read."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import numpy.typing as npt
from xarray.backends import BackendArray
from xarray.core import indexing

from omnizarr.engine.pool import submit
from omnizarr.integrations.xarray.point_keys import read_points
from omnizarr.integrations.xarray.read_ahead import ReadAhead
from omnizarr.nodes import Array

__all__ = ["LazyArray"]


class LazyArray(BackendArray):  # type: ignore[misc]
    """The elements of an array, which xarray reads when it needs them."""

    __slots__ = ("_array", "_read_ahead", "dtype", "shape")

    def __init__(self, array: Array, read_ahead: ReadAhead | None = None) -> None:
        self._array = array
        self._read_ahead = read_ahead
        self.shape = array.shape
        self.dtype = array.dtype

    @property
    def omnizarr_array(self) -> Array:
        """The array that is read."""
        return self._array

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        if isinstance(key, indexing.BasicIndexer):
            return self._read_basic(key.tuple)
        if isinstance(key, indexing.OuterIndexer):
            return self._as_array(self._array.get_orthogonal_selection(key.tuple))
        return self._as_array(read_points(self._array, key.tuple))

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """The same, in another thread: reads of several variables overlap."""
        future = submit(lambda: self[key])
        return self[key] if future is None else await asyncio.wrap_future(future)

    def _read_basic(self, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        if self._read_ahead is not None:
            value = self._read_ahead.read(self._array, key)
            if value is not None:
                return self._as_array(value)
        return self._as_array(self._array[key])

    def _as_array(self, value: Any) -> npt.NDArray[Any]:
        return value if isinstance(value, np.ndarray) else np.asarray(value, self.dtype)

    def __getstate__(self) -> Array:
        return self._array

    def __setstate__(self, array: Array) -> None:
        LazyArray.__init__(self, array)

    def __repr__(self) -> str:
        return f"<LazyArray {self._array!r}>"
