"""Opening the node at a location."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnizarr.engine import ChunkCache, OnCorrupt
from omnizarr.errors import ArgumentError, NodeNotFoundError, NodeTypeError
from omnizarr.formats import DEFAULT_READ_OPTIONS, Kind, ReadOptions, lowercase_dialect
from omnizarr.model import ArrayModel
from omnizarr.nodes.array import Array
from omnizarr.nodes.create.array_handle import array_handle
from omnizarr.nodes.group import Group, handle
from omnizarr.nodes.metadata.consolidated import consolidated_range, open_consolidated
from omnizarr.nodes.metadata.documents import describe_location
from omnizarr.nodes.metadata.fetch import fetch_node
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Store

if TYPE_CHECKING:
    from omnizarr.transformers import StorageTransformer

__all__ = ["open_node"]


def open_node(
    store: Store,
    path: str,
    *,
    zarr_format: object = None,
    use_consolidated: bool | None = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    kind: Kind | None = None,
    exact: bool = False,
    transformers: tuple[StorageTransformer, ...] = (),
    cache: ChunkCache | None = None,
    on_corrupt: OnCorrupt = "raise",
    version: int | None = None,
) -> Array | Group:
    """The handle of the node at `path`. Raises NodeNotFoundError, or NodeTypeError if it is not of this `kind`.

    Unless `exact`, also opens a node whose writer stored the name in lower case. Pass `exact` before creating a node.
    """
    consolidated = False if kind == "array" else consolidated_range(store, use_consolidated)
    try:
        fetched = fetch_node(store, path, read_options, zarr_format, consolidated=consolidated)
    except NodeNotFoundError:
        dialect = None if exact else lowercase_dialect(zarr_format, read_options)
        lowercase = None
        if dialect is not None:
            from omnizarr.nodes.metadata.lowercase_names import fetch_lowercase  # lazy import: seldom needed

            lowercase = fetch_lowercase(store, path, dialect, consolidated=consolidated)
        if lowercase is None:
            raise
        path, fetched = lowercase
    actual = "array" if isinstance(fetched.node, ArrayModel) else "group"
    if kind is not None and kind != actual:
        what = "an array, not a group" if actual == "array" else "a group, not an array"
        raise NodeTypeError(
            f"{describe_location(store, path)} is {what}",
            path=path,
            hint=f"use `open_{actual}`, or `open`, which opens both",
        )
    metadata = None if actual == "array" else open_consolidated(store, path, fetched, use_consolidated)
    context = NodeContext(store, path, fetched.dialect, metadata, transformers, cache, on_corrupt)
    if version is None:
        return handle(context, fetched.node)
    if not isinstance(fetched.node, ArrayModel):
        raise ArgumentError(
            f"`version`: expected None, because {describe_location(store, path)} is a group, found {version!r}",
            argument="version",
            hint="open one of its arrays: give its `path`",
        )
    return array_handle(context, fetched.node, version=version)
