"""The keys of an old hierarchy, which are erased when a new one has taken its place in the same store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias, get_args

from omnizarr.chunk_keys import ChunkKeys
from omnizarr.errors import OmnizarrError
from omnizarr.formats import Dialect, dialect_for
from omnizarr.model import GroupModel, ZarrFormat
from omnizarr.nodes import Array, Group, UnreadableNode
from omnizarr.nodes.node import NodeContext
from omnizarr.nodes.open import open_node
from omnizarr.store import Store
from omnizarr.tools.plans.journal import PlanJournal
from omnizarr.tools.plans.objects import object_keys

__all__ = ["ChunkPlace", "erase_stored_keys", "is_new_key", "leftover_keys", "old_keys", "store_keys"]

_GENERATIONS: tuple[ZarrFormat, ...] = get_args(ZarrFormat)
ChunkPlace: TypeAlias = tuple[ChunkKeys, int]
"""The chunk keys and the number of dimensions of an array."""
_KEYS_PER_VALUE = 1000


def old_keys(node: Array | Group, keeps: Callable[[str], bool], shared: frozenset[str] = frozenset()) -> Iterator[str]:
    """The keys of a hierarchy of which `keeps` is not true, those of its root last. `shared` are the paths of arrays
    whose chunks are those of new arrays, so that they need not be listed."""
    dialect, store = node._context.dialect, node.store
    root = [
        *(key for key in dialect.keys("") if key not in dialect.identifying_keys("")),
        *dialect.identifying_keys(""),
        *dialect.hierarchy_documents(),
    ]
    seen = set(root)
    consolidated = dialect.consolidated_key("")
    if consolidated is not None:
        for path in dialect.consolidated_groups(""):
            root = [*dialect.keys(path), *root]
        root = [consolidated, *root]
    for member in _nodes(node):
        if isinstance(member, Array) and member.path not in shared:
            prefix = dialect.chunk_prefix(member.path)
            yield from (key for name in object_keys(member) if not keeps(key := prefix + name))
        if member.path:
            keys = [*dialect.keys(member.path), dialect.consolidated_key(member.path)]
            yield from (key for key in keys if key is not None and key not in seen and not keeps(key))
    yield from (key for key in dict.fromkeys(root) if not keeps(key) and store.exists(key))


def _nodes(node: Array | Group) -> Iterator[Array | Group | UnreadableNode]:
    if isinstance(node, Group):
        for _, member in node._walk(None):
            yield member
    yield node


def leftover_keys(node: Array | Group, keeps: Callable[[str], bool]) -> list[str]:
    """The keys of hierarchies of other generations in the store of a migrated node."""
    keys: list[str] = []
    for zarr_format in _GENERATIONS:
        if zarr_format != node.zarr_format:
            old = _beside(node.store, zarr_format)
            keys += [] if old is None else list(old_keys(old, keeps))
    return list(dict.fromkeys(keys))


def _beside(store: Store, zarr_format: Any) -> Array | Group | None:
    """The node of this generation at the root of a store, even if documents of another generation hide it."""
    dialect = dialect_for(zarr_format)
    try:
        if not dialect.hierarchy_documents():
            return open_node(store, "", zarr_format=zarr_format, use_consolidated=False, exact=True)
    except OmnizarrError:
        return None
    documents = {key: value for key in dialect.keys("") if (value := store.get(key)) is not None}
    below = store.list_dir(dialect.listing_prefix(""))
    if not documents and not any(key.endswith((".array.json", ".group.json")) for key in below[0]):
        return None
    # The entry point of a draft is gone; its documents can be found without it.
    try:
        return _open_without_entry_point(store, dialect)
    except OmnizarrError:
        return None


def _open_without_entry_point(store: Store, dialect: Dialect) -> Array | Group:
    from omnizarr.nodes.group import handle  # lazy import: leftovers only
    from omnizarr.nodes.metadata.fetch import fetch_model

    model = fetch_model(store, "", dialect) or GroupModel(zarr_format=dialect.zarr_format, implicit=True)
    return handle(NodeContext(store, "", dialect), model)


def is_new_key(documents: frozenset[str], arrays: dict[str, ChunkPlace], key: str) -> bool:
    """Whether a key is that of a new document, or may be that of a chunk of a new array. `arrays` has their places by
    the prefix of their chunks."""
    if key in documents:
        return True
    start = key
    while start:
        start = start.rpartition("/")[0]
        prefix = f"{start}/" if start else ""
        if prefix in arrays:
            keys, ndim = arrays[prefix]
            if keys.coordinates(key[len(prefix) :], ndim) is not None:
                return True
    return False


# -- keys in the journal


def store_keys(journal: PlanJournal, keys: Iterable[str]) -> None:
    """Stores the keys to erase in the journal, so that a resumed run erases them after the switch."""
    count, rest = 0, iter(keys)
    while part := list(islice(rest, _KEYS_PER_VALUE)):
        journal.put(f"old/{count}", json.dumps(part).encode())
        count += 1
    journal.put("old-count", str(count).encode())


def erase_stored_keys(store: Store, journal: PlanJournal, keys: Sequence[str] = ()) -> None:
    """Erases the keys that the journal holds, or `keys` if there is no journal."""
    if journal.store is None:
        store.erase_values(list(keys))
        return
    for number in range(int(journal.get("old-count") or b"0")):
        store.erase_values(json.loads(journal.get(f"old/{number}") or b"[]"))
