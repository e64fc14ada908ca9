"""`Group` and `AsyncGroup`: handles of groups, and what their documents say."""

from __future__ import annotations

from omnizarr.compat.zarr.core.async_group import AsyncGroup, as_async
from omnizarr.compat.zarr.core.sync_group import ConsolidatedMetadata, Group, GroupMetadata, node_of

__all__ = ["AsyncGroup", "ConsolidatedMetadata", "Group", "GroupMetadata", "as_async", "node_of"]
