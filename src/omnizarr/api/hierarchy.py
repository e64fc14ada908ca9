"""Functions on whole hierarchies: `tree` and `consolidate_metadata`."""

from __future__ import annotations

from typing import Any

from omnizarr._json import Json
from omnizarr.api.location import StoreLike
from omnizarr.api.open_nodes import open, open_group
from omnizarr.display.tree import Tree
from omnizarr.errors import ArgumentError, OmnizarrError, StoreError, warn
from omnizarr.model import ZarrFormat
from omnizarr.nodes import Array, Group, UnreadableNode
from omnizarr.nodes.metadata.consolidated import collect_documents, write_consolidated
from omnizarr.nodes.metadata.documents import document_values, parse_documents

__all__ = ["consolidate_metadata", "tree"]


def tree(store: StoreLike | Group | Array, *, path: str | None = None, level: int | None = None) -> Tree:
    """The hierarchy below a group as a printable tree; `level` is the number of levels, None for all."""
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
    """Stores copies of the documents of all nodes below a group in one document, so that one request opens them all.

    v1 and the draft of 2022 have no consolidated metadata. Handles that are opened through the group from now on, such
    as the one that is returned, keep the copies up to date. Handles that were opened before do not, and neither do all
    other programs: consolidate again after they change a node.
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
            f"{context.dialect.format_name} has no consolidated metadata"
            + (" below its root" if context.dialect.can_consolidate("") else ""),
            argument="zarr_format",
        )
    from omnizarr.store.current import CurrentStore  # lazy import: only for changes of stored copies

    current = Group(context._replace(store=CurrentStore(context.store)), group._model)
    write_consolidated(context.store, context.dialect, context.path, lambda: _collect_all(current))
    return open_group(group.store, path=group.path, mode="r+", use_consolidated=True)


def _collect_all(group: Group) -> dict[str, Json]:
    """The current documents of all nodes below a group, by key."""
    dialect, path = group._context.dialect, group.path
    documents: dict[str, Json] = collect_documents(dialect, dialect.consolidated_groups(path))
    if dialect.consolidated_key(path) is not None:  # a separate document also holds the group itself
        documents |= collect_documents(dialect, {path: group.refresh().metadata})
    for _, member in group.members(max_depth=None):
        if isinstance(member, UnreadableNode):
            documents |= _raw_documents(group, member)
        else:
            documents |= collect_documents(dialect, {member.path: member.metadata})
    return documents


def _raw_documents(group: Group, member: UnreadableNode) -> dict[str, Json]:
    """The documents of an unreadable member, which another reader may understand; none if they are not valid JSON."""
    dialect = group._context.dialect
    if isinstance(member.error, StoreError):
        raise member.error  # a failed request does not mean that the document is damaged
    try:
        values = document_values(group.store, dialect.keys(member.path))
        return parse_documents(group.store, values, dialect.encoding)
    except OmnizarrError:
        warn(f"`{member.path}` is left out of the consolidated metadata, because it cannot be read: {member.reason}")
        return {}
