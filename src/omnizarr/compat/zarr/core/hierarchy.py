"""Creating many nodes from their metadata."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from omnizarr.compat.zarr.core import create
from omnizarr.compat.zarr.core.array import Array, AsyncArray
from omnizarr.compat.zarr.core.handles.async_group import AsyncGroup
from omnizarr.compat.zarr.core.handles.group import Group
from omnizarr.compat.zarr.core.metadata import ArrayV3Metadata
from omnizarr.compat.zarr.core.metadata.group import GroupMetadata
from omnizarr.compat.zarr.errors import MetadataValidationError, translated
from omnizarr.compat.zarr.storage._common import StorePath
from omnizarr.compat.zarr.storage._utils import normalize_path
from omnizarr.nodes import Array as OwnArray

__all__ = ["ImplicitGroupMarker", "create_hierarchy", "create_nodes", "create_rooted_hierarchy", "get_node"]


@dataclass(frozen=True)
class ImplicitGroupMarker(GroupMetadata):
    """A group that is created only if there is none."""


def get_roots(data: Iterable[str]) -> tuple[str, ...]:
    """The paths with the fewest parts."""
    paths = list(data)
    if "" in paths:
        return ("",)
    least = min((path.count("/") for path in paths), default=0)
    return tuple(path for path in paths if path.count("/") == least)


def parse_hierarchy_dict(*, data: Mapping[str, Any]) -> dict[str, Any]:
    """The nodes with normal paths, and with the groups above them."""
    nodes: dict[str, Any] = {}
    for path, metadata in data.items():
        normal = normalize_path(path)
        if normal in nodes:
            raise ValueError(
                f"Multiple node names in the input normalize to the same path {normal!r}; each node needs its own."
            )
        nodes[normal] = metadata
    for path, metadata in list(nodes.items()):
        parts = path.split("/") if path else []
        for count in range(len(parts)):
            above = "/".join(parts[:count])
            nodes.setdefault(above, ImplicitGroupMarker(zarr_format=metadata.zarr_format))
            if not isinstance(nodes[above], GroupMetadata):
                raise ValueError(
                    f"The node at {above} contains other nodes, but it is not a Zarr group. "
                    "This is invalid. Only Zarr groups can contain other nodes."
                )
    return nodes


def build_metadata_v3(zarr_json: dict[str, Any]) -> Any:
    """The metadata of a document of v3."""
    if "node_type" not in zarr_json:
        raise MetadataValidationError("Required key 'node_type' is missing from the provided metadata document.")
    if zarr_json["node_type"] == "array":
        return ArrayV3Metadata.from_dict(zarr_json)
    return GroupMetadata.from_dict(zarr_json)


def _open(place: StorePath, zarr_format: Any) -> Any:
    handle = create.open_handle(place, None, zarr_format)
    if isinstance(handle, OwnArray):
        return AsyncArray._of(Array._of(handle, place))
    return AsyncGroup._of(Group._of(handle, place))


async def get_node(store: Any, path: str, zarr_format: Any) -> Any:
    """The array or group at a path."""
    return await asyncio.to_thread(translated(_open), StorePath(store, path), zarr_format)


async def create_nodes(*, store: Any, nodes: dict[str, Any]) -> AsyncIterator[tuple[str, Any]]:
    """Stores the documents of nodes, and yields the nodes."""
    for path, metadata in nodes.items():
        place = StorePath(store, path)
        if isinstance(metadata, GroupMetadata):
            arguments = (place, metadata.zarr_format, metadata.attributes)
            handle = await asyncio.to_thread(translated(create.create_group_handle), *arguments, True)
            yield path, AsyncGroup._of(Group._of(handle, place))
            continue
        for name, value in metadata.to_buffer_dict().items():
            await (place / name).set(value)
        yield path, AsyncArray(metadata, place)


async def create_hierarchy(
    *, store: Any, nodes: dict[str, Any], overwrite: bool = False
) -> AsyncIterator[tuple[str, Any]]:
    """Creates nodes, and the groups above them that do not exist."""
    complete = parse_hierarchy_dict(data=nodes)
    for path, metadata in sorted(complete.items()):
        place = StorePath(store, path)
        try:
            existing = await get_node(store, path, None)
        except FileNotFoundError:
            existing = None
        if existing is not None and isinstance(metadata, ImplicitGroupMarker):
            continue
        if existing is not None and not overwrite:
            kind = "array" if isinstance(existing, AsyncArray) else "group"
            from omnizarr.compat.zarr.errors import ContainsArrayError, ContainsGroupError

            error = ContainsArrayError if kind == "array" else ContainsGroupError
            raise error(store, path)
        if existing is not None and isinstance(existing, AsyncArray):
            await place.delete_dir()
        plain = (
            GroupMetadata(metadata.attributes, metadata.zarr_format)
            if isinstance(metadata, GroupMetadata)
            else metadata
        )
        async for node in create_nodes(store=store, nodes={path: plain}):
            yield node


async def create_rooted_hierarchy(*, store: Any, nodes: dict[str, Any], overwrite: bool = False) -> Any:
    """Creates nodes, and returns their root."""
    roots = get_roots(nodes)
    if len(roots) != 1:
        raise ValueError(
            "The input does not specify a root node. This function can only create hierarchies that contain a root "
            "node, which is defined as a group that is ancestral to all the other arrays and groups in the hierarchy, "
            "or a single array."
        )
    created = {path: node async for path, node in create_hierarchy(store=store, nodes=nodes, overwrite=overwrite)}
    return created[roots[0]]
