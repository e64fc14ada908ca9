"""`Array` and `AsyncArray`: handles of arrays."""

from __future__ import annotations

from omnizarr.compat.zarr.core.async_array import AsyncArray
from omnizarr.compat.zarr.core.create import DEFAULT_FILL_VALUE
from omnizarr.compat.zarr.core.new_array import new_array
from omnizarr.compat.zarr.core.sync_array import Array

__all__ = ["DEFAULT_FILL_VALUE", "Array", "AsyncArray", "new_array"]
