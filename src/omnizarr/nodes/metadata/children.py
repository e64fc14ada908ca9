"""The members of a group by name and kind, and whether a node exists, with as few requests as possible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from omnizarr.errors import OmnizarrError, StoreError
from omnizarr.formats import Child, Dialect, Kind
from omnizarr.model import join_path
from omnizarr.nodes.metadata.documents import describe_location, document_values, parse_documents
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Store

if TYPE_CHECKING:
    from omnizarr.nodes.metadata.whole_listing import WholeListing

__all__ = ["NameIterator", "list_all_below", "list_children", "list_members", "node_exists"]


_COMPARABLE = frozenset((bytes, type(None)))  # other buffers have no hash


def node_exists(store: Store, dialect: Dialect, path: str) -> bool:
    """Whether a node lies at `path`, readable or not."""
    if any(store.exists(key) for key in dialect.identifying_keys(path)):
        return True
    if not dialect.implicit_groups or not store.listable:
        return False
    return bool(dialect.children(path, store.list_dir(dialect.listing_prefix(path))))


def list_children(context: NodeContext, whole: WholeListing | None = None) -> list[Child]:
    """The children that the listing of a group shows, sorted by name. Some may turn out not to be nodes.

    `whole` is the listing of the whole hierarchy, if it is known.
    """
    consolidated = context.consolidated
    if consolidated is not None and consolidated.trusted:
        return sorted(consolidated.children(context.path))
    dialect, store = context.dialect, context.store
    prefix = dialect.listing_prefix(context.path)
    if whole is not None:
        return sorted(dialect.children(context.path, whole.listings.get(prefix, ([], []))))
    if not store.listable:
        raise StoreError(
            f"cannot list the members of {describe_location(store, context.path)}: the store cannot list its keys",
            store=repr(store),
            hint="open members by their names, or consolidate the metadata where the store can list",
        )
    return sorted(dialect.children(context.path, store.list_dir(prefix)))


def list_all_below(context: NodeContext) -> WholeListing | None:
    """A group and all groups below it, from one request; None if a generation keeps documents and chunks below the same
    prefix, so that one listing would contain every chunk."""
    consolidated, dialect, store = context.consolidated, context.dialect, context.store
    if not dialect.separates_documents or not store.listable or (consolidated is not None and consolidated.trusted):
        return None
    from omnizarr.nodes.metadata.whole_listing import WholeListing  # lazy import: few programs list whole hierarchies

    return WholeListing(store, dialect, context.path)


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
    kinds: dict[tuple[object, ...], Kind | None] = {}  # by stored values, because many members have equal documents
    for child in children:
        if child.kind is not None:
            members.append(child)
            continue
        path = paths[child.name]
        own_keys = dialect.identifying_keys(path)
        try:
            if values is None:
                assert consolidated is not None
                documents = {key: consolidated.documents[key] for key in own_keys if key in consolidated.documents}
                members.append(Child(child.name, dialect.node_type(path, documents)))
                continue
            stored = tuple([values[key] for key in own_keys])
            if not any(value is not None for value in stored):
                if dialect.implicit_groups:
                    members.append(Child(child.name, "group"))
                continue
            comparable = _COMPARABLE.issuperset(map(type, stored))
            if not comparable or stored not in kinds:
                documents = parse_documents(store, dict(zip(own_keys, stored, strict=True)), dialect.encoding)
                kind = dialect.node_type(path, documents)
                if comparable:
                    kinds[stored] = kind
            else:
                kind = kinds[stored]
            members.append(Child(child.name, kind))
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
