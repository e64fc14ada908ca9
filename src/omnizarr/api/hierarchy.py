"""What concerns a whole hierarchy: drawing it, and gathering its metadata in one place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from omnizarr import _json
from omnizarr._json import Json
from omnizarr.api.location import StoreLike
from omnizarr.api.opening import open, open_group
from omnizarr.config import config
from omnizarr.errors import OmnizarrError, warn
from omnizarr.model import GroupModel, ZarrFormat
from omnizarr.nodes import Array, Group, Tree, UnreadableNode
from omnizarr.nodes.consolidated import gathered
from omnizarr.nodes.documents import change

__all__ = ["consolidate_metadata", "tree"]


def tree(store: StoreLike | Group | Array, *, path: str | None = None, level: int | None = None) -> Tree:
    """Everything below a group, drawn as a tree: print it."""
    node = store if isinstance(store, (Group, Array)) else open(store, path=path, mode="r")
    if isinstance(node, Array):
        return Tree(node.basename or "/", node, ())
    return node.tree(level)


def consolidate_metadata(
    store: StoreLike,
    *,
    path: str | None = None,
    zarr_format: ZarrFormat | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Group:
    """Gathers the documents of all nodes below a group in the group's own, so that one request opens them all.

    Handles that came through the group keep it up to date when they change a node; other writers may not know of it.
    """
    group = open_group(
        store,
        path=path,
        mode="r+",
        zarr_format=zarr_format,
        use_consolidated=False,
        storage_options=storage_options,
    )

    site = group._site
    documents: dict[str, Json] = {}
    for below, member in group.members(max_depth=None):
        if isinstance(member, UnreadableNode):
            document = _as_it_is(group, member)
        else:
            document = gathered(site.dialect, member.path, member.metadata)
        if document is not None:
            documents[below] = document
    change(site.store, site.dialect, site.path, lambda model: replace(model, consolidated=documents), GroupModel)
    return open_group(group.store, path=group.path, mode="r+", use_consolidated=True)


def _as_it_is(group: Group, member: UnreadableNode) -> Json | None:
    """The document of a member that cannot be read here, which others may understand; None if it is not even JSON."""
    try:
        for key in group._site.dialect.keys(member.path):
            value = group.store.get(key)
            if value is not None:
                return _json.parse(value, f"`{key}`", limit=config.current.max_document_bytes)
    except OmnizarrError:
        pass
    warn(f"`{member.path}` is left out of the consolidated metadata, for it cannot be read: {member.reason}")
    return None
