"""Coordinate keys, `z.vindex[...]`: arrays of indices are broadcast together and select point by point."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.errors import SelectionError
from omnizarr.indexing.key_items import ArrayItem, IntegerItem, parse_items
from omnizarr.indexing.mask_key import mask_selection
from omnizarr.indexing.numpy_key import array_selection, numpy_selection
from omnizarr.indexing.selection import Selection

__all__ = ["coordinate_selection"]


def coordinate_selection(key: Any, shape: tuple[int, ...]) -> Selection:
    """The selection of integer arrays that are broadcast together, or of a mask with the array's shape. The axes of the
    points come first in the result; dimensions selected by slices follow."""
    key = key if isinstance(key, tuple) else (key,)
    mask = mask_selection(key, shape)
    if mask is not None:
        return mask
    items = parse_items(key, shape)
    if any(item is None for item in items):
        raise SelectionError("a pointwise selection cannot add new axes")
    items = [
        ArrayItem(np.array(item.index, np.intp), item.dimension) if isinstance(item, IntegerItem) else item
        for item in items
    ]
    if not items:  # an array without dimensions has one point
        return numpy_selection((), shape)
    if not any(isinstance(item, ArrayItem) for item in items):
        raise SelectionError("a pointwise selection needs at least one array of indices, or a mask")
    return array_selection(items, points_first=True)
