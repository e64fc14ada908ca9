"""Moving a node, with all that lies below it, to another path of its hierarchy."""

from __future__ import annotations

from dataclasses import replace

from omnizarr.errors import ArgumentError, NodeNotFoundError
from omnizarr.formats import candidates
from omnizarr.nodes.creating import erase_node, prepare
from omnizarr.nodes.documents import describe_place
from omnizarr.nodes.site import Site

__all__ = ["move_node"]


def move_node(group: Site, old: str, new: str) -> None:
    """Moves what lies at `old`, readable or not, to `new`; both are paths below the group."""
    store, dialect = group.store, group.dialect
    store.check_writable()
    if new == old or new.startswith(f"{old}/"):
        raise ArgumentError(f"`{old}` cannot be moved into itself", argument="dest")
    dialect.check_path(new)
    if not any(store.exists(key) for key in candidates(old)):
        raise NodeNotFoundError(f"there is no array or group at {describe_place(store, old)}", path=old)
    site, groups = prepare(group.at(new), overwrite=False, known_group=group.path)
    documents = dialect.keys(old)
    for before, after in zip(dialect.prefixes(old), dialect.prefixes(new), strict=True):
        others = [key for key in store.list_prefix(before) if key not in documents]
        # The documents come last, so that of a move that is broken off nothing is listed at the new place.
        for key in [*others, *documents]:
            value = store.get(key)
            if value is not None:
                store.set(after + key[len(before) :], value)
    erase_node(replace(group.at(old), consolidated=None))
    if site.consolidated is not None:
        site.consolidated.moved(old, new)
        site.consolidated.written(groups)
