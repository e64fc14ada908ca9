"""`new_array`: creates an array with the arguments of zarr-python's `create_array`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from omnizarr.compat.zarr.core import create
from omnizarr.compat.zarr.core.array_spec import parse_array_config
from omnizarr.compat.zarr.core.common import _warn_order_kwarg, default_format
from omnizarr.compat.zarr.core.handles.array import Array
from omnizarr.compat.zarr.storage._common import StorePath

__all__ = ["like_create_array", "new_array"]

F = TypeVar("F", bound=Callable[..., Any])


def _signature(
    store: Any,
    *,
    name: str | None = None,
    shape: Any = None,
    dtype: Any = None,
    data: Any = None,
    chunks: Any = "auto",
    shards: Any = None,
    filters: Any = "auto",
    compressors: Any = "auto",
    serializer: Any = "auto",
    fill_value: Any = create.DEFAULT_FILL_VALUE,
    order: Any = None,
    zarr_format: Any = 3,
    attributes: dict[str, Any] | None = None,
    chunk_key_encoding: Any = None,
    dimension_names: Any = None,
    storage_options: dict[str, Any] | None = None,
    overwrite: bool = False,
    config: Any = None,
    write_data: bool = True,
) -> Any:
    """The arguments of `create_array`."""


def like_create_array(*first: str, leave_out: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Decorator: gives a function with `**options` the signature of `create_array`, which programs look at."""

    def decorate(function: F) -> F:
        known = inspect.signature(_signature).parameters
        own = inspect.signature(function)
        parameters = [own.parameters[name] for name in first]
        parameters += [value for name, value in known.items() if name not in (*first, *leave_out)]
        function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return decorate


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
    for name, value, kind in (("dtype", dtype, "an array-like value"), ("shape", shape, "a value")):
        if value is None:
            raise ValueError(
                f"The data parameter was set to None, but {name} was not specified. Either provide {kind} for data, "
                f"or specify {name}."
            )
    if not isinstance(compressor, create.DefaultFillValue):
        options["compressors"] = compressor
    config = parse_array_config(config)
    if order is not None and zarr_format == 3:
        _warn_order_kwarg()  # the order of v3 arrays in memory is an option of the handle
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
