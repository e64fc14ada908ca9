"""`Group` and `AsyncGroup`: handles of groups, and what their documents say."""

from __future__ import annotations

from omnizarr.compat.zarr.core.async_group import AsyncGroup, as_async
from omnizarr.compat.zarr.core.hierarchy import (
    ImplicitGroupMarker,
    create_hierarchy,
    create_nodes,
    create_rooted_hierarchy,
    get_node,
)
from omnizarr.compat.zarr.core.hierarchy import build_metadata_v3 as _build_metadata_v3
from omnizarr.compat.zarr.core.hierarchy import get_roots as _get_roots
from omnizarr.compat.zarr.core.hierarchy import parse_hierarchy_dict as _parse_hierarchy_dict
from omnizarr.compat.zarr.core.sync_group import ConsolidatedMetadata, Group, GroupMetadata, node_of

__all__ = [
    "AsyncGroup",
    "ConsolidatedMetadata",
    "Group",
    "GroupMetadata",
    "ImplicitGroupMarker",
    "_build_metadata_v3",
    "_get_roots",
    "_parse_hierarchy_dict",
    "as_async",
    "create_hierarchy",
    "create_nodes",
    "create_rooted_hierarchy",
    "get_node",
    "node_of",
]
