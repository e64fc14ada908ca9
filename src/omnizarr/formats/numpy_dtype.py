"""NumPy's types as v1, v2 and the drafts store them: with byte orders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from omnizarr.codecs import Bytes, Codec

__all__ = ["byte_orders", "stored_dtype"]


def stored_dtype(dtype: np.dtype[Any], serializer: Codec | None) -> np.dtype[Any]:
    """How elements of `dtype` are stored behind that serializer; as they are, if it says nothing about it."""
    told = getattr(serializer, "dtype", None)
    if isinstance(told, np.dtype):
        return told
    if isinstance(serializer, Bytes) and serializer.endian is not None and not dtype.hasobject:
        return dtype.newbyteorder(serializer.endian)
    return dtype


def byte_orders(dtype: np.dtype[Any]) -> Iterator[str]:
    """`<` or `>` for every part of a type that has a byte order."""
    if dtype.names is not None:
        for name in dtype.names:
            yield from byte_orders(dtype[name])
    elif dtype.subdtype is not None:
        yield from byte_orders(dtype.base)
    elif dtype.str[0] != "|":
        yield dtype.str[0]
