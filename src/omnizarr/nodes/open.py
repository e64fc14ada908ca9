"""Opening a node: from a place in a store to the handle of what lies there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnizarr.engine import ChunkCache, OnCorrupt
from omnizarr.errors import NodeNotFoundError, NodeTypeError
from omnizarr.formats import DEFAULT_READ_OPTIONS, Kind, ReadOptions
from omnizarr.model import ArrayModel
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group, handle
from omnizarr.nodes.metadata.consolidated import consolidated_of, wanted
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
) -> Array | Group:
    """What lies at `path`, of whatever kind or of the one that is asked for. If `exact`, the name must be the very one,
    for something else would be created under it."""
    look = False if kind == "array" else wanted(store, use_consolidated)
    try:
        fetched = fetch_node(store, path, read_options, zarr_format, consolidated=look)
    except NodeNotFoundError:
        lower = None
        if not exact and zarr_format in (None, 2):
            from omnizarr.nodes.metadata.lowercase_names import fetch_in_lower_case  # seldom needed

            lower = fetch_in_lower_case(store, path, read_options, consolidated=look)
        if lower is None:
            raise
        path, fetched = lower
    found = "array" if isinstance(fetched.node, ArrayModel) else "group"
    if kind is not None and kind != found:
        what = "an array, not a group" if found == "array" else "a group, not an array"
        raise NodeTypeError(
            f"{describe_location(store, path)} is {what}",
            path=path,
            hint=f"use `open_{found}`, or `open`, which takes both",
        )
    gathered = None if found == "array" else consolidated_of(store, path, fetched, use_consolidated)
    return handle(NodeContext(store, path, fetched.dialect, gathered, transformers, cache, on_corrupt), fetched.node)
