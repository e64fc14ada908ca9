"""Opening a node: from a place in a store to the handle of what lies there."""

from __future__ import annotations

from typing import Literal

from omnizarr.errors import MetadataError, NodeTypeError
from omnizarr.formats import Dialect, Node
from omnizarr.model import ArrayModel, GroupModel
from omnizarr.nodes.array import Array
from omnizarr.nodes.consolidated import Consolidated
from omnizarr.nodes.documents import describe_place, fetch
from omnizarr.nodes.group import Group, handle
from omnizarr.nodes.site import Site
from omnizarr.store import Store

__all__ = ["open_node"]


def open_node(
    store: Store,
    path: str,
    *,
    zarr_format: object = None,
    use_consolidated: bool | None = None,
    kind: Literal["array", "group"] | None = None,
) -> Array | Group:
    """What lies at `path`, of whatever kind or of the one that is asked for. Consolidated metadata is trusted if that
    is asked for, or if nothing is said and the store cannot be written: what only reads may not need the newest."""
    dialect, model = fetch(store, path, zarr_format)
    found = "array" if isinstance(model, ArrayModel) else "group"
    if kind is not None and kind != found:
        what = "an array, not a group" if found == "array" else "a group, not an array"
        raise NodeTypeError(
            f"{describe_place(store, path)} is {what}",
            path=path,
            hint=f"use `open_{found}`, or `open`, which takes both",
        )
    return handle(Site(store, path, dialect, _consolidated(store, path, dialect, model, use_consolidated)), model)


def _consolidated(
    store: Store, path: str, dialect: Dialect, model: Node, use_consolidated: bool | None
) -> Consolidated | None:
    if not isinstance(model, GroupModel):
        return None
    if model.consolidated is None:
        if use_consolidated:
            raise MetadataError(
                f"group {describe_place(store, path)} has no consolidated metadata",
                path=path,
                hint="`omnizarr.consolidate_metadata` writes it",
            )
        return None
    trusted = store.read_only if use_consolidated is None else use_consolidated
    return Consolidated(store, dialect, path, model.consolidated, trusted=trusted)
