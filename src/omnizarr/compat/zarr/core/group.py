"""`Group` and `AsyncGroup`: handles of groups, and what their documents say."""

from __future__ import annotations

import omnizarr.compat.zarr.core.sync_group  # noqa: F401  # sets what `Group` needs of it
from omnizarr.compat.zarr.core.handles.async_group import AsyncGroup, as_async, as_sync
from omnizarr.compat.zarr.core.handles.group import Group, node_of
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
from omnizarr.compat.zarr.core.metadata.group import ConsolidatedMetadata, GroupMetadata

GROUP_METADATA_KEYS = {"zarr_format", "node_type", "attributes", "consolidated_metadata"}

__all__ = [
    "GROUP_METADATA_KEYS",
    "AsyncGroup",
    "ConsolidatedMetadata",
    "Group",
    "GroupMetadata",
    "ImplicitGroupMarker",
    "_build_metadata_v3",
    "_get_roots",
    "_parse_hierarchy_dict",
    "as_async",
    "as_sync",
    "create_hierarchy",
    "create_nodes",
    "create_rooted_hierarchy",
    "get_node",
    "node_of",
]
