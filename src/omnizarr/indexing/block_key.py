"""Block keys, `z.blocks[...]`: whole chunks, selected by their coordinates in the chunk grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnizarr.errors import SelectionError
from omnizarr.grids import Axis
from omnizarr.indexing.key_items import ArrayItem, IntegerItem, parse_items
from omnizarr.indexing.selection import Pick, Selection, pick_length

__all__ = ["block_selection"]

_EXPECTED = "blocks are selected by integers and by slices with a step of 1"


def block_selection(key: Any, axes: Sequence[Axis]) -> Selection:
    """The selection of whole chunks by integers and slices without a step."""
    counts = tuple(axis.count for axis in axes)
    picks: list[Pick] = []
    for item, axis in zip(parse_items(key if isinstance(key, tuple) else (key,), counts), axes, strict=False):
        if isinstance(item, ArrayItem) and item.error is not None:
            raise item.error
        if isinstance(item, IntegerItem):
            first, last = item.index, item.index + 1
        elif isinstance(item, slice) and item.step == 1:
            first, last = item.start, max(item.start, item.stop)
        else:
            raise SelectionError(_EXPECTED)
        if first == last:
            picks.append(slice(0, 0, 1))
        else:
            start, size = axis.bounds(last - 1)
            picks.append(slice(axis.bounds(first)[0], min(start + size, axis.length), 1))
    if len(picks) != len(axes):
        raise SelectionError(_EXPECTED)
    shape = tuple(pick_length(pick) for pick in picks)
    return Selection(tuple(picks), (), shape, shape)
