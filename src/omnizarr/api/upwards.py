"""Finding the hierarchy of a draft from a place inside it: only its root has a document that says so."""

from __future__ import annotations

import os

from omnizarr.api.location import StoreLike
from omnizarr.errors import OmnizarrError
from omnizarr.formats import is_entry_point
from omnizarr.model import ZarrFormat
from omnizarr.nodes.documents import document_values, parse_documents
from omnizarr.nodes.surroundings import generations
from omnizarr.store import Store

__all__ = ["hierarchy_above", "new_place"]

_MOST_LEVELS = 16  # upwards; hierarchies are not that deep, and every level costs a look


def hierarchy_above(store: Store, path: str) -> tuple[Store, str] | None:
    """The store whose root is the nearest hierarchy of a draft above the root of `store`, and the path in it at which
    `path` lies; None if there is none, or if the store cannot look above its root."""
    for _ in range(_MOST_LEVELS):
        found = store.parent()
        if found is None:
            return None
        store, name = found
        path = f"{name}/{path}" if path else name
        try:
            document = parse_documents(store, document_values(store, ["zarr.json"])).get("zarr.json")
            if document is not None:
                return (store, path) if is_entry_point(document) else None
        except OmnizarrError:
            return None
    return None


def new_place(place: StoreLike, store: Store, path: str, zarr_format: ZarrFormat | None) -> tuple[Store, str]:
    """Where something new is created that a user asks for at `path` of the `store` that `place` means: in the hierarchy
    of a draft around it, where what is opened by that name would be found. Only what was given as text may lead above
    its own root: whoever made a store chose where it ends. Who names another generation begins something else."""
    if not isinstance(place, (str, os.PathLike)) or zarr_format in (1, 2, 3) or generations(store, path):
        return store, path
    return hierarchy_above(store, path) or (store, path)
