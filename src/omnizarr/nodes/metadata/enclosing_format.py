"""Which generation is spoken around a new node: all nodes of a hierarchy are of one."""

from __future__ import annotations

from dataclasses import replace

from omnizarr._json import Json
from omnizarr.errors import NodeExistsError, NodeTypeError, OmnizarrError
from omnizarr.formats import Dialect, Kind, dialect_for, format_name, identify_dialect, identifying_keys
from omnizarr.formats.contract import ancestor_paths
from omnizarr.model import ZarrFormat
from omnizarr.nodes.metadata.documents import describe_location, document_values, parse_documents
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Store

__all__ = ["generation_above", "generations", "node_exists", "settled"]


def settled(context: NodeContext, *, overwrite: bool, hint: str | None) -> tuple[NodeContext, Dialect | None]:
    """The site in the dialect of the hierarchy that is there already, if it is of the same generation. What is of
    another one is not written into; but it may be replaced, and then the second answer is its dialect."""
    store, path, dialect = context.store, context.path, context.dialect
    for place, documents in _of_all_generations(store, path):
        found = identify_dialect(place, documents)
        if found is None:
            continue
        if place == path and overwrite and (found.hierarchy_documents() or found.zarr_format != dialect.zarr_format):
            return context, found
        if found.zarr_format == dialect.zarr_format:
            if not found.hierarchy_documents():
                continue
            if dialect.hierarchy_documents() not in (
                found.hierarchy_documents(),
                dialect_for(dialect.zarr_format).hierarchy_documents(),
            ):
                raise node_exists(context, "a hierarchy that says otherwise", hint)
            context = replace(context, dialect=found.with_read_options(dialect.read_options))
            continue
        what = f"{_article(found.node_type(place, documents))} of {format_name(found.zarr_format)}"
        if place == path:
            raise node_exists(context, what, hint)
        raise NodeTypeError(
            f"`{path}` cannot be created in {format_name(dialect.zarr_format)}: {what} lies at "
            f"{describe_location(store, place)}",
            path=path,
            hint=f"`zarr_format={found.zarr_format!r}` creates it as what is there",
        )
    return context, None


def generations(store: Store, path: str) -> dict[str, ZarrFormat]:
    """The generations of what lies at `path` and at each place above it, by path, from the root down."""
    found = ((place, identify_dialect(place, documents)) for place, documents in _of_all_generations(store, path))
    return {place: dialect.zarr_format for place, dialect in found if dialect is not None}


def generation_above(store: Store, path: str) -> ZarrFormat | None:
    """The generation that a new node at `path` must be of, because of what lies above it; None if nothing does."""
    return next((found for place, found in reversed(generations(store, path).items()) if place != path), None)


def _of_all_generations(store: Store, path: str) -> list[tuple[str, dict[str, Json]]]:
    """The documents that tell which generation lies at `path` and at each place above it, from the root down."""
    places = [*ancestor_paths(path), path]
    values = document_values(store, list(dict.fromkeys(key for place in places for key in identifying_keys(place))))
    found = []
    for place in places:
        documents: dict[str, Json] = {}
        for key in identifying_keys(place):
            try:
                documents.update(parse_documents(store, {key: values[key]}))
            except OmnizarrError:  # not ours to judge: whoever reads that generation says what is wrong
                documents[key] = None
        found.append((place, documents))
    return found


def _article(kind: Kind | None) -> str:
    return {"array": "an array", "group": "a group"}.get(kind or "", "a hierarchy")


def node_exists(context: NodeContext, what: str, hint: str | None) -> NodeExistsError:
    """Says that something lies at a site, and how it can be replaced."""
    return NodeExistsError(
        f"{what} exists at {describe_location(context.store, context.path)} already", path=context.path, hint=hint
    )
