"""The dialect of the hierarchy that encloses a new node. All nodes of a hierarchy are of one generation."""

from __future__ import annotations

from omnizarr._json import Json
from omnizarr.errors import NodeExistsError, NodeTypeError, OmnizarrError
from omnizarr.formats import Dialect, Kind, dialect_for, identify_dialect, identifying_keys
from omnizarr.formats.contract import ancestor_paths
from omnizarr.nodes.metadata.documents import describe_location, document_values, parse_documents
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Store

__all__ = ["adapt_to_hierarchy", "already_exists", "dialects_along", "enclosing_dialect"]


def adapt_to_hierarchy(
    context: NodeContext, *, overwrite: bool, hint: str | None
) -> tuple[NodeContext, Dialect | None]:
    """The context in the dialect of an existing hierarchy of the same generation, and the dialect of a node to replace.

    Raises NodeTypeError inside a hierarchy of another generation. A node of another generation at the path itself is
    replaced if `overwrite`: then the second result is its dialect.
    """
    store, path, dialect = context.store, context.path, context.dialect
    for existing_path, documents in _identifying_documents(store, path):
        existing = identify_dialect(existing_path, documents)
        if existing is None:
            continue
        alike = existing.zarr_format == dialect.zarr_format
        if existing_path == path and overwrite and (existing.hierarchy_documents() or not alike):
            return context, existing
        if alike:
            if not existing.hierarchy_documents():
                continue
            default = dialect_for(dialect.zarr_format)
            if dialect.hierarchy_documents() not in (existing.hierarchy_documents(), default.hierarchy_documents()):
                raise already_exists(context, "a hierarchy with other options", hint)
            context = context._replace(dialect=existing.with_options_of(dialect))
            continue
        node = f"{_article(existing.node_type(existing_path, documents))} of {existing.format_name}"
        if existing_path == path:
            raise already_exists(context, node, hint)
        raise NodeTypeError(
            f"`{path}` cannot be created in {dialect.format_name}: {node} lies at "
            f"{describe_location(store, existing_path)}",
            path=path,
            hint=f"`zarr_format={existing.zarr_format!r}` creates it in the generation of the hierarchy",
        )
    return context, None


def dialects_along(store: Store, path: str) -> dict[str, Dialect]:
    """The dialects of the nodes at `path` and above it, by path, from the root down."""
    dialects = {
        node_path: identify_dialect(node_path, documents)
        for node_path, documents in _identifying_documents(store, path)
    }
    return {node_path: dialect for node_path, dialect in dialects.items() if dialect is not None}


def enclosing_dialect(store: Store, path: str) -> Dialect | None:
    """The dialect of the nearest node above `path`, whose generation a new node at `path` must have; None if none."""
    above = dialects_along(store, path)
    above.pop(path, None)
    return next(reversed(above.values()), None)


def _identifying_documents(store: Store, path: str) -> list[tuple[str, dict[str, Json]]]:
    """The documents that show the generation, at `path` and at each path above it, from the root down."""
    paths = [*ancestor_paths(path), path]
    values = document_values(
        store, list(dict.fromkeys(key for node_path in paths for key in identifying_keys(node_path)))
    )
    by_path = []
    for node_path in paths:
        documents: dict[str, Json] = {}
        for key in identifying_keys(node_path):
            try:
                documents.update(parse_documents(store, {key: values[key]}))
            except OmnizarrError:  # the parser of its generation reports what is wrong with it
                documents[key] = None
        by_path.append((node_path, documents))
    return by_path


def _article(kind: Kind | None) -> str:
    return {"array": "an array", "group": "a group"}.get(kind or "", "a hierarchy")


def already_exists(context: NodeContext, node: str, hint: str | None) -> NodeExistsError:
    """The error for a path at which `node` lies; `hint` says how to replace it."""
    return NodeExistsError(
        f"{node} exists at {describe_location(context.store, context.path)} already", path=context.path, hint=hint
    )
