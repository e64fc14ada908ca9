"""Nodes whose names were stored in lower case: some releases of zarr-python 2 lowercased all keys of v2.

If a name is not found, its lowercase form is looked up, and a warning names it. A name without capitals costs no
extra request. Nothing is ever created under the lowercase form, and no other spelling is tried.
"""

from __future__ import annotations

from typing import Literal

from omnizarr.errors import NodeNotFoundError, warn
from omnizarr.formats import Dialect
from omnizarr.nodes.metadata.documents import describe_location
from omnizarr.nodes.metadata.fetch import FetchedNode, fetch_node
from omnizarr.store import ByteRange, Store

__all__ = ["fetch_lowercase"]


def fetch_lowercase(
    store: Store,
    path: str,
    dialect: Dialect,
    *,
    consolidated: ByteRange | Literal[False] | None = False,
) -> tuple[str, FetchedNode] | None:
    """The lowercase form of `path` and the node that lies there; None if there is none."""
    lower = path.lower()
    if lower == path or not dialect.has_lowercase_writers:
        return None
    try:
        fetched = fetch_node(store, lower, dialect.read_options, dialect.zarr_format, consolidated=consolidated)
    except NodeNotFoundError:
        return None
    warn(f"{describe_location(store, path)} does not exist: opened `{lower}`, whose writer stored names in lower case")
    return lower, fetched
