"""The methods of `Group` that create arrays in other ways than `create_array`."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.compat.zarr.core.array_spec import parse_array_config
from omnizarr.compat.zarr.core.dtype import parse_dtype
from omnizarr.compat.zarr.core.handles.array import Array

__all__ = ["NewMembers"]


class NewMembers:
    """Creates arrays below a group."""

    def get(self, path: str, default: Any = None) -> Any:
        """The member at `path`, or `default`."""
        raise NotImplementedError

    def create_array(self, name: str, **options: Any) -> Array:
        """Creates an array below this group."""
        raise NotImplementedError

    def create_dataset(self, name: str, **options: Any) -> Array:
        """Creates an array: the name of `create_array` in h5py."""
        data = options.pop("data", None)
        if data is not None and "shape" not in options:
            options["data"] = data
            return self.create_array(name, **options)
        array = self.create_array(name, **options)
        if data is not None:
            array[...] = data
        return array

    def require_array(self, name: str, *, shape: Any, dtype: Any = None, exact: bool = False, **options: Any) -> Array:
        """The array `name`, which is created if there is none."""
        node = self.get(name)
        if node is None:
            return self.create_array(name, shape=shape, dtype=dtype, **options)
        if not isinstance(node, Array):
            raise TypeError(f"Incompatible object (Async{type(node).__name__}) already exists")
        lengths = (shape,) if isinstance(shape, int) else tuple(shape)
        if lengths != node.shape:
            raise TypeError(f"Incompatible shape ({node.shape} vs {lengths})")
        requested = parse_dtype(node.dtype if dtype is None else dtype, zarr_format=node.zarr_format).to_native_dtype()
        if exact and node.dtype != requested:
            raise TypeError(f"Incompatible dtype ({node.dtype} vs {requested})")
        if not np.can_cast(node.dtype, requested):
            raise TypeError(f"Incompatible dtype ({node.dtype} vs {requested})")
        config = options.get("config")
        return node if config is None else node.with_config(parse_array_config(config))

    require_dataset = require_array

    def array(self, name: str, *, data: Any = None, **options: Any) -> Array:
        """Creates an array from data."""
        if data is not None and options.get("shape") is None:
            options.pop("shape", None)
            options.pop("dtype", None) if options.get("dtype") is None else None
            if "dtype" in options:
                data = np.asarray(data, options.pop("dtype"))
            return self.create_array(name, data=data, **options)
        return self.create_dataset(name, data=data, **options)

    def empty(self, *, name: str, shape: Any, **options: Any) -> Array:
        """Creates an array."""
        return self.create_array(name, shape=shape, **{"dtype": "float64", **options})

    def zeros(self, *, name: str, shape: Any, **options: Any) -> Array:
        """Creates an array of zeros."""
        return self.full(name=name, shape=shape, fill_value=0, **options)

    def ones(self, *, name: str, shape: Any, **options: Any) -> Array:
        """Creates an array of ones."""
        return self.full(name=name, shape=shape, fill_value=1, **options)

    def full(self, *, name: str, shape: Any, fill_value: Any, **options: Any) -> Array:
        """Creates an array of one value."""
        return self.create_array(name, shape=shape, fill_value=fill_value, **{"dtype": "float64", **options})

    def _like(self, data: Any, options: dict[str, Any]) -> dict[str, Any]:
        chunks = getattr(data, "chunks", None)
        like = {"shape": data.shape, "dtype": data.dtype} | ({} if chunks is None else {"chunks": chunks})
        return like | options

    def empty_like(self, *, name: str, data: Any, **options: Any) -> Array:
        """Creates an array with the shape and type of another one."""
        if isinstance(data, Array):
            options.setdefault("fill_value", data.fill_value)
        return self.empty(name=name, **self._like(data, options))

    def zeros_like(self, *, name: str, data: Any, **options: Any) -> Array:
        """Creates an array of zeros with the shape and type of another one."""
        return self.zeros(name=name, **self._like(data, options))

    def ones_like(self, *, name: str, data: Any, **options: Any) -> Array:
        """Creates an array of ones with the shape and type of another one."""
        return self.ones(name=name, **self._like(data, options))

    def full_like(self, *, name: str, data: Any, fill_value: Any = 0, **options: Any) -> Array:
        """Creates an array of one value with the shape and type of another one."""
        return self.full(name=name, fill_value=fill_value, **self._like(data, options))
