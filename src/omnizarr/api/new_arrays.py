"""Creating arrays in one line: `create`, `array`, `empty`, `zeros`, `ones` and `full`."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.api.create_nodes import create_array
from omnizarr.api.location import StoreLike
from omnizarr.dtypes import data_type_of
from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array, takes_array_options

__all__ = ["array", "create", "empty", "full", "ones", "with_fill_value", "zero_of", "zeros"]


@takes_array_options
def create(shape: Any = None, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """Creates an array of this shape; `create_array` explains the options. Without a `dtype`, it is float64."""
    if options.get("data") is None:
        options.setdefault("dtype", np.float64)
    if shape is not None:
        options["shape"] = shape
    return create_array(store, name=options.pop("name", path), **options)


@takes_array_options
def array(data: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """Creates an array that holds `data`; `create_array` explains the options."""
    return create_array(store, name=path, data=data, **options)


@takes_array_options(without=("data",))
def empty(shape: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """Creates an array whose elements have the fill value, which takes no space."""
    return create(shape, store=store, path=path, **options)


@takes_array_options(without=("data", "fill_value"))
def zeros(shape: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """Creates an array of zeros, which take no space: zero is the fill value."""
    return create(shape, store=store, path=path, **with_fill_value(options, zero_of(options.get("dtype", np.float64))))


@takes_array_options(without=("data", "fill_value"))
def ones(shape: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """Creates an array of ones, which take no space: one is the fill value."""
    return create(shape, store=store, path=path, **with_fill_value(options, 1))


@takes_array_options(without=("data",))
def full(shape: Any, fill_value: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """Creates an array whose elements all have the value `fill_value`, which takes no space."""
    return create(shape, store=store, path=path, **with_fill_value(options, fill_value))


def with_fill_value(options: dict[str, Any], fill_value: Any) -> dict[str, Any]:
    """The options with a fill value. Raises ArgumentError if the user gave one, or data."""
    for name in ("data", "fill_value"):
        if name in options:
            raise ArgumentError(f"an array that is all one value takes no `{name}`", argument=name)
    return {**options, "fill_value": fill_value}


def zero_of(dtype: Any) -> Any:
    """The zero of a data type. For times it differs from the default fill value, which is not-a-time."""
    if dtype is None:
        return None  # creating the array reports the missing dtype
    data_type = data_type_of(dtype)
    return np.zeros((), data_type.dtype) if data_type.fixed_size else data_type.default_fill()
