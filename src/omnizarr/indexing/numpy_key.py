"""NumPy keys, `z[...]`: the meaning that NumPy gives to the same key."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from omnizarr.errors import SelectionError
from omnizarr.indexing.key_items import (
    ArrayItem,
    EllipsisItem,
    IntegerItem,
    KeyItem,
    basic_pick,
    flips_or_none,
    parse_items,
)
from omnizarr.indexing.mask_key import mask_selection
from omnizarr.indexing.selection import Pick, Selection, pick_length

__all__ = ["array_selection", "basic_selection", "numpy_selection", "plain_selection"]


def numpy_selection(key: Any, shape: tuple[int, ...]) -> Selection:
    """The selection that `a[key]` makes from a NumPy array of that shape."""
    key = key if isinstance(key, tuple) else (key,)
    selection = plain_selection(key, shape) or mask_selection(key, shape)
    if selection is not None:
        return selection
    items = parse_items(key, shape)
    if any(isinstance(item, ArrayItem) for item in items):
        return array_selection(items)
    return basic_selection(items)


def plain_selection(key: Any, shape: tuple[int, ...]) -> Selection | None:
    """The selection of a key of integers in bounds and slices with a step of 1; None for any other key.

    A fast path: most keys are of this kind, and creating an item object for each would cost a good part of the time of
    a small read."""
    if type(key) is not tuple:
        key = (key,)
    if len(key) > len(shape):
        return None
    picks: list[Pick] = []
    visible: list[int] = []
    folded: list[int] = []
    for item, length in zip(key, shape, strict=False):
        if type(item) is slice:
            try:
                start, stop, step = item.indices(length)
            except (TypeError, ValueError):
                return None
            if step != 1:
                return None
            if stop < start:
                stop = start
            visible.append(stop - start)
        elif type(item) is int and -length <= item < length:
            start = item + length if item < 0 else item
            stop = start + 1
        else:
            return None
        picks.append(slice(start, stop, 1))
        folded.append(stop - start)
    rest = shape[len(key) :]
    picks.extend([slice(0, length, 1) for length in rest])
    return Selection(tuple(picks), (), (*visible, *rest), (*folded, *rest))


def basic_selection(items: list[KeyItem]) -> Selection:
    """The selection of integers, slices and new axes."""
    picks: list[Pick] = []
    visible: list[int] = []
    folded: list[int] = []
    flips: list[slice] = []
    for item in items:
        if item is None:
            visible.append(1)
        elif not isinstance(item, EllipsisItem):
            pick, keeps_axis, flip = basic_pick(item)
            picks.append(pick)
            folded.append(pick_length(pick))
            flips.append(flip)
            if keeps_axis:
                visible.append(folded[-1])
    return Selection(tuple(picks), (), tuple(visible), tuple(folded), flips_or_none(flips))


def array_selection(items: list[KeyItem], *, points_first: bool = False) -> Selection:
    """The selection of items that include arrays.

    Arrays and integers are broadcast together. In the result, the axes of the points are at the position of the first
    array; with `points_first`, or if a slice or a new axis separates the arrays, they come first."""
    together = [isinstance(item, (ArrayItem, IntegerItem)) for item in items]
    arrays = [
        item.indices if isinstance(item, ArrayItem) else np.array(item.index, np.intp)
        for item in items
        if isinstance(item, (ArrayItem, IntegerItem))
    ]
    try:
        points_shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise SelectionError(f"arrays of indices with the shapes {shapes} cannot be broadcast together") from None
    for item in items:
        if isinstance(item, ArrayItem) and item.error is not None and (item.indices.ndim == 0 or 0 not in points_shape):
            raise item.error
    runs = sum(1 for before, here in pairwise([False, *together]) if here and not before)
    scattered = points_first or runs > 1

    picks: list[Pick] = []
    points: list[int] = []
    visible: list[int] = []
    folded: list[int] = []
    flips: list[slice] = []
    visible_at = folded_at = None if not scattered else 0
    for item, fancy in zip(items, together, strict=True):
        if fancy:
            if visible_at is None:
                visible_at, folded_at = len(visible), len(folded)
            if item.dimension is not None:  # type: ignore[union-attr]
                indices = item.indices if isinstance(item, ArrayItem) else np.array(item.index, np.intp)  # type: ignore[union-attr]
                points.append(len(picks))
                picks.append(np.broadcast_to(indices, points_shape).reshape(-1))
        elif item is None:
            visible.append(1)
        elif not isinstance(item, EllipsisItem):
            pick, _, flip = basic_pick(item)
            picks.append(pick)
            visible.append(pick_length(pick))
            folded.append(visible[-1])
            flips.append(flip)
    assert visible_at is not None
    assert folded_at is not None
    visible[visible_at:visible_at] = points_shape
    if points:
        count = len(picks[points[0]])  # type: ignore[arg-type]
        folded.insert(folded_at, count)
        flips.insert(folded_at, slice(None))
    if not points or (len(points) == 1 and folded_at == points[0]):
        # A single array whose axis stays at its own dimension needs no point by point selection.
        return Selection(tuple(picks), (), tuple(visible), tuple(folded), flips_or_none(flips))
    return Selection(tuple(picks), tuple(points), tuple(visible), tuple(folded), flips_or_none(flips), folded_at)
