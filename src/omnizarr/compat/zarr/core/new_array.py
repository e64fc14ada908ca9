"""`new_array`: creates an array with the arguments of zarr-python's `create_array`."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.compat.zarr.core import create
from omnizarr.compat.zarr.core.array_spec import parse_array_config
from omnizarr.compat.zarr.core.common import _warn_order_kwarg, default_format
from omnizarr.compat.zarr.core.sync_array import Array
from omnizarr.compat.zarr.storage._common import StorePath

__all__ = ["new_array"]


def new_array(
    place: StorePath,
    *,
    shape: Any = None,
    dtype: Any = None,
    data: Any = None,
    order: Any = None,
    zarr_format: Any = 3,
    config: Any = None,
    write_data: bool = True,
    write_empty_chunks: bool | None = None,
    compressor: Any = create.DEFAULT_FILL_VALUE,
    **options: Any,
) -> Array:
    """Creates an array, and writes `data`."""
    zarr_format = default_format() if zarr_format is None else zarr_format
    if data is not None:
        if dtype is not None:
            raise ValueError(
                "The `data` parameter was used, but the `dtype` parameter was also used. This is an error. "
                "Either use the `data` parameter, or the `dtype` parameter, but not both."
            )
        if shape is not None:
            raise ValueError(
                "The `data` parameter was used, but the `shape` parameter was also used. This is an error. "
                "Either use the `data` parameter, or the `shape` parameter, but not both."
            )
        data = create.as_data(data)
        shape, dtype = data.shape, data.dtype
    if shape is None:
        raise ValueError("shape must be provided if data is not provided")
    if dtype is None:
        raise ValueError("dtype must be specified if data is not provided")
    if not isinstance(compressor, create.DefaultFillValue):
        options["compressors"] = compressor
    config = parse_array_config(config)
    if order is not None and zarr_format == 3:
        _warn_order_kwarg()
        config = parse_array_config({**config.to_dict(), "order": order})
    if write_empty_chunks is not None:
        config = parse_array_config({**config.to_dict(), "write_empty_chunks": write_empty_chunks})
    if order is None and zarr_format == 2:
        order = config.order
    handle = create.create_array_handle(
        place,
        shape=shape,
        dtype=dtype,
        order=order,
        zarr_format=zarr_format,
        write_empty_chunks=config.write_empty_chunks,
        **options,
    )
    array = Array._of(handle, place, config)
    if data is not None and write_data:
        array[...] = np.asarray(data) if array.ndim else data
    return array
