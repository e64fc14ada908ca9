"""Opening one group as a dataset, or a group and all groups below it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnizarr.api.open_nodes import open_group
from omnizarr.errors import NodeNotFoundError, NodeTypeError
from omnizarr.integrations.xarray.decode import decoded_dataset
from omnizarr.integrations.xarray.members import consistent_members
from omnizarr.integrations.xarray.read_ahead import ReadAhead
from omnizarr.integrations.xarray.variables import GroupVariables
from omnizarr.model import normal_path
from omnizarr.nodes import Group
from omnizarr.nodes.metadata.documents import describe_location

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["OpenOptions", "open_dataset", "open_groups"]


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


def open_dataset(given: Any, options: OpenOptions, drop: str | Iterable[str] | None, **decoders: Any) -> Dataset:
    """The group as a dataset."""
    group, close = _open(given, options)
    variables = GroupVariables(
        group,
        consistent_members(group),
        mask=options.fill_value_as_mask,
        drop=_names(drop),
        read_ahead=ReadAhead(),
    )
    return _decoded(variables, close, decoders)


def open_groups(
    given: Any, options: OpenOptions, drop: str | Iterable[str] | None, **decoders: Any
) -> dict[str, Dataset]:
    """The group and all groups below it as datasets, by path; that of the group is `/`."""
    top, close = _open(given, options)
    groups = {"": top}
    members: dict[str, list[tuple[str, Any]]] = {"": []}
    for path, node in top.members(max_depth=None):
        parent, _, name = path.rpartition("/")
        if isinstance(node, Group):
            groups[path], members[path] = node, []
        else:
            members[parent].append((name, node))
    read_ahead = ReadAhead()  # one for the whole tree
    names = _names(drop)
    opened = {
        f"/{path}": GroupVariables(
            group,
            consistent_members(group, members[path]),
            mask=options.fill_value_as_mask,
            drop=names,
            read_ahead=read_ahead,
        )
        for path, group in groups.items()
    }
    return {path: _decoded(variables, close if path == "/" else None, decoders) for path, variables in opened.items()}


def _decoded(group: GroupVariables, close: Callable[[], None] | None, decoders: dict[str, Any]) -> Dataset:
    dataset = decoded_dataset(group.variables, group.attributes, decoders)
    dataset.set_close(close)
    return dataset


def _names(drop: str | Iterable[str] | None) -> tuple[str, ...]:
    return () if drop is None else (drop,) if isinstance(drop, str) else tuple(drop)


def _open(given: Any, options: OpenOptions) -> tuple[Group, Callable[[], None] | None]:
    """The group, and the function that closes its store, if it was opened here."""
    path = normal_path(options.group)
    if isinstance(given, Group):
        return (_below(given, path) if path else given), None
    opened = isinstance(given, (str, os.PathLike))
    if opened:
        given = os.path.expanduser(given)
    settings: dict[str, Any] = {
        "mode": "r",
        "zarr_format": options.zarr_format,
        "storage_options": options.storage_options,
        "use_consolidated": options.consolidated,
        "cache": options.chunk_cache,
        "on_corrupt": options.on_corrupt,
    }
    group = None
    if path and options.consolidated is not False:  # consolidated metadata mostly lies at the root
        try:
            group = _below(open_group(given, **settings), path)
        except (NodeNotFoundError, NodeTypeError):
            settings["use_consolidated"] = None
    if group is None:
        group = open_group(given, path=path, **settings)
    return group, group.store.close if opened else None


def _below(group: Group, path: str) -> Group:
    node = group[path]
    if not isinstance(node, Group):
        raise NodeTypeError(f"{describe_location(group.store, node.path)} is an array, not a group", path=node.path)
    return node
