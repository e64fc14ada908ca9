"""Casts with the codec `cast_value`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from tests.codecs.binding import bind, spec_of

from omnizarr.codecs import CastValue
from omnizarr.dtypes import data_type_of

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")


def dtype_of(name: str) -> np.dtype[Any]:
    return data_type_of(name).dtype


def one(name: str) -> npt.NDArray[Any]:
    """The number 1, which all types can represent."""
    return np.array(1).astype(dtype_of(name))


def codec(source: str, target: str, scalar_map: Any = None, **options: Any) -> Any:
    if scalar_map is None:
        return plain(source, target, **options)
    return bind(CastValue(target, scalar_map=scalar_map, **options), spec_of(one(source).reshape(1), 1))


@lru_cache(None)
def plain(source: str, target: str, **options: Any) -> Any:
    return bind(CastValue(target, **options), spec_of(one(source).reshape(1), 1))


def encoded(values: Any, source: str, target: str, **options: Any) -> list[Any]:
    encoded = codec(source, target, **options).encode(np.array(values).astype(dtype_of(source)))
    assert encoded.dtype == dtype_of(target)
    return encoded.tolist() if target in (*INTEGERS, *FLOATS) else [float(value) for value in encoded]
