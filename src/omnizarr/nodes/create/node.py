"""Creating and erasing nodes: their documents, and those of missing groups above them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from omnizarr._json import same
from omnizarr.errors import NodeTypeError, OmnizarrError, StoreError
from omnizarr.formats import Dialect, Kind, NodeModel
from omnizarr.formats.document_encoding import JSON
from omnizarr.model import ArrayModel, GroupModel
from omnizarr.nodes.create.option_names import check_flag
from omnizarr.nodes.metadata.consolidated import Consolidated
from omnizarr.nodes.metadata.documents import (
    describe_location,
    document_values,
    dump_node,
    encode_document,
    parse_documents,
    parse_node,
)
from omnizarr.nodes.metadata.enclosing_dialect import adapt_to_hierarchy, already_exists
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Buffer, Store
from omnizarr.store.update import set_if_absent

__all__ = ["create_node", "erase_locked_node", "erase_node", "lock_tasks", "make_room"]


_REPLACE = "`overwrite=True` replaces it, with all nodes below it"


def create_node(
    context: NodeContext,
    model: NodeModel,
    *,
    overwrite: bool = False,
    known_group: str | None = None,
    hint: str | None = _REPLACE,
) -> NodeContext:
    """Stores a new node at the location of `context`, and returns its context.

    `known_group` is the path of a group above it that is known to exist. `hint` tells the user how to replace a node
    that exists.
    """
    check_flag(overwrite, "overwrite")
    store, path = context.store, context.path
    store.check_writable()
    context.dialect.check_path(path, _kind_of(model))
    dialect = context.dialect
    documents = dump_node(dialect, path, model)  # raises before anything changes if the node cannot be written
    with ExitStack() as locks:
        context = make_room(context, overwrite=overwrite, known_group=known_group, hint=hint, locks=locks)
        if context.dialect is not dialect:
            documents = dump_node(context.dialect, path, model)
        identifying = [key for key in context.dialect.identifying_keys(path) if key in documents]
        # The documents that identify a node come last, so that readers do not find a node that is half created.
        for key in sorted(documents, key=identifying.__contains__):
            if overwrite or key not in identifying:
                store.set(key, documents[key])
            elif not set_if_absent(store, key, documents[key]):
                raise already_exists(context, "a node that another writer just created", hint)
    return context


def make_room(
    context: NodeContext, *, overwrite: bool, known_group: str | None, locks: ExitStack, hint: str | None = None
) -> NodeContext:
    """Prepares the location of `context` for a new node: erases an old one if `overwrite`, and creates missing groups.

    If `overwrite`, `locks` holds the task lock of the old node afterwards: an append that is under way ends before the
    node is replaced, and the next one begins after the documents of the new node are stored. On exit, `locks` also
    records the new nodes in the consolidated metadata, even if the caller fails.

    Returns the context, in the dialect of the enclosing hierarchy and with consolidated metadata that was found above
    it.
    """
    store, path = context.store, context.path
    context, replaced = (
        (context, None) if known_group is not None else adapt_to_hierarchy(context, overwrite=overwrite, hint=hint)
    )
    dialect = context.dialect
    if overwrite:
        lock_tasks(store, dialect if replaced is None else replaced, path, locks)
    above = [group for group in dialect.ancestors(path) if known_group is None or len(group) > len(known_group)]
    missing = []
    existing = _existing_nodes(store, dialect, [*above, path])
    for group_path in above:
        kind, consolidated, _ = existing[group_path]
        if kind == "array":
            raise NodeTypeError(
                f"`{path}` cannot be created: {describe_location(store, group_path)} is an array, which has no members",
                path=path,
            )
        if kind is None:
            missing.append(group_path)
        if consolidated is not None and context.consolidated is None:
            context = context._replace(consolidated=consolidated)
    kind, _, leftovers = existing[path]
    if not overwrite:
        _check_free(context, kind, leftovers, hint)
    if replaced is not None:
        _erase_hierarchy(context, replaced)
    elif overwrite and (kind is not None or path):
        # Chunks of a half-erased node may lie here. At the root of a store without a node, other files may be the
        # user's own: leave them alone.
        erase_locked_node(context)
    elif leftovers:
        store.erase_values(leftovers)
    for key, document in dialect.hierarchy_documents().items() if known_group is None else ():
        if not set_if_absent(store, key, encode_document(key, document, JSON)):
            stored = parse_documents(store, document_values(store, [key])).get(key)
            if not same(stored, document):  # another writer created another hierarchy meanwhile
                raise already_exists(context._replace(path=""), "a hierarchy of another kind", hint)
    group = dialect.new_group()
    created = dialect.groups_to_create(missing)
    if context.consolidated is not None:
        locks.callback(context.consolidated.record_nodes, [*created, path])
    for group_path in created:
        for key, value in dump_node(dialect, group_path, group).items():
            set_if_absent(store, key, value)  # keep a group that another writer just created
    return context


class _Existing(NamedTuple):
    """What exists at a path."""

    kind: str | None
    """`array`, `group`, `""` for a node of unknown kind, None for no node."""
    consolidated: Consolidated | None = None
    leftovers: tuple[str, ...] = ()
    """The keys of documents of a node that was half created or half erased."""


def _existing_nodes(store: Store, dialect: Dialect, paths: list[str]) -> dict[str, _Existing]:
    """The nodes of this generation at each path, fetched together. The last path is that of the new node."""
    last = paths[-1]
    consolidated_keys = {path: dialect.consolidated_key(path) for path in paths[:-1]}
    keys = [key for path in paths for key in (dialect.keys(path) if path == last else dialect.identifying_keys(path))]
    values = document_values(store, keys, [(key, (0, 0)) for key in consolidated_keys.values() if key is not None])
    existing = {}
    for path in paths:
        own_values = {key: values[key] for key in dialect.identifying_keys(path) if values[key] is not None}
        if not own_values:
            leftovers = tuple(key for key in dialect.keys(path) if values.get(key) is not None)
            consolidated = None
            if dialect.implicit_groups and path != last:
                consolidated = _separate(store, dialect, path, values.get(consolidated_keys[path] or ""))
            existing[path] = _Existing(None, consolidated, leftovers)
            continue
        try:
            documents = parse_documents(store, own_values, dialect.encoding)
        except OmnizarrError:
            if path != last:
                raise
            existing[path] = _Existing("")
            continue
        kind = dialect.node_type(path, documents) or ""
        consolidated = None
        if kind == "group" and path != last:
            consolidated = _consolidated(store, dialect, path, documents, values.get(consolidated_keys[path] or ""))
        elif kind == "" and path != last:
            parse_node(dialect, store, path, documents)  # raises MetadataError
        existing[path] = _Existing(kind, consolidated)
    return existing


def _consolidated(
    store: Store, dialect: Dialect, path: str, documents: dict[str, object], value: Buffer | OmnizarrError | None
) -> Consolidated | None:
    if dialect.consolidated_key(path) is not None:
        return _separate(store, dialect, path, value)
    group = parse_node(dialect, store, path, documents)
    if isinstance(group, GroupModel) and group.consolidated is not None:
        return Consolidated(store, dialect, path, group.consolidated, trusted=False)
    return None


def _separate(store: Store, dialect: Dialect, path: str, value: Buffer | OmnizarrError | None) -> Consolidated | None:
    """The consolidated metadata under a key of its own, to be kept up to date; None if the key is absent."""
    return None if value is None else Consolidated(store, dialect, path, {}, trusted=False)


def _check_free(context: NodeContext, kind: str | None, leftovers: Sequence[str], hint: str | None) -> None:
    """Raises NodeExistsError if a node exists, or a file that may belong to another program."""
    store, dialect, path = context.store, context.dialect, context.path
    if kind is None and dialect.implicit_groups and store.listable:
        below = dialect.children(path, store.list_dir(dialect.listing_prefix(path)))
        kind = "group" if below else None
    if kind is not None:
        raise already_exists(
            context, "an array" if kind == "array" else "a group" if kind == "group" else "a node", hint
        )
    if leftovers and not dialect.has_distinctive_keys:
        raise already_exists(context, f"a file `{leftovers[0]}`, which another program may have written,", hint)


def _erase_hierarchy(context: NodeContext, dialect: Dialect) -> None:
    """Erases the node at the location of `context`, which is of another dialect, and the documents of its hierarchy."""
    erase_locked_node(context._replace(dialect=dialect, consolidated=None))
    context.store.erase_values(dialect.hierarchy_documents())


def _kind_of(model: NodeModel) -> Kind:
    return "array" if isinstance(model, ArrayModel) else "group"


def erase_node(context: NodeContext) -> None:
    """Erases a node with all nodes below it; its documents first, so that readers do not find a half-erased node.

    It waits for an append to the node that is under way, but not for appends to the nodes below it.
    """
    context.store.check_writable()
    with ExitStack() as locks:
        lock_tasks(context.store, context.dialect, context.path, locks)
        erase_locked_node(context)


def lock_tasks(store: Store, dialect: Dialect, path: str, locks: ExitStack) -> None:
    """Takes the task locks of the node at `path`, of whatever kind it is."""
    for key in sorted(dialect.identifying_keys(path)):
        locks.enter_context(store.task_lock(key))


def erase_locked_node(context: NodeContext) -> None:
    """`erase_node` for a caller that holds the task locks of the node."""
    if not context.store.listable:
        raise StoreError(
            f"cannot erase {describe_location(context.store, context.path)}: the store cannot list its keys",
            store=repr(context.store),
        )
    try:
        context.store.erase_values(context.dialect.keys(context.path))
        for prefix in context.dialect.prefixes(context.path):
            context.store.erase_prefix(prefix)
    finally:
        if context.consolidated is not None:
            context.consolidated.record_move(context.path, None)
