"""Moving a node, with all nodes below it, to another path of its hierarchy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress

from omnizarr.errors import ArgumentError, MetadataError, NodeNotFoundError
from omnizarr.formats import Dialect, NodeModel
from omnizarr.model import ArrayModel
from omnizarr.nodes.array_state import ArrayState
from omnizarr.nodes.create.node import erase_locked_node, lock_tasks, make_room
from omnizarr.nodes.metadata.children import node_exists
from omnizarr.nodes.metadata.documents import describe_location
from omnizarr.nodes.metadata.fetch import fetch_model
from omnizarr.nodes.metadata.key_paths import node_paths
from omnizarr.nodes.node import NodeContext
from omnizarr.nodes.resize import clean_up
from omnizarr.store import Store

__all__ = ["move_node"]


def move_node(group: NodeContext, old: str, new: str) -> None:
    """Moves the node at `old`, readable or not, to `new`; both are paths below the group."""
    store, dialect = group.store, group.dialect
    store.check_writable()
    if new == old or new.startswith(f"{old}/"):
        raise ArgumentError(f"`{old}` cannot be moved into itself", argument="dest")
    dialect.check_path(new, "group")
    if not node_exists(store, dialect, old):
        raise NodeNotFoundError(f"there is no array or group at {describe_location(store, old)}", path=old)
    _finish_resizes(group, old)
    with ExitStack() as locks:
        lock_tasks(store, dialect, old, locks)  # an append that is under way ends first
        context = make_room(group.at(new), overwrite=False, known_group=group.path, locks=locks)
        copied: list[str] = []
        try:
            _copy(store, dialect, old, new, copied)
            erase_locked_node(group.at(old)._replace(consolidated=None))
        finally:
            if context.consolidated is not None:
                context.consolidated.record_move(old, new, node_paths(dialect, new, set(copied)))


def _finish_resizes(group: NodeContext, old: str) -> None:
    """Completes changes of shape that were interrupted, of arrays at `old` and below it. In a store with locks their
    marks are in the lock files, which do not move."""
    store, dialect = group.store, group.dialect
    if not store.locking:
        return
    keys = {key for prefix in dialect.prefixes(old) for key in store.list_prefix(prefix)}
    keys.update(key for key in dialect.identifying_keys(old) if store.exists(key))
    for path in node_paths(dialect, old, keys):
        for key in keys.intersection(dialect.identifying_keys(path)):
            with store.task_lock(key) as task_lock:
                if task_lock.broken:
                    model: NodeModel | None = None
                    with suppress(MetadataError):  # a node that cannot be read is moved as it is
                        model = fetch_model(store, path, dialect)
                    if isinstance(model, ArrayModel):
                        clean_up(ArrayState(group.at(path), model), task_lock)


def _copy(store: Store, dialect: Dialect, old: str, new: str, copied: list[str]) -> None:
    """Copies the node and all below it, and lists the new keys in `copied`. If that fails, erases the copies again."""
    try:
        for before, after in _renames(store, dialect, old, new):
            if (value := store.get(before)) is not None:
                copied.append(after)
                store.set(after, value)
    except BaseException:
        for key in copied:  # otherwise they would reappear in a node created there
            with suppress(Exception):
                store.erase(key)
        raise


def _renames(store: Store, dialect: Dialect, old: str, new: str) -> Iterator[tuple[str, str]]:
    """The keys to copy and their new names.

    Chunks come first and the documents of the node last, so that after a crash no node is listed at `new`.
    """
    documents = dict(zip(dialect.keys(old), dialect.keys(new), strict=True))
    for before, after in reversed(list(zip(dialect.prefixes(old), dialect.prefixes(new), strict=True))):
        for key in list(store.list_prefix(before)):
            if key not in documents:
                yield key, after + key[len(before) :]
    yield from documents.items()
