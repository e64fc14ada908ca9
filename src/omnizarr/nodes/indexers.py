"""The square brackets of `oindex`, `vindex` and `blocks`, and what may stand between an array's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from omnizarr.errors import SelectionError
from omnizarr.indexing import split_fields

__all__ = ["Indexer", "as_mask", "has_ellipsis", "only_basic"]


class Indexer:
    """Brackets for another kind of selection."""

    __slots__ = ("_get", "_set")

    def __init__(self, get: Callable[..., Any], set: Callable[..., None]) -> None:
        self._get = get
        self._set = set

    def __getitem__(self, key: Any) -> Any:
        fields, key = split_fields(key)
        return self._get(key, fields=fields)

    def __setitem__(self, key: Any, value: Any) -> None:
        fields, key = split_fields(key)
        self._set(key, value, fields=fields)


def has_ellipsis(key: Any) -> bool:
    """Whether `...` is in a key, after which NumPy gives an array even of a single element."""
    return key is Ellipsis or (isinstance(key, tuple) and any(item is Ellipsis for item in key))


def only_basic(selection: Any) -> Any:
    """The selection itself, if it holds no arrays of indices."""
    for item in selection if isinstance(selection, tuple) else (selection,):
        if not (item is None or item is Ellipsis or isinstance(item, (slice, int, np.integer))):
            raise SelectionError(
                "a basic selection takes integers, slices, `...` and `newaxis`",
                hint="for arrays of indices use `z[...]`, `z.oindex` or `z.vindex`",
            )
    return selection


def as_mask(mask: Any, shape: tuple[int, ...]) -> Any:
    """A mask for all elements of an array of this shape."""
    if isinstance(mask, tuple) and len(mask) == 1:
        mask = mask[0]
    array = np.asarray(mask)
    if array.dtype != bool or array.shape != shape:
        raise SelectionError(f"expected a boolean mask of shape {shape}, found {array.dtype} of shape {array.shape}")
    return array
