"""What lies below a group, and whether something lies at a path: by names and kinds, with as few requests as the
generation allows."""

from __future__ import annotations

from collections.abc import Iterator

from omnizarr.errors import OmnizarrError
from omnizarr.formats import Child, Dialect
from omnizarr.model import join_path
from omnizarr.nodes.metadata.documents import document_values, parse_documents
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Store

__all__ = ["Names", "children", "exists", "names"]


def exists(store: Store, dialect: Dialect, path: str) -> bool:
    """Whether a node is at `path`, readable or not."""
    if any(store.exists(key) for key in dialect.identifying_keys(path)):
        return True
    if not dialect.implicit_groups:
        return False
    return bool(dialect.children(path, store.list_dir(dialect.listing_prefix(path))))


def children(context: NodeContext) -> list[Child]:
    """What the listing of a group shows, in order; some of it may turn out to be no node."""
    known = context.consolidated
    if known is not None and known.trusted:
        return sorted(known.children(context.path))
    dialect = context.dialect
    return sorted(dialect.children(context.path, context.store.list_dir(dialect.listing_prefix(context.path))))


def names(context: NodeContext) -> list[Child]:
    """The members by name, each with its kind; None is the kind of what cannot be read. Where the listing tells, that
    is all it costs; else one request for each document that tells."""
    found = children(context)
    unclear = [child for child in found if child.kind is None]
    if not unclear:
        return found
    known, store, dialect = context.consolidated, context.store, context.dialect
    paths = {child.name: join_path(context.path, child.name) for child in unclear}
    keys = [key for path in paths.values() for key in dialect.identifying_keys(path)]
    values = None if known is not None and known.trusted else document_values(store, keys, each=True)
    clear: list[Child] = []
    for child in found:
        if child.kind is not None:
            clear.append(child)
            continue
        telling = dialect.identifying_keys(paths[child.name])
        try:
            if values is None:
                assert known is not None
                documents = {key: known.documents[key] for key in telling if key in known.documents}
            else:
                own = {key: values[key] for key in telling}
                if all(value is None for value in own.values()):
                    continue
                documents = parse_documents(store, own, dialect.encoding)
            clear.append(Child(child.name, dialect.node_type(paths[child.name], documents)))
        except OmnizarrError:
            clear.append(Child(child.name))
    return clear


class Names(Iterator[str]):
    """Names that are known, and whether anybody has taken one."""

    def __init__(self, names: list[str]) -> None:
        self.all = names
        self.begun = False
        self._rest = iter(names)

    def __next__(self) -> str:
        self.begun = True
        return next(self._rest)
