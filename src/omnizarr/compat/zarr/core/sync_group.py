"""Creating and fetching nodes without coroutines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from omnizarr.compat.zarr.core import hierarchy
from omnizarr.compat.zarr.core.array import Array, AsyncArray
from omnizarr.compat.zarr.core.handles.group import Group
from omnizarr.compat.zarr.core.sync import _collect_aiterator, sync

__all__ = ["create_hierarchy", "create_nodes", "create_rooted_hierarchy", "get_node"]


def _with_brackets(node: Any) -> Any:
    return Array(node) if isinstance(node, AsyncArray) else Group(node)


def create_nodes(*, store: Any, nodes: Any) -> Iterator[tuple[str, Any]]:
    """Creates nodes, and yields their paths and handles."""
    for path, node in sync(_collect_aiterator(hierarchy.create_nodes(store=store, nodes=nodes))):
        yield path, _with_brackets(node)


def create_hierarchy(*, store: Any, nodes: Any, overwrite: bool = False) -> Iterator[tuple[str, Any]]:
    """Creates nodes with the groups above them, and yields their paths and handles."""
    created = hierarchy.create_hierarchy(store=store, nodes=nodes, overwrite=overwrite)
    for path, node in sync(_collect_aiterator(created)):
        yield path, _with_brackets(node)


def create_rooted_hierarchy(*, store: Any, nodes: Any, overwrite: bool = False) -> Any:
    """Creates nodes with the groups above them, and returns the handle of the root."""
    return _with_brackets(sync(hierarchy.create_rooted_hierarchy(store=store, nodes=nodes, overwrite=overwrite)))


def get_node(store: Any, path: str, zarr_format: Any) -> Any:
    """The handle of a node."""
    return _with_brackets(sync(hierarchy.get_node(store, path=path, zarr_format=zarr_format)))


Group._create_hierarchy = staticmethod(create_hierarchy)
