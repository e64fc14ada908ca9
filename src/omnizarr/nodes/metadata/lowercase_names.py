"""Names in lower case: some releases of zarr-python 2 wrote all keys of version 2 so, whatever names the user gave.

What is not found by its name is looked for by that name in lower case, which costs nothing for a name that is all in
lower case, and the user is told. Nothing is ever created there, and no other name is taken for it."""

from __future__ import annotations

from typing import Literal

from omnizarr.errors import NodeNotFoundError, warn
from omnizarr.formats import Dialect, ReadOptions
from omnizarr.nodes.metadata.documents import describe_location
from omnizarr.nodes.metadata.fetch import FetchedNode, fetch_node
from omnizarr.store import ByteRange, Store

__all__ = ["fetch_in_lower_case"]


def fetch_in_lower_case(
    store: Store,
    path: str,
    read_options: ReadOptions,
    known: Dialect | None = None,
    *,
    consolidated: ByteRange | Literal[False] | None = False,
) -> tuple[str, FetchedNode] | None:
    """The node of version 2 whose path is `path` in lower case, with that path; None if there is none."""
    lower = path.lower()
    if lower == path or (known is not None and known.zarr_format != 2):
        return None
    try:
        found = fetch_node(store, lower, read_options, 2, consolidated=consolidated)
    except NodeNotFoundError:
        return None
    warn(
        f"{describe_location(store, path)} is not there: `{lower}` is opened, for its writer wrote names in lower case"
    )
    return lower, found
