"""What concerns a whole hierarchy: drawing it, and gathering its metadata in one place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from omnizarr.api.location import StoreLike
from omnizarr.api.opening import open, open_group
from omnizarr.formats import Node
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

    def nodes() -> Iterator[tuple[str, Node]]:
        for below, member in group.members(max_depth=None):
            if isinstance(member, UnreadableNode):
                raise member.error
            yield below, member.metadata

    site = group._site
    documents = gathered(site.dialect, site.path, nodes())
    change(site.store, site.dialect, site.path, lambda model: replace(model, consolidated=documents), GroupModel)
    return open_group(group.store, path=group.path, mode="r+", use_consolidated=True)
