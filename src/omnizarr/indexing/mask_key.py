"""The key that is one boolean mask over an array of one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.indexing.selection import Selection
from omnizarr.native.masks import find_true

__all__ = ["mask_selection"]

_SPARSE = 64  # a mask is sparse if at most one in 64 elements is true


def mask_selection(key: tuple[Any, ...], shape: tuple[int, ...]) -> Selection | None:
    """The selection of a boolean mask over an array of one dimension; None if `key` is anything else.

    The selection keeps the mask, because indices take 8 bytes where the mask takes one. A sparse mask becomes indices.
    """
    if len(key) != 1 or len(shape) != 1 or not isinstance(key[0], np.ndarray):
        return None
    mask = key[0]
    if mask.dtype != bool or mask.shape != shape:
        return None
    count, indices = find_true(mask, len(mask) // _SPARSE)
    return Selection((mask if indices is None else indices,), (), (count,), (count,))
