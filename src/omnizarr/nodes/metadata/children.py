"""The members of a group by name and kind, and whether a node exists, with as few requests as possible."""

from __future__ import annotations

from collections.abc import Iterator

from omnizarr.errors import OmnizarrError
from omnizarr.formats import Child, Dialect
from omnizarr.model import join_path
from omnizarr.nodes.metadata.documents import document_values, parse_documents
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Store

__all__ = ["NameIterator", "list_children", "list_members", "node_exists"]


def node_exists(store: Store, dialect: Dialect, path: str) -> bool:
    """Whether a node lies at `path`, readable or not."""
    if any(store.exists(key) for key in dialect.identifying_keys(path)):
        return True
    if not dialect.implicit_groups:
        return False
    return bool(dialect.children(path, store.list_dir(dialect.listing_prefix(path))))


def list_children(context: NodeContext) -> list[Child]:
    """The children that the listing of a group shows, sorted by name. Some may turn out not to be nodes."""
    consolidated = context.consolidated
    if consolidated is not None and consolidated.trusted:
        return sorted(consolidated.children(context.path))
    dialect = context.dialect
    return sorted(dialect.children(context.path, context.store.list_dir(dialect.listing_prefix(context.path))))


def list_members(context: NodeContext) -> list[Child]:
    """The members of a group with their kinds, sorted by name; the kind is None if a member cannot be read.

    Costs one listing if that shows the kinds, else also one request for each document that does.
    """
    children = list_children(context)
    unknown = [child for child in children if child.kind is None]
    if not unknown:
        return children
    consolidated, store, dialect = context.consolidated, context.store, context.dialect
    paths = {child.name: join_path(context.path, child.name) for child in unknown}
    keys = [key for path in paths.values() for key in dialect.identifying_keys(path)]
    trusted = consolidated is not None and consolidated.trusted
    values = None if trusted else document_values(store, keys, each=True)
    members: list[Child] = []
    for child in children:
        if child.kind is not None:
            members.append(child)
            continue
        own_keys = dialect.identifying_keys(paths[child.name])
        try:
            if values is None:
                assert consolidated is not None
                documents = {key: consolidated.documents[key] for key in own_keys if key in consolidated.documents}
            else:
                own_values = {key: values[key] for key in own_keys}
                if all(value is None for value in own_values.values()):
                    continue
                documents = parse_documents(store, own_values, dialect.encoding)
            members.append(Child(child.name, dialect.node_type(paths[child.name], documents)))
        except OmnizarrError:
            members.append(Child(child.name))
    return members


class NameIterator(Iterator[str]):
    """An iterator over names that are all known, and that tells whether iteration has begun."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.begun = False
        self._rest = iter(names)

    def __next__(self) -> str:
        self.begun = True
        return next(self._rest)
