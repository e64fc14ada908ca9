"""Fetching nodes: from a store and a path to a model, with as few requests as possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from omnizarr._json import Json, Problems
from omnizarr.config import config
from omnizarr.errors import MetadataError, NodeNotFoundError, OmnizarrError, warn
from omnizarr.formats import (
    DEFAULT_READ_OPTIONS,
    Child,
    DetectedNode,
    Dialect,
    NodeModel,
    NoNode,
    PossibleNode,
    ReadOptions,
    candidate_keys,
    confirm_node,
    consolidated_candidate_key,
    detect,
    detect_consolidated_group,
    dialect_for,
)
from omnizarr.formats.document_encoding import JSON, LENIENT_JSON, Encoding
from omnizarr.model import join_path
from omnizarr.nodes.metadata.documents import describe_location, document_values, parse_documents, parse_node
from omnizarr.nodes.metadata.model_cache import (
    DocumentsKey,
    cache_key,
    cached_model,
    cached_node,
    keep_model,
    scope_of_detection,
    scope_of_dialect,
)
from omnizarr.store import Buffer, ByteRange, Request, Store

if TYPE_CHECKING:
    from omnizarr.nodes.metadata.whole_listing import WholeListing

__all__ = ["FetchedNode", "fetch_children", "fetch_model", "fetch_node", "not_found"]


class FetchedNode(NamedTuple):
    """A model, its dialect and, if requested, the stored value of its consolidated metadata."""

    dialect: Dialect
    node: NodeModel
    consolidated: Buffer | None = None


def fetch_node(
    store: Store,
    path: str,
    read_options: ReadOptions,
    zarr_format: object = None,
    *,
    consolidated: ByteRange | Literal[False] | None = False,
) -> FetchedNode:
    """The node at `path`, of the given generation or of any. Raises NodeNotFoundError.

    `consolidated` says which bytes of a group's consolidated metadata to fetch as well: a range, None for all of
    them, or False for none.
    """
    keys = candidate_keys(path, zarr_format)
    request = _consolidated_request(consolidated_candidate_key(path, zarr_format), consolidated)
    values = document_values(store, keys, request)
    # Other read options may give another model, and few callers set any.
    scope = scope_of_detection(zarr_format) if read_options is DEFAULT_READ_OPTIONS else None
    cached_as = None if scope is None else cache_key(scope, [values[key] for key in keys])
    cached = None if cached_as is None else cached_node(cached_as, path)
    if cached is not None:
        return FetchedNode(*cached, _value(values, cached[0].consolidated_key(path)))
    documents, damaged = _parse_each(store, {key: values[key] for key in keys})
    hint: str | None = None
    try:
        detection = detect(path, documents, read_options, zarr_format)
    except MetadataError as error:
        message = f"{error.message.splitlines()[0]} in {store!r}"
        raise MetadataError(message, error.problems, hint=error.hint, path=path) from None
    if isinstance(detection, PossibleNode):
        fetched = _fetch_in_dialect(store, path, detection, consolidated)
        if isinstance(fetched, FetchedNode):
            return fetched
        detection, hint = None, fetched.hint if isinstance(fetched, NoNode) else None
    relevant = damaged if detection is None else detection.documents
    for key in relevant:
        if key in damaged:  # a damaged document that is not needed does no harm: v2 documents may remain next to v3
            raise damaged[key]
    if detection is None:
        detection = _detect_from_consolidated(store, path, values, read_options)
        if detection is None:
            raise not_found(store, path, zarr_format, hint=hint)
    if detection.note is not None:
        warn(f"{describe_location(store, path)}: {detection.note}")
    problems = Problems()
    node = parse_node(detection.dialect, store, path, detection.documents, problems=problems)
    if cached_as is not None and detection.note is None and not problems.warnings and not damaged:
        keep_model(cached_as, path, detection.dialect, node)
    return FetchedNode(detection.dialect, node, _value(values, detection.dialect.consolidated_key(path)))


def _consolidated_request(key: str | None, consolidated: ByteRange | Literal[False] | None) -> Sequence[Request]:
    """The request for consolidated metadata that is sent together with those for the documents, if there is one."""
    return () if key is None or consolidated is False else [(key, consolidated)]


def _detect_from_consolidated(
    store: Store, path: str, values: Mapping[str, Buffer | OmnizarrError | None], read_options: ReadOptions
) -> DetectedNode | None:
    """The group whose only document among `values` is its consolidated metadata."""
    key = consolidated_candidate_key(path)
    value = None if key is None else values.get(key)
    if key is None or not value or isinstance(value, OmnizarrError):  # empty if only its existence was asked for
        return None
    return detect_consolidated_group(path, parse_documents(store, {key: value}, LENIENT_JSON)[key], read_options)


def _value(values: Mapping[str, Buffer | OmnizarrError | None], key: str | None) -> Buffer | None:
    value = None if key is None else values.get(key)
    if isinstance(value, OmnizarrError):
        raise value
    return value


def fetch_model(store: Store, path: str, dialect: Dialect) -> NodeModel | None:
    """The node at `path` of a hierarchy whose dialect is known; None if there is none."""
    keys = dialect.keys(path)
    settings = config.current
    whole = 0, settings.max_document_bytes + 1
    requests = ((keys[0], whole),) if len(keys) == 1 else [(key, whole) for key in keys]
    values = tuple(store.get_partial_values(requests))
    model = cached_model(dialect, settings, values, path)
    if model is not None:
        return model
    cached_as = cache_key(scope_of_dialect(dialect), values)
    fetched = _parse_in_dialect(
        store, path, PossibleNode(dialect, keys), dict(zip(keys, values, strict=True)), cached_as
    )
    return fetched.node if isinstance(fetched, FetchedNode) else None


def _fetch_in_dialect(
    store: Store, path: str, possible: PossibleNode, consolidated: ByteRange | Literal[False] | None
) -> FetchedNode | NoNode | None:
    dialect = possible.dialect
    request = () if consolidated is False else _consolidated_request(dialect.consolidated_key(path), consolidated)
    values = document_values(store, possible.keys, request)
    cached_as = cache_key(scope_of_dialect(dialect), [values[key] for key in possible.keys])
    cached = None if cached_as is None else cached_node(cached_as, path)
    if cached is not None:
        return FetchedNode(*cached, _value(values, dialect.consolidated_key(path)) if request else None)
    return _parse_in_dialect(store, path, possible, values, cached_as)


def _parse_in_dialect(
    store: Store,
    path: str,
    possible: PossibleNode,
    values: Mapping[str, Buffer | OmnizarrError | None],
    cached_as: DocumentsKey | None,
) -> FetchedNode | NoNode | None:
    """The node of a dialect from the stored values of its documents and, if they were fetched, of its consolidated
    metadata."""
    dialect = possible.dialect
    documents, damaged = _parse_each(store, {key: values[key] for key in possible.keys}, dialect.encoding)
    detection = confirm_node(possible, path, documents)
    # A damaged file under a common name, such as `meta`, may belong to another program.
    for key, error in damaged.items():
        if dialect.has_distinctive_keys or (isinstance(detection, DetectedNode) and key in detection.documents):
            raise error
    if isinstance(detection, NoNode):
        return detection
    dialect = dialect if detection is None else detection.dialect
    consolidated_value = _value(values, dialect.consolidated_key(path))
    if isinstance(detection, DetectedNode):
        problems = Problems()
        node = parse_node(dialect, store, path, detection.documents, problems=problems)
        if cached_as is not None and dialect is possible.dialect and not problems.warnings and not damaged:
            keep_model(cached_as, path, dialect, node)
        return FetchedNode(dialect, node, consolidated_value)
    implicit = _implicit_group(store, path, dialect) if dialect.implicit_groups else None
    return None if implicit is None else FetchedNode(*implicit, consolidated_value)


def _implicit_group(store: Store, path: str, dialect: Dialect) -> tuple[Dialect, NodeModel] | None:
    """The group that exists at `path` because nodes lie below it; at the root, because the hierarchy exists."""
    if dialect.listing_prefix(path) == dialect.chunk_prefix(path) and _is_inside_array(store, path, dialect):
        return None  # these are chunks
    group = dialect.new_group(implicit=True)
    if not store.listable:
        return None if path or not dialect.hierarchy_documents() else (dialect, group)
    listing = store.list_dir(dialect.listing_prefix(path))
    below = dialect.children(path, listing)
    if below and (path or dialect.children(path, (listing[0], ()))):
        return dialect, group
    for other in dialect.alternatives():
        prefix = other.listing_prefix(path)
        if below and prefix != dialect.listing_prefix(path):
            continue  # the group exists; only a variant with the same prefix can tell which keys its documents have
        documents = parse_documents(store, document_values(store, other.keys(path)), other.encoding)
        if documents:
            return other, parse_node(other, store, path, documents)
        other_listing = (listing[0], ()) if below else store.list_dir(prefix)
        if other.children(path, other_listing):
            return other, group
    return (dialect, group) if below or (not path and dialect.hierarchy_documents()) else None


def _is_inside_array(store: Store, path: str, dialect: Dialect) -> bool:
    """Whether an array lies above `path`."""
    above = {ancestor: dialect.identifying_keys(ancestor) for ancestor in dialect.ancestors(path)}
    values = document_values(store, [key for keys in above.values() for key in keys])
    for ancestor, keys in above.items():
        documents = _parse_each(store, {key: values[key] for key in keys}, dialect.encoding)[0]
        if dialect.node_type(ancestor, documents) == "array":
            return True
    return False


def not_found(store: Store, path: str, zarr_format: object = None, *, hint: str | None = None) -> NodeNotFoundError:
    """The error for a path without a node, or without one of the requested generation."""
    if zarr_format is None:
        return NodeNotFoundError(
            f"there is no Zarr array or group at {describe_location(store, path)}", path=path, hint=hint
        )
    generation = dialect_for(zarr_format).format_name
    return NodeNotFoundError(
        f"there is no array or group of {generation} at {describe_location(store, path)}",
        path=path,
        hint="leave out `zarr_format` to find nodes of every generation",
    )


def fetch_children(
    store: Store, path: str, dialect: Dialect, children: Iterable[Child], whole: WholeListing | None = None
) -> Iterator[tuple[str, NodeModel | OmnizarrError]]:
    """The nodes below the group at `path`, by name, fetched together; an error in place of one that cannot be read.

    Children that turn out not to be nodes are left out. `whole` has fetched the documents already.
    """
    rows = []
    for child in children:
        child_path = join_path(path, child.name)
        rows.append((child, child_path, dialect.keys(child_path) if child.keys is None else child.keys))
    all_keys = [key for _, _, keys in rows for key in keys]
    values = document_values(store, all_keys, each=True) if whole is None else whole.take(all_keys)
    scope = scope_of_dialect(dialect)
    for child, child_path, keys in rows:
        stored = [values[key] for key in keys]
        cached_as = cache_key(scope, stored)
        cached = None if cached_as is None else cached_node(cached_as, child_path)
        if cached is not None:
            yield child.name, cached[1]
            continue
        present = {key: value for key, value in zip(keys, stored, strict=True) if value is not None}
        try:
            documents = parse_documents(store, present, dialect.encoding)
            if any(key in documents for key in dialect.identifying_keys(child_path)):
                problems = Problems()
                node = parse_node(dialect, store, child_path, documents, problems=problems)
                if cached_as is not None and not problems.warnings:
                    keep_model(cached_as, child_path, dialect, node)
                yield child.name, node
            elif dialect.implicit_groups and not child.keys:  # else it was erased after the listing
                yield child.name, dialect.new_group(implicit=True)
        except OmnizarrError as error:
            yield child.name, error


def _parse_each(
    store: Store, values: Mapping[str, Buffer | OmnizarrError | None], encoding: Encoding = JSON
) -> tuple[dict[str, Json], dict[str, MetadataError]]:
    """The documents, with None in place of each that cannot be parsed, and the errors of those."""
    documents: dict[str, Json] = {}
    damaged: dict[str, MetadataError] = {}
    for key, value in values.items():
        try:
            documents |= parse_documents(store, {key: value}, encoding)
        except MetadataError as error:
            documents[key], damaged[key] = None, error
    return documents, damaged
