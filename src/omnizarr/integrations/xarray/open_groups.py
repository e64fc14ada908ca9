"""Opening one group as a dataset, or a group and all groups below it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from omnizarr.integrations.xarray.decode import decoded_dataset
from omnizarr.integrations.xarray.members import consistent_members
from omnizarr.integrations.xarray.open_location import OpenedLocation, OpenOptions, open_location
from omnizarr.integrations.xarray.read_ahead import ReadAhead
from omnizarr.integrations.xarray.variables import GroupVariables
from omnizarr.nodes import Array, Group

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = ["OpenOptions", "open_dataset", "open_groups"]


def open_dataset(source: Any, options: OpenOptions, drop: str | Iterable[str] | None, **decoders: Any) -> Dataset:
    """The group as a dataset; an array as a dataset with one variable."""
    opened = open_location(source, options)
    node = opened.node
    members = _only(opened) if isinstance(node, Array) else consistent_members(node)
    dataset = _decoded(_variables(node, members, options, _names(drop), ReadAhead()), decoders)
    dataset.set_close(opened.close)
    return dataset


def open_groups(
    source: Any, options: OpenOptions, drop: str | Iterable[str] | None, **decoders: Any
) -> dict[str, Dataset]:
    """The group and all groups below it as datasets, by path; that of the group is `/`."""
    opened = open_location(source, options)
    top = opened.node
    groups: dict[str, Any] = {"": top}
    members: dict[str, list[tuple[str, Any]]] = {"": _only(opened) if isinstance(top, Array) else []}
    for path, node in top.members(max_depth=None) if isinstance(top, Group) else ():
        parent, _, name = path.rpartition("/")
        if isinstance(node, Group):
            groups[path], members[path] = node, []
        else:
            members[parent].append((name, node))
    for path in _consolidated_groups(top):
        if path in groups and not members[path] and not groups[path].attrs:
            del groups[path], members[path]
    read_ahead = ReadAhead()  # one for the whole tree
    names = _names(drop)
    variables = {}
    for path, node in groups.items():
        consistent = members[path] if isinstance(node, Array) else consistent_members(node, members[path])
        variables[f"/{path}"] = _variables(node, consistent, options, names, read_ahead)
    datasets = {path: _decoded(group, decoders) for path, group in variables.items()}
    datasets["/"].set_close(opened.close)
    return datasets


def _consolidated_groups(top: Group | Array) -> Iterable[str]:
    """The groups that hold nothing but the consolidated metadata of `top`; the draft of 2020 has one."""
    dialect = top._context.dialect
    return dialect.consolidated_groups(top.path) if dialect.consolidated_key(top.path) is not None else ()


def _only(opened: OpenedLocation) -> list[tuple[str, Any]]:
    return [(opened.name, opened.node)]


def _variables(
    node: Group | Array, members: list[tuple[str, Any]], options: OpenOptions, drop: tuple[str, ...], ahead: ReadAhead
) -> GroupVariables:
    attributes = node.attrs.asdict() if isinstance(node, Group) else {}  # those of an array are those of its variable
    return GroupVariables(attributes, members, mask=options.fill_value_as_mask, drop=drop, read_ahead=ahead)


def _decoded(group: GroupVariables, decoders: dict[str, Any]) -> Dataset:
    return decoded_dataset(group.variables, group.attributes, decoders)


def _names(drop: str | Iterable[str] | None) -> tuple[str, ...]:
    return () if drop is None else (drop,) if isinstance(drop, str) else tuple(drop)
