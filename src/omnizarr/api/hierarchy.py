"""What concerns a whole hierarchy: drawing it, and gathering its metadata in one place."""

from __future__ import annotations

from typing import Any

from omnizarr._json import Json
from omnizarr.api.location import StoreLike
from omnizarr.api.open_nodes import open, open_group
from omnizarr.errors import ArgumentError, OmnizarrError, StoreError, warn
from omnizarr.formats import format_name
from omnizarr.model import ZarrFormat
from omnizarr.nodes import Array, Group, Tree, UnreadableNode
from omnizarr.nodes.metadata.consolidated import collect_documents, write_consolidated
from omnizarr.nodes.metadata.documents import document_values, parse_documents

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
    """Gathers the documents of all nodes below a group in one, so that one request opens them all; v1 and the draft of
    2022 have no place for it.

    Handles that come through the group from now on, such as the one that this gives back, keep it up to date when they
    change a node. Those that were opened before do not know of it, nor may other programs.
    """
    group = open_group(
        store,
        path=path,
        mode="r+",
        zarr_format=zarr_format,
        use_consolidated=False,
        storage_options=storage_options,
    )

    context = group._context
    if not context.dialect.can_consolidate(context.path):
        raise ArgumentError(
            f"{format_name(group.zarr_format)} has no consolidated metadata"
            + (" below its root" if context.dialect.can_consolidate("") else ""),
            argument="zarr_format",
        )
    write_consolidated(context.store, context.dialect, context.path, lambda: _all_below(group))
    return open_group(group.store, path=group.path, mode="r+", use_consolidated=True)


def _all_below(group: Group) -> dict[str, Json]:
    """The documents of all nodes below a group, as they are now."""
    dialect, path = group._context.dialect, group.path
    documents: dict[str, Json] = collect_documents(dialect, dialect.consolidated_groups(path))
    if dialect.consolidated_key(path) is not None:  # then the group itself is among them
        documents |= collect_documents(dialect, {path: group.refresh().metadata})
    for _, member in group.members(max_depth=None):
        if isinstance(member, UnreadableNode):
            documents |= _as_it_is(group, member)
        else:
            documents |= collect_documents(dialect, {member.path: member.metadata})
    return documents


def _as_it_is(group: Group, member: UnreadableNode) -> dict[str, Json]:
    """The documents of a member that cannot be read here, which others may understand; none if they are none."""
    dialect = group._context.dialect
    if isinstance(member.error, StoreError):
        raise member.error  # that it cannot be had now does not mean that it is damaged
    try:
        values = document_values(group.store, dialect.keys(member.path))
        return parse_documents(group.store, values, dialect.encoding)
    except OmnizarrError:
        warn(f"`{member.path}` is left out of the consolidated metadata, for it cannot be read: {member.reason}")
        return {}
