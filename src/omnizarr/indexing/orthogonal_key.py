"""Orthogonal keys, `z.oindex[...]`: every dimension is selected independently of the others."""

from __future__ import annotations

from typing import Any

from omnizarr.errors import SelectionError
from omnizarr.indexing.key_items import ArrayItem, EllipsisItem, basic_pick, flips_or_none, parse_items
from omnizarr.indexing.mask_key import mask_selection
from omnizarr.indexing.selection import Pick, Selection, pick_length

__all__ = ["orthogonal_selection"]


def orthogonal_selection(key: Any, shape: tuple[int, ...]) -> Selection:
    """The selection of integers, slices, and one-dimensional arrays of integers or booleans, one per dimension."""
    key = key if isinstance(key, tuple) else (key,)
    mask = mask_selection(key, shape)
    if mask is not None:
        return mask
    items = parse_items(key, shape, one_dimensional_masks=True)
    if any(item is None for item in items):
        raise SelectionError("an orthogonal selection cannot add new axes")
    picks: list[Pick] = []
    visible: list[int] = []
    folded: list[int] = []
    flips: list[slice] = []
    for item in items:
        if isinstance(item, EllipsisItem):
            continue
        flip = slice(None)
        if isinstance(item, ArrayItem):
            if item.error is not None:
                raise item.error
            if item.dimension is None or item.indices.ndim > 1:
                raise SelectionError("an orthogonal selection takes arrays of one dimension, one for each dimension")
            pick: Pick = item.indices.reshape(-1)
            keeps_axis = True
        else:
            pick, keeps_axis, flip = basic_pick(item)
        picks.append(pick)
        folded.append(pick_length(pick))
        flips.append(flip)
        if keeps_axis:
            visible.append(folded[-1])
    return Selection(tuple(picks), (), tuple(visible), tuple(folded), flips_or_none(flips))
