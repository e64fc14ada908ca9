"""Changing the stored documents of a node by compare-and-set, so that concurrent changes of other writers are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from omnizarr._json import Json, same
from omnizarr.errors import NodeNotFoundError, NodeTypeError
from omnizarr.formats import Dialect, NodeModel
from omnizarr.formats.document_encoding import Encoding
from omnizarr.nodes.metadata.documents import describe_location, dump_node, parse_documents, parse_node
from omnizarr.nodes.metadata.fetch import fetch_model
from omnizarr.store import Store
from omnizarr.store.capabilities import Versioned
from omnizarr.store.update import KeyAccess, update

__all__ = ["change_documents", "change_node"]

N = TypeVar("N", bound=NodeModel)
R = TypeVar("R")

_Edit: TypeAlias = Callable[[dict[str, Json]], tuple[R, Mapping[str, bytes | None]]]
"""From the stored documents to a result and the new bytes by key; None erases a document."""


def change_node(store: Store, dialect: Dialect, path: str, edit: Callable[[N], N], kind: type[N]) -> N:
    """Stores what `edit` makes of the node at `path` as it is stored now, and returns it.

    `edit` is called again if another writer changes the documents meanwhile.
    """

    def edit_documents(documents: dict[str, Json]) -> tuple[N, dict[str, bytes | None]]:
        node: NodeModel
        if any(key in documents for key in dialect.identifying_keys(path)):
            node = parse_node(dialect, store, path, documents, quiet=True)
        else:
            implicit = fetch_model(store, path, dialect) if dialect.implicit_groups else None
            if implicit is None:
                raise NodeNotFoundError(f"{describe_location(store, path)} does not exist any more", path=path)
            node = implicit
        if not isinstance(node, kind):
            raise NodeTypeError(f"{describe_location(store, path)} is another kind of node now", path=path)
        after = edit(node)
        old, new = dialect.dump(path, node), dialect.dump(path, after)
        # Documents that do not change keep the bytes of their writer.
        unchanged = {key for key in old if key in documents and key in new and same(old[key], new[key])}
        erased: dict[str, bytes | None] = {key: None for key in old if key not in new}
        return after, erased | {
            key: data for key, data in dump_node(dialect, path, after).items() if key not in unchanged
        }

    return change_documents(store, dialect.keys(path), dialect.encoding, edit_documents)


def change_documents(store: Store, keys: Sequence[str], encoding: Encoding, edit: _Edit[R]) -> R:
    """Stores what `edit` makes of the documents under `keys`, and returns its result.

    Documents that differ are written, those that become None are erased. If another writer changes one of them
    meanwhile, the documents are read and edited again.
    """
    store.check_writable()

    def attempt(access: KeyAccess) -> tuple[R] | None:
        return _store_edit(store, access, keys, encoding, edit, _read_all(store, access, keys))

    def optimistic(access: KeyAccess) -> tuple[R] | None:
        # First try the values that the store remembers, which saves a request: the store rejects outdated versions.
        known = [value for value in map(access.last_known, keys) if value is not None]
        if len(known) < len(keys):
            return None
        try:
            return _store_edit(store, access, keys, encoding, edit, known, outdated=True)
        except Exception:
            return None  # the remembered documents may be the cause: try the current ones

    return update(store, keys, attempt, optimistic=optimistic)[0]


def _read_all(store: Store, access: KeyAccess, keys: Sequence[str]) -> list[Versioned]:
    """The values and versions of `keys`; fetched together from a remote store."""

    def read(key: str) -> Versioned:
        value = access.read(key)
        assert value is not None, "there is no limit"
        return value

    window = store.window
    if window is None or len(keys) == 1:
        return [read(key) for key in keys]
    from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest  # lazy import: remote stores only

    values = dict(ConcurrentRequests(window, (PendingRequest(key, partial(read, key), 0) for key in keys)))
    return [values[key] for key in keys]


def _store_edit(
    store: Store,
    access: KeyAccess,
    keys: Sequence[str],
    encoding: Encoding,
    edit: _Edit[R],
    known: Sequence[Versioned],
    *,
    outdated: bool = False,
) -> tuple[R] | None:
    """Edits the `known` values and stores the changes; a 1-tuple of the edit's result, or None if a version changed.

    Values that may be `outdated` prove nothing by themselves: then only a conditional write counts as success.
    """
    values = {key: value for key, (value, _) in zip(keys, known, strict=True) if value is not None}
    versions = {key: version for key, (_, version) in zip(keys, known, strict=True)}
    result, after = edit(parse_documents(store, values, encoding))
    changed = {
        key: data
        for key, data in after.items()
        if data is not None and (key not in values or bytes(values[key]) != data)
    }
    erased = [key for key, data in after.items() if data is None and key in values]
    if outdated and (erased or not changed):
        return None
    if not all(access.write(key, data, versions.get(key)) for key, data in changed.items()):
        return None
    for key in erased:
        if not access.erases:
            access.replace(key, None)
        elif not access.erase(key, versions[key]):
            return None
    return (result,)
