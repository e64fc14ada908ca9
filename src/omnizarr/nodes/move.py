"""Moving a node, with all that lies below it, to another path of its hierarchy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from omnizarr.errors import ArgumentError, NodeNotFoundError
from omnizarr.formats import Dialect
from omnizarr.nodes.create.node import erase_node, prepare
from omnizarr.nodes.metadata.children import exists
from omnizarr.nodes.metadata.documents import describe_location
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Store

__all__ = ["move_node"]


def move_node(group: NodeContext, old: str, new: str) -> None:
    """Moves what lies at `old`, readable or not, to `new`; both are paths below the group."""
    store, dialect = group.store, group.dialect
    store.check_writable()
    if new == old or new.startswith(f"{old}/"):
        raise ArgumentError(f"`{old}` cannot be moved into itself", argument="dest")
    dialect.check_path(new, "group")
    if not exists(store, dialect, old):
        raise NodeNotFoundError(f"there is no array or group at {describe_location(store, old)}", path=old)
    context, groups = prepare(group.at(new), overwrite=False, known_group=group.path)
    copied: list[str] = []
    try:
        for before, after in _steps(store, dialect, old, new):
            if (value := store.get(before)) is not None:
                copied.append(after)
                store.set(after, value)
    except BaseException:
        for key in copied:  # else it would show again when something is created there
            with suppress(Exception):
                store.erase(key)
        raise
    erase_node(replace(group.at(old), consolidated=None))
    if context.consolidated is not None:
        context.consolidated.moved(old, new)
        context.consolidated.written(groups)


def _steps(store: Store, dialect: Dialect, old: str, new: str) -> Iterator[tuple[str, str]]:
    """The keys to copy, and what they become: chunks first and the documents of the node last, so that of a move that
    is broken off nothing is listed at the new place."""
    documents = dict(zip(dialect.keys(old), dialect.keys(new), strict=True))
    for before, after in reversed(list(zip(dialect.prefixes(old), dialect.prefixes(new), strict=True))):
        for key in list(store.list_prefix(before)):
            if key not in documents:
                yield key, after + key[len(before) :]
    yield from documents.items()
