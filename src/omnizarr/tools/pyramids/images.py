"""What a pyramid is made of: its arrays with their levels, and how their metadata are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from omnizarr._json import Json
from omnizarr.errors import ArgumentError, NodeNotFoundError
from omnizarr.model import ZarrFormat
from omnizarr.nodes import Array, Group
from omnizarr.nodes.open import open_node
from omnizarr.tools.pyramids.levels import Series, count_levels, level_path, make_levels
from omnizarr.tools.pyramids.missing import missing_value
from omnizarr.tools.pyramids.ome import (
    VERSIONS,
    axes_of,
    find_image,
    image_attributes,
    ome_members,
    reduced_dimensions,
)
from omnizarr.tools.pyramids.reduce import Method

__all__ = ["Edges", "Image", "ImageOptions", "dropped_notes", "group_above", "missing_notes", "ome_image"]

Edges: TypeAlias = Literal["drop", "keep"]


@dataclass(frozen=True)
class ImageOptions:
    """The arguments of `pyramid` that say what the levels are."""

    levels: int | None
    method: Method | None
    ome: str | None
    dims: Sequence[str] | None
    axes: Sequence[str] | None
    scale: Mapping[str, float]
    units: Mapping[str, str]
    missing: Any
    edges: Edges | None
    copies: bool
    """Whether a target gets a copy of the source."""


@dataclass(frozen=True)
class Image:
    """The arrays of a pyramid, and the functions that make their attributes."""

    node: Array | Group
    group: Group | None
    """The group that contains the source, or that is the source."""
    series: tuple[Series, ...]
    group_attributes: Callable[[dict[str, Json]], dict[str, Json]]
    """The attributes of the group of the pyramid, from those that it has."""
    array_attributes: Callable[[Series, int], dict[str, Json]]
    """The attributes of a level."""
    version: str | None = None
    """The version of OME-Zarr; None for GeoZarr."""
    zarr_format: ZarrFormat | None = None
    """The generation that the metadata need; None for any."""
    base_names: tuple[str, ...] | None = None
    """Dimension names that level 0 gets; None keeps its own."""
    consolidates: bool = False
    """Whether a new group gets consolidated metadata."""
    notes: tuple[str, ...] = ()


def group_above(array: Array) -> Group | None:
    """The group that contains an array."""
    if not array.path:
        return None
    parent = array.path.rpartition("/")[0]
    context = array._context
    try:
        group = open_node(array.store, parent, zarr_format=array.zarr_format, exact=True)
    except NodeNotFoundError:
        return None
    if not isinstance(group, Group):
        return None
    return group if context.consolidated is None else Group(context.at(parent), group.metadata)


def ome_image(node: Array | Group, options: ImageOptions) -> Image:
    """The image of OME-Zarr at a node."""
    group = group_above(node) if isinstance(node, Array) else node
    base = node if isinstance(node, Array) else _base_of(node)
    attributes = {} if group is None else dict(group.attrs)
    members = ome_members(attributes)
    image = None if group is None else find_image(group)
    if image is not None and image.path != base.path:
        raise ArgumentError(
            f"the metadata of the group name `{image.name}` as the full resolution, not `{base.name}`",
            argument="source",
            hint=f"name `{image.name}`, or a target",
        )
    axes = axes_of(base, members, options.axes, options.units)
    reduced = reduced_dimensions(axes, options.dims)
    count = count_levels(base.shape, reduced, options.levels)
    name = "0" if options.copies else base.basename
    paths = [level_path(name, number) for number in range(count + 1)]
    keep = options.edges == "keep"
    method = options.method or ("mode" if "image-label" in members else "mean")
    missing = missing_value(base, options.missing, use_fill_value=False)
    names = tuple(str(axis["name"]) for axis in axes)
    levels = make_levels(base.shape, reduced, paths, keep_edges=keep)
    series = Series(base, levels, method, missing, names)
    version = options.ome or _version_of(node, options)
    stored_attributes = dict(base.attrs)
    title = (base.basename if isinstance(node, Array) else node.basename) or "image"

    def group_attributes(stored: dict[str, Json]) -> dict[str, Json]:
        before = {**attributes, **stored} if options.copies else stored
        own = members if options.copies else ome_members(stored)
        return image_attributes(before, own, version, series, axes, options.scale, title)

    image_attributes(
        attributes, members, version, series, axes, options.scale, title
    )  # raises before anything is written
    notes = (*missing_notes([series]), *(() if keep else dropped_notes(series)))
    return Image(
        node,
        group,
        (series,),
        group_attributes,
        lambda one, number: dict(stored_attributes),
        version,
        VERSIONS[version],  # type: ignore[arg-type]
        names if base.zarr_format == 3 and base.dimension_names != names else None,
        notes=notes,
    )


def _version_of(node: Array | Group, options: ImageOptions) -> str:
    """The version of OME-Zarr for the generation of the node; for a new group the newest."""
    if options.copies:
        return max(VERSIONS)
    return next((version for version, number in VERSIONS.items() if number == node.zarr_format), max(VERSIONS))


def _base_of(group: Group) -> Array:
    """The array of full resolution in a group."""
    image = find_image(group)
    if image is not None:
        return image
    arrays = dict(group.arrays())
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    for name in ("0", "s0"):
        if name in arrays:
            return arrays[name]
    names = ", ".join(sorted(arrays)[:8]) or "none"
    raise ArgumentError(
        f"group `{group.name}` has no image: expected one array, `0` or `s0`, found {names}",
        argument="source",
        hint="name the array" if arrays else None,
    )


def missing_notes(series: Sequence[Series]) -> list[str]:
    """What a person should know about missing elements."""
    return [
        f"elements of `{one.source.name}` that are {one.missing} count as missing"
        for one in series
        if one.missing is not None
    ]


def dropped_notes(series: Series) -> list[str]:
    """What a person should know about odd lengths."""
    before, notes = series.levels[0], []
    for level in series.levels[1:]:
        odd = [number for number, step in enumerate(level.steps) if before.shape[number] % step]
        if odd:
            dimensions = f"dimension{'s' if len(odd) > 1 else ''} {', '.join(map(str, odd))}"
            notes.append(f"level `{level.path}` leaves out the last element of {dimensions}")
        before = level
    return notes
