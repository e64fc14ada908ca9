"""NumPy dtypes as v1, v2 and the drafts store them, with byte orders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from omnizarr.codecs import Bytes, Codec

__all__ = ["byte_orders", "is_object_record", "stored_dtype"]


def stored_dtype(dtype: np.dtype[Any], serializer: Codec | None) -> np.dtype[Any]:
    """The dtype in which `serializer` stores elements of `dtype`; `dtype` itself if the codec does not specify it."""
    specified = getattr(serializer, "dtype", None)
    if isinstance(specified, np.dtype):
        return specified
    if isinstance(serializer, Bytes) and serializer.endian is not None and not dtype.hasobject:
        return dtype.newbyteorder(serializer.endian)
    return dtype


def byte_orders(dtype: np.dtype[Any]) -> Iterator[str]:
    """`<` or `>` for every part of a dtype that has a byte order."""
    if dtype.names is not None:
        for name in dtype.names:
            yield from byte_orders(dtype[name])
    elif dtype.subdtype is not None:
        yield from byte_orders(dtype.base)
    elif dtype.str[0] != "|":
        yield dtype.str[0]


def is_object_record(stored: np.dtype[Any]) -> bool:
    """Whether elements are records with object fields. In memory they are tuples."""
    return stored.names is not None and stored.hasobject
