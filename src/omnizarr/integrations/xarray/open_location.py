"""Finding the node that a program opens as a dataset."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple

from omnizarr.api.location import resolve
from omnizarr.api.open_nodes import open as open_node
from omnizarr.api.open_nodes import open_group
from omnizarr.engine.pool import run
from omnizarr.errors import NodeNotFoundError, NodeTypeError, OmnizarrError
from omnizarr.model import join_path, normal_path
from omnizarr.nodes import Array, Group
from omnizarr.store import Store

__all__ = ["OpenOptions", "OpenedLocation", "open_location"]


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """The options of the engine; `OmnizarrBackend` explains them."""

    group: str | None
    consolidated: bool | None
    zarr_format: Any
    storage_options: dict[str, Any] | None
    chunk_cache: Any
    on_corrupt: Any
    fill_value_as_mask: bool | None


class OpenedLocation(NamedTuple):
    """A node, and what its dataset needs."""

    node: Group | Array
    """The group; or the array, if the location itself is one. v1 has no groups."""
    name: str
    """The name of the variable for an array."""
    close: Callable[[], None]
    """Closes the store, if it was opened here. xarray calls it, even if there is nothing to close."""


def open_location(source: Any, options: OpenOptions) -> OpenedLocation:
    """The node at a location; with the option `group`, the group of this path below it."""
    path = normal_path(options.group)
    if isinstance(source, Group):
        return OpenedLocation(source.get_group(path) if path else source, "", _keep_open)
    settings: dict[str, Any] = {
        "mode": "r",
        "zarr_format": options.zarr_format,
        "cache": options.chunk_cache,
        "on_corrupt": options.on_corrupt,
    }
    if not isinstance(source, (str, os.PathLike)):
        node = _open(*resolve(source, options.storage_options), path, options.consolidated, settings)
        return OpenedLocation(node, _name(node, "array"), _keep_open)
    address = os.path.expanduser(source)
    store, inner = resolve(address, options.storage_options)
    try:
        node = _open(store, inner, path, options.consolidated, settings)
    except NodeNotFoundError:  # the address may lead into a hierarchy whose root lies above
        store.close()
        more: dict[str, Any] = {"storage_options": options.storage_options, "use_consolidated": options.consolidated}
        node = open_group(address, path=path, **settings, **more)
    except BaseException:
        store.close()
        raise
    return OpenedLocation(node, _name(node, PurePath(address).name.partition(".")[0]), node.store.close)


def _open(store: Store, inner: str, path: str, consolidated: bool | None, settings: dict[str, Any]) -> Group | Array:
    """The node at `inner`, or the group at `path` below it.

    Consolidated metadata mostly lies at `inner`, and may lie at `path`. In a remote store, both are opened at the same
    time.
    """
    if not path:
        return open_node(store, path=inner, use_consolidated=consolidated, **settings)
    opened: dict[str, Group | OmnizarrError] = {}
    places = {"direct": (join_path(inner, path), consolidated)}
    if consolidated is not False:
        places["top"] = (inner, None)

    def attempt(name: str) -> None:
        place, use = places[name]
        try:
            opened[name] = open_group(store, path=place, use_consolidated=use, **settings)
        except OmnizarrError as error:
            opened[name] = error

    first = [*places] if store.remote or len(places) == 1 else ["top"]
    run(first, lambda: attempt, len(first))
    top = opened.get("top")
    if isinstance(top, Group) and top._context.consolidated is not None:
        return top.get_group(path)
    if isinstance(top, OmnizarrError) and not isinstance(top, (NodeNotFoundError, NodeTypeError)):
        raise top
    if "direct" not in opened:
        attempt("direct")
    direct = opened["direct"]
    if isinstance(direct, OmnizarrError):
        raise direct
    return direct


def _name(node: Group | Array, otherwise: str) -> str:
    return node.path.rpartition("/")[2] or otherwise or "array"


def _keep_open() -> None:
    """The store belongs to the caller."""
