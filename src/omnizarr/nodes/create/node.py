"""Creating nodes: the new documents, and those of the groups above it where they are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from omnizarr._json import same
from omnizarr.errors import NodeTypeError, OmnizarrError
from omnizarr.formats import Dialect, Kind, NodeModel
from omnizarr.formats.document_encoding import JSON
from omnizarr.model import ArrayModel, GroupModel
from omnizarr.nodes.metadata.consolidated import Consolidated
from omnizarr.nodes.metadata.documents import (
    describe_location,
    document_values,
    dump_node,
    encode_document,
    parse_documents,
    parse_node,
)
from omnizarr.nodes.metadata.enclosing_format import node_exists, settled
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Buffer, Store

__all__ = ["create_node", "erase_node", "prepare"]


_REPLACE = "`overwrite=True` replaces it, with all that lies below it"


def create_node(
    context: NodeContext,
    model: NodeModel,
    *,
    overwrite: bool = False,
    known_group: str | None = None,
    hint: str | None = _REPLACE,
) -> NodeContext:
    """Stores a new node at `site.path`, and gives its site. `known_group` is the path of a group above it that is known
    to exist; `hint` says how what is there can be replaced."""
    store, path = context.store, context.path
    store.check_writable()
    context.dialect.check_path(path, _kind_of(model))
    wanted = context.dialect
    documents = dump_node(wanted, path, model)  # what cannot be written is refused before anything is changed
    context, groups = prepare(context, overwrite=overwrite, known_group=known_group, hint=hint)
    if context.dialect is not wanted:
        documents = dump_node(context.dialect, path, model)
    telling = [key for key in context.dialect.identifying_keys(path) if key in documents]
    # What shows that there is a node comes last, so that one that is half created is not found.
    for key in sorted(documents, key=telling.__contains__):
        if overwrite or key not in telling:
            store.set(key, documents[key])
        elif not store.set_if(key, documents[key], None):
            raise node_exists(context, "a node that somebody else just created", hint)
    if context.consolidated is not None:
        context.consolidated.written({**groups, path: model})
    return context


def prepare(
    context: NodeContext, *, overwrite: bool, known_group: str | None, hint: str | None = None
) -> tuple[NodeContext, dict[str, NodeModel]]:
    """Makes room for a node at `site.path`: erases what lies there, if that is allowed, and creates the groups above it
    that do not exist yet. Gives the site, as the hierarchy that it is in speaks and with consolidated metadata above it
    that it was not known to have, and the groups that were created."""
    store, path = context.store, context.path
    context, replaced = (context, None) if known_group is not None else settled(context, overwrite=overwrite, hint=hint)
    dialect = context.dialect
    above = [group for group in dialect.ancestors(path) if known_group is None or len(group) > len(known_group)]
    missing = []
    there = _looked_at(store, dialect, [*above, path])
    for place in above:
        kind, group, _ = there[place]
        if kind == "array":
            raise NodeTypeError(
                f"`{path}` cannot be created: {describe_location(store, place)} is an array, which has no members",
                path=path,
            )
        if kind is None:
            missing.append(place)
        if group is not None and context.consolidated is None:
            context = replace(context, consolidated=group)
    kind, _, left = there[path]
    if not overwrite:
        _check_free(context, kind, left, hint)
    if replaced is not None:
        _erase_hierarchy(context, replaced)
    elif overwrite and (kind is not None or path):
        # Where there is no node, chunks of a half-erased one may be; but other files at the root are not ours.
        erase_node(context)
    elif left:
        store.erase_values(left)
    for key, document in dialect.hierarchy_documents().items() if known_group is None else ():
        if not store.set_if(key, encode_document(key, document, JSON), None):
            found = parse_documents(store, document_values(store, [key])).get(key)
            if not same(found, document):  # somebody else began another hierarchy here meanwhile
                raise node_exists(replace(context, path=""), "a hierarchy of another kind", hint)
    if dialect.implicit_groups:
        return context, {}
    new = GroupModel(zarr_format=dialect.zarr_format)
    for group_path in missing:
        for key, value in dump_node(dialect, group_path, new).items():
            store.set_if(key, value, None)  # a group that somebody else just created is as good
    return context, dict.fromkeys(missing, new)


class _There(NamedTuple):
    """What lies at a path: an array, a group, `""` for a node whose kind cannot be told, None for nothing."""

    kind: str | None
    consolidated: Consolidated | None = None
    left: tuple[str, ...] = ()
    """The keys of documents that belong to no node: of one that was half created or half erased."""


def _looked_at(store: Store, dialect: Dialect, paths: list[str]) -> dict[str, _There]:
    """What lies at each path, of this generation; all asked for together."""
    last = paths[-1]
    beside = {path: dialect.consolidated_key(path) for path in paths[:-1]}
    keys = [key for path in paths for key in (dialect.keys(path) if path == last else dialect.identifying_keys(path))]
    values = document_values(store, keys, [(key, (0, 0)) for key in beside.values() if key is not None])
    found = {}
    for path in paths:
        own = {key: values[key] for key in dialect.identifying_keys(path) if values[key] is not None}
        if not own:
            left = tuple(key for key in dialect.keys(path) if values.get(key) is not None)
            implied = dialect.implicit_groups and path != last
            gathered = _beside(store, dialect, path, values.get(beside[path] or "")) if implied else None
            found[path] = _There(None, gathered, left)
            continue
        try:
            documents = parse_documents(store, own, dialect.encoding)
        except OmnizarrError:
            if path != last:
                raise
            found[path] = _There("")
            continue
        kind = dialect.node_type(path, documents) or ""
        consolidated = None
        if kind == "group" and path != last:
            consolidated = _consolidated(store, dialect, path, documents, values.get(beside[path] or ""))
        elif kind == "" and path != last:
            parse_node(dialect, store, path, documents)  # raises, and says what is wrong with it
        found[path] = _There(kind, consolidated)
    return found


def _consolidated(
    store: Store, dialect: Dialect, path: str, documents: dict[str, object], beside: Buffer | OmnizarrError | None
) -> Consolidated | None:
    if dialect.consolidated_key(path) is not None:
        return _beside(store, dialect, path, beside)
    group = parse_node(dialect, store, path, documents)
    if isinstance(group, GroupModel) and group.consolidated is not None:
        return Consolidated(store, dialect, path, group.consolidated, trusted=False)
    return None


def _beside(store: Store, dialect: Dialect, path: str, value: Buffer | OmnizarrError | None) -> Consolidated | None:
    """The consolidated metadata that lies under a key of its own, to be kept up to date."""
    return None if value is None else Consolidated(store, dialect, path, {}, trusted=False)


def _check_free(context: NodeContext, kind: str | None, left: Sequence[str], hint: str | None) -> None:
    """Refuses to create a node where there is one."""
    store, dialect, path = context.store, context.dialect, context.path
    if kind is None and dialect.implicit_groups and store.listable:
        below = dialect.children(path, store.list_dir(dialect.listing_prefix(path)))
        kind = "group" if below else None
    if kind is not None:
        raise node_exists(context, "an array" if kind == "array" else "a group" if kind == "group" else "a node", hint)
    if left and not dialect.has_distinctive_keys:
        raise node_exists(context, f"a file called `{left[0]}`, which may be anybody's,", hint)


def _erase_hierarchy(context: NodeContext, found: Dialect) -> None:
    """Removes what lies at `site.path` in the dialect that is spoken there, with what a hierarchy has besides nodes."""
    erase_node(replace(context, dialect=found, consolidated=None))
    context.store.erase_values(found.hierarchy_documents())


def _kind_of(model: NodeModel) -> Kind:
    return "array" if isinstance(model, ArrayModel) else "group"


def erase_node(context: NodeContext) -> None:
    """Removes a node with all that lies below it; its documents first, so that a half-erased node is not found."""
    context.store.check_writable()
    context.store.erase_values(context.dialect.keys(context.path))
    for prefix in context.dialect.prefixes(context.path):
        context.store.erase_prefix(prefix)
    if context.consolidated is not None:
        context.consolidated.moved(context.path, None)
