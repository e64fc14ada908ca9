"""The chunk keys of arrays whose documents do not record them, inferred from the stored keys once per handle.

Before zarr-python 2.8 a v2 document did not record the separator of chunk keys, and the stores for nested directories
used another separator than the others (V28). For a draft array without dimensions, zarr-python 2 stores the chunk under
another key than the specification says (A13).
"""

from __future__ import annotations

from collections.abc import Sequence

from omnizarr.chunk_keys import ChunkKeys
from omnizarr.engine import Layout
from omnizarr.indexing import Selection, pick_first

__all__ = ["guess_chunk_keys"]


def guess_chunk_keys(layout: Layout, selection: Selection | None) -> ChunkKeys:
    """The key encoding under which the first chunk of the selection is stored, or else any chunk.

    If no chunk is stored, that of the model. In a store that cannot list, only the first chunk counts.
    """
    default = layout.model.chunk_keys
    alternative = default.alternative()
    if alternative is None:
        return default
    rank = len(layout.axes)
    if selection is not None or not layout.store.listable:
        chunk = (0,) * rank if selection is None else _first_chunk(layout, selection)
        for keys in (default, alternative):
            if layout.store.exists(layout.prefix + keys.key(chunk)):
                return keys
    if not layout.store.listable or (selection is not None and not rank):  # without dimensions there is no other chunk
        return default
    listing = layout.store.list_dir(layout.prefix)
    return next(
        (keys for keys in (default, alternative) if _has_chunks(listing, keys, len(layout.prefix), rank)), default
    )


def _first_chunk(layout: Layout, selection: Selection) -> tuple[int, ...]:
    """The chunk that holds the first element of a selection that is not empty."""
    starts = map(pick_first, selection.picks)
    return tuple(axis.locate(start) for axis, start in zip(layout.axes, starts, strict=True))


def _has_chunks(listing: tuple[Sequence[str], Sequence[str]], keys: ChunkKeys, start: int, rank: int) -> bool:
    """Whether a listing shows chunks, or prefixes of chunks, in this key encoding."""
    values, prefixes = listing
    return any(keys.coordinates(key[start:], rank) is not None for key in values) or any(
        keys.leading(prefix[start:], rank) is not None for prefix in prefixes
    )
