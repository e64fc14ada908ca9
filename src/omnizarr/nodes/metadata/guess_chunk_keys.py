"""Where chunks lie if the document does not say: what is stored tells, once for each handle.

Before zarr-python 2.8 a document of version 2 did not say how chunk keys are separated, and its stores for nested
folders used another separator than the others (V28). Of an array of a draft that has no dimensions, zarr-python 2 keeps
the chunk under another key than the text says (A13)."""

from __future__ import annotations

from collections.abc import Sequence

from omnizarr.chunk_keys import ChunkKeys
from omnizarr.engine import Layout
from omnizarr.indexing import Selection, pick_first

__all__ = ["guessed_keys"]


def guessed_keys(layout: Layout, selection: Selection | None) -> ChunkKeys:
    """The keys under which the chunks of an array really lie: those under which the first chunk of the selection is
    found, or else any. Those of the model, if nothing is stored."""
    said = layout.model.chunk_keys
    other = said.alternative()
    if other is None:
        return said
    rank = len(layout.axes)
    if selection is not None:
        chunk = _first(layout, selection)
        for keys in (said, other):
            if layout.store.exists(layout.prefix + keys.key(chunk)):
                return keys
    if selection is not None and not rank:  # there is no other chunk
        return said
    listing = layout.store.list_dir(layout.prefix)
    return next((keys for keys in (said, other) if _shows(listing, keys, len(layout.prefix), rank)), said)


def _first(layout: Layout, selection: Selection) -> tuple[int, ...]:
    """The chunk that holds the first element of a selection that is not empty."""
    starts = map(pick_first, selection.picks)
    return tuple(axis.locate(start) for axis, start in zip(layout.axes, starts, strict=True))


def _shows(listing: tuple[Sequence[str], Sequence[str]], keys: ChunkKeys, start: int, rank: int) -> bool:
    """Whether a listing holds chunks under such keys, or folders of them."""
    values, folders = listing
    return any(keys.coordinates(key[start:], rank) is not None for key in values) or any(
        keys.leading(folder[start:], rank) is not None for folder in folders
    )
