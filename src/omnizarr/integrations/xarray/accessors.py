"""The accessor `omnizarr` of datasets, data arrays and trees.

It imports the rest of omnizarr when a method is called, because xarray imports this module to list its engines.
"""

from __future__ import annotations

from typing import Any

from xarray import register_dataarray_accessor, register_dataset_accessor, register_datatree_accessor

__all__ = ["OmnizarrAccessor"]


@register_datatree_accessor("omnizarr")
@register_dataarray_accessor("omnizarr")
@register_dataset_accessor("omnizarr")
class OmnizarrAccessor:
    """`ds.omnizarr`: what omnizarr adds to an object of xarray."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def load(self) -> Any:
        """Loads all variables into memory, those of remote stores at the same time, and returns the object.

        `ds.load()` waits for each variable before it requests the next.
        """
        from omnizarr.integrations.xarray.load import load

        load(self._data)
        return self._data
