"""What the viewer shows of nodes: members of groups, properties, documents, and how an array is best drawn."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from omnizarr._json import Json
from omnizarr.errors import OmnizarrError
from omnizarr.nodes import Array, Group
from omnizarr.serve.api.coordinates import coordinate_array
from omnizarr.serve.mounts import Mount
from omnizarr.tools.describe import ArrayInfo, GroupInfo, describe_array, describe_group, member_of

__all__ = ["Members", "NodeView", "describe_node", "list_members"]

_MOST_MEMBERS = 2000
_MOST_LEVELS = 32


@dataclass(frozen=True, slots=True)
class Members:
    """The direct members of a group."""

    members: list[Any]
    complete: bool
    reason: str | None = None
    """Why they cannot be listed."""


@dataclass(frozen=True, slots=True)
class DimensionView:
    """A dimension of an array."""

    name: str | None
    length: int
    coordinate: str | None
    """The path of its coordinate variable."""


@dataclass(frozen=True, slots=True)
class LevelView:
    """A level of a pyramid."""

    path: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as the viewer shows it."""

    info: ArrayInfo | GroupInfo
    documents: dict[str, Json]
    """The metadata documents, by key, as the library understands them."""
    nature: Literal["group", "image", "line", "table"]
    dimensions: list[DimensionView]
    levels: list[LevelView]
    labels: bool
    """Whether the elements are labels of regions, which get random colours."""
    fields: tuple[str, ...] | None
    """The fields of records."""
    complex: bool
    fill: float | None
    """The fill value, if it is a finite number."""


def list_members(node: Array | Group) -> Members:
    """The direct members of a group, unreadable ones included; of an array none."""
    if not isinstance(node, Group):
        return Members([], True)
    try:
        members = [member_of(name, each) for name, each in islice(node._children(), _MOST_MEMBERS + 1)]
    except OmnizarrError as error:
        return Members([], False, error.message)
    return Members(members[:_MOST_MEMBERS], len(members) <= _MOST_MEMBERS)


def describe_node(mount: Mount, path: str) -> NodeView:
    """What the viewer shows of the node at a path."""
    node = mount.open(path)
    documents = node._context.dialect.dump(node.path, node.metadata)
    if isinstance(node, Group):
        return NodeView(describe_group(node, 0), documents, "group", [], [], False, None, False, None)
    names = node.dimension_names or (None,) * node.ndim
    dimensions = []
    for number, (name, length) in enumerate(zip(names, node.shape, strict=True)):
        variable = coordinate_array(mount, path, node, number)
        dimensions.append(DimensionView(name, length, None if variable is None else variable.path))
    return NodeView(
        info=describe_array(node),
        documents=documents,
        nature=_nature(node),
        dimensions=dimensions,
        levels=_levels(mount, path, node),
        labels=_is_labels(path, node),
        fields=node.dtype.names,
        complex=node.dtype.kind == "c",
        fill=_fill(node),
    )


def _nature(array: Array) -> Literal["image", "line", "table"]:
    kind = array.dtype.kind
    is_number = kind in "biufcmM" or (kind == "V" and array.dtype.names is None and "void" not in array.dtype.name)
    if not array.ndim or not is_number or not array.size:
        return "table"
    return "line" if array.ndim == 1 else "image"


def _fill(array: Array) -> float | None:
    if array.dtype.kind not in "iuf":
        return None
    try:
        value = float(array.fill_value)
    except (TypeError, ValueError):
        return None
    return value if value - value == 0 else None


def _is_labels(path: str, array: Array) -> bool:
    if array.dtype.kind not in "iu":
        return False
    return any(part in ("labels", "label", "mask", "masks", "segmentation") for part in path.lower().split("/"))


def _levels(mount: Mount, path: str, array: Array) -> list[LevelView]:
    """The levels of the pyramid that the array belongs to, the finest first: OME-Zarr and GeoZarr."""
    if not isinstance(mount.node, Group):
        return []
    parts = path.split("/")
    for depth in range(len(parts) - 1, -1, -1):
        above, inside = "/".join(parts[:depth]), "/".join(parts[depth:])
        try:
            group = mount.open(above)
        except OmnizarrError:
            continue
        if isinstance(group, Group):
            names = _level_names(group.attrs.asdict())
            matching = [name for name in names if inside == name or inside.startswith(f"{name}/")]
            if matching:
                rest = inside[len(matching[0]) :]
                paths = ["/".join(filter(None, (above, name + rest))) for name in names[:_MOST_LEVELS]]
                return _shapes(mount, paths, array.ndim)
    return []


def _level_names(attributes: dict[str, Any]) -> list[str]:
    members = attributes.get("ome") if isinstance(attributes.get("ome"), dict) else attributes
    assert isinstance(members, dict)
    scales = members.get("multiscales")
    if isinstance(scales, list) and scales and isinstance(scales[0], dict):
        items = scales[0].get("datasets")
        keys: tuple[str, ...] = ("path",)
    elif isinstance(scales, dict):
        items, keys = scales.get("layout"), ("asset", "group")
    else:
        return []
    names = []
    for item in items if isinstance(items, list) else []:
        name = next((item[key] for key in keys if isinstance(item, dict) and isinstance(item.get(key), str)), None)
        if name is not None:
            names.append(name.strip("/"))
    return names


def _shapes(mount: Mount, paths: list[str], rank: int) -> list[LevelView]:
    levels = []
    for path in paths:
        try:
            node = mount.open(path)
        except OmnizarrError:
            continue
        if isinstance(node, Array) and node.ndim == rank:
            levels.append(LevelView(path, node.shape))
    return sorted(levels, key=lambda level: level.shape, reverse=True)
