"""`pyramid`: a plan that makes lower resolutions of images and rasters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from omnizarr._json import Json
from omnizarr.api.array_like import from_array
from omnizarr.api.create_nodes import create_group
from omnizarr.api.hierarchy import consolidate_metadata
from omnizarr.api.location import StoreLike, resolve
from omnizarr.errors import ArgumentError, NodeExistsError, NodeNotFoundError, OmnizarrError
from omnizarr.formats import dialect_for
from omnizarr.model import ZarrFormat, join_path
from omnizarr.nodes import Array, Group
from omnizarr.nodes.create.node import create_node
from omnizarr.nodes.node import NodeContext
from omnizarr.nodes.open import open_node
from omnizarr.store import MemoryStore
from omnizarr.tools.locations import open_location
from omnizarr.tools.plans.copy import contains, journal_store, plan_identity
from omnizarr.tools.plans.joined import join_stages
from omnizarr.tools.plans.journal import PlanJournal
from omnizarr.tools.plans.plan import Plan
from omnizarr.tools.plans.regions import CopyRegions, group_chunks, without_attributes
from omnizarr.tools.plans.stage import Stage
from omnizarr.tools.pyramids.geo import geo_image
from omnizarr.tools.pyramids.images import Edges, Image, ImageOptions, ome_image
from omnizarr.tools.pyramids.levels import Series, chunk_options
from omnizarr.tools.pyramids.ome import VERSIONS
from omnizarr.tools.pyramids.reduce import Method, check_method
from omnizarr.tools.pyramids.stage import ReduceRegions

__all__ = ["pyramid"]


def pyramid(
    source: Array | Group | str,
    target: StoreLike = None,
    *,
    levels: int | None = None,
    method: Method | None = None,
    ome: Literal["0.4", "0.5"] | None = None,
    geo: bool = False,
    dims: Sequence[str] | None = None,
    axes: Sequence[str] | None = None,
    scale: Mapping[str, float] | None = None,
    units: Mapping[str, str] | None = None,
    missing: Any = None,
    edges: Edges | None = None,
    force: bool = False,
    resume: bool = False,
    verify: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> Plan:
    """A plan that makes lower resolutions of an image or of rasters, each half as long as the one before.

    Without `target`, the levels are stored beside the source, in the group that contains it; otherwise the target gets
    a copy of the source as level 0, too. The last step writes the metadata of OME-Zarr or GeoZarr to the group, so
    readers see a pyramid when it is complete.

    Example:
        >>> omnizarr.tools.pyramid("image.zarr/0", levels=3).run().finished
        True

    Args:
        source: a handle or a location: an array, a group with one, or for GeoZarr a group of variables.
        target: a path, a URL or a store for a new group.
        levels: the number of reduced levels; None makes them until at most 256 elements remain along each reduced
            dimension.
        method: `mean`, `nearest`, `mode` (for labels) or `max`; None is `mode` for labels of OME-Zarr, else `mean`.
            NaN and missing elements do not count. Means of integers are rounded towards zero.
        ome: write metadata of OME-Zarr 0.4 (Zarr v2) or 0.5 (Zarr v3). None with `geo=False` chooses by generation.
        geo: write metadata of GeoZarr instead.
        dims: the names of the dimensions to reduce; None reduces the last two of space.
        axes: the names of all dimensions of an image, such as "tczyx", if the array has no dimension names.
        scale: the size of a pixel by dimension, for OME-Zarr; None keeps that of earlier metadata, or 1.
        units: the units by dimension, for OME-Zarr.
        missing: the value of missing elements; None reads the attributes `_FillValue` and `missing_value`.
        edges: whether the last element along a dimension of odd length is dropped ("drop", as ome-zarr-py does; the
            default for OME-Zarr) or makes an element of its own ("keep", as GDAL does; the default for GeoZarr).
        force: replace nodes where levels go.
        resume: continue an earlier run.
        verify: read each region back after it is written, and compare.
        storage_options: options of the store of the target, or without target of the source.
    """
    node = _open(source, target, storage_options)
    if ome is not None and geo:
        raise ArgumentError("`ome` and `geo` exclude each other", argument="ome")
    if ome is not None and ome not in VERSIONS:
        raise ArgumentError(f"`ome`: expected one of {', '.join(VERSIONS)}, found {ome!r}", argument="ome")
    if edges not in (None, "drop", "keep"):
        raise ArgumentError(f"`edges`: expected `drop` or `keep`, found {edges!r}", argument="edges")
    options = ImageOptions(
        levels, method, ome, dims, axes, dict(scale or {}), dict(units or {}), missing, edges, target is not None
    )
    image = geo_image(node, options) if geo else ome_image(node, options)
    for series in image.series:
        check_method(series.method, series.source.dtype)
    place = _place(node, image, target, storage_options)
    if target is not None and contains(node.store, node.path, place.context.store, place.context.path):
        raise ArgumentError("`target`: lies in the source, or contains it", argument="target")
    return _plan(place, image, options, force=force, resume=resume, verify=verify)


def _open(source: Array | Group | str, target: StoreLike, storage_options: dict[str, Any] | None) -> Array | Group:
    if not isinstance(source, str):
        return source
    options = storage_options if target is None else None
    return open_location(source, storage_options=options, writable=target is None).node


@dataclass(frozen=True)
class _Place:
    """Where the levels go."""

    context: NodeContext
    """The context of the group."""
    zarr_format: ZarrFormat
    new: bool
    """Whether the group is a new one."""

    def exists(self, path: str) -> bool:
        """Whether there is a node, of whatever generation."""
        try:
            open_node(self.context.store, join_path(self.context.path, path), exact=True)
        except NodeNotFoundError:
            return False
        except OmnizarrError:
            pass  # a node that cannot be read
        return True

    def preview(self, series: Series, number: int, attributes: dict[str, Json], *, slashes: bool) -> Array:
        """The handle of a level. Nothing is stored: its store is in memory meanwhile."""
        level = series.levels[number]
        options: dict[str, Any] = {"zarr_format": self.zarr_format, "attributes": attributes}
        if number:
            options |= {"shape": level.shape, **chunk_options(series.source, level.shape)}
        if self.zarr_format == 3 and series.names is not None:
            options["dimension_names"] = series.names
        if series.source.zarr_format != self.zarr_format:
            options["shards"] = None  # which the other generation may lack
        if slashes and self.zarr_format == 2:
            options["chunk_key_encoding"] = {"name": "v2", "separator": "/"}
        array = from_array(MemoryStore(), data=series.source, write_data=False, **options)
        context = self.context._replace(path=join_path(self.context.path, level.path), cache=None)
        return type(array)(context._replace(dialect=array._context.dialect), array.metadata)


def _place(node: Array | Group, image: Image, target: StoreLike, storage_options: dict[str, Any] | None) -> _Place:
    if target is not None:
        store, path = resolve(target, storage_options)
        zarr_format: ZarrFormat = image.zarr_format or 3
        return _Place(NodeContext(store, path, dialect_for(zarr_format)), zarr_format, True)
    if image.group is None:
        raise ArgumentError(
            f"`{node.name}` is not in a group, which the metadata of a pyramid need",
            argument="target",
            hint="name a target, which gets a copy of the array as level 0",
        )
    if image.zarr_format is not None and node.zarr_format != image.zarr_format:
        raise ArgumentError(
            f"OME-Zarr {image.version} needs Zarr v{image.zarr_format}, and `{node.name}` is in another generation",
            argument="ome",
            hint="name a target, which gets a converted copy of the array as level 0",
        )
    return _Place(image.group._context, node.zarr_format, False)


def _plan(place: _Place, image: Image, options: ImageOptions, *, force: bool, resume: bool, verify: bool) -> Plan:
    context = place.context
    identity = plan_identity("pyramid", image.node, context.store, context.path, image.version, options)
    journal = PlanJournal(journal_store(context.store), identity)
    arrays: list[Array] = []
    copies: list[Stage] = []
    reductions: dict[int, list[Stage]] = {}
    for series in image.series:
        before = series.source
        for number in range(len(series.levels)):
            if not number and not place.new:
                continue
            attributes = image.array_attributes(series, number)
            array = place.preview(series, number, attributes, slashes=image.version is not None)
            arrays.append(array)
            after, source = without_attributes(array), without_attributes(before)
            if not array.size:
                continue
            if not number:
                copies.append(CopyRegions(source, after, group_chunks(after), verify))
            else:
                steps, method, missing = series.levels[number].steps, series.method, series.missing
                stage = ReduceRegions(source, after, group_chunks(after), verify, steps, method, missing)
                reductions.setdefault(number, []).append(stage)
            before = array
    passes = [copies, *(reductions[number] for number in sorted(reductions))]
    return Plan(
        f"pyramid {image.node.store.location}/{image.node.path} to {context.store.location}/{context.path}",
        tuple(stage for independent in passes for stage in join_stages(independent)),
        journal,
        begin=partial(_begin, place, image, arrays, journal, force),
        end=partial(_end, place, image),
        check=_pass if force else partial(_check_free, place, arrays),
        notes=image.notes,
        needs_threads=journal.store is None,
        erases=force,
    )


def _pass() -> None:
    pass


def _check_free(place: _Place, arrays: Sequence[Array]) -> None:
    """Raises NodeExistsError if there is a node where one of the arrays goes."""
    top = [""] if place.new else []
    below = [array.path[len(place.context.path) :].strip("/") for array in arrays]
    for path in (*top, *below):
        if place.exists(path):
            location = f"{place.context.store.location}/{join_path(place.context.path, path)}".rstrip("/")
            raise NodeExistsError(f"there is a node at {location}", hint="`force` (--force) replaces it")


def _begin(place: _Place, image: Image, arrays: Sequence[Array], journal: PlanJournal, force: bool) -> None:
    """Creates the group and the arrays. The metadata of the pyramid come last, in `_end`."""
    context = place.context
    if place.new:
        with suppress(NodeExistsError):
            create_group(context.store, path=context.path, zarr_format=place.zarr_format, overwrite=force)
        journal.claim("pyramid")  # replacing the root of a store erased the journal, too
    for array in arrays:
        try:
            create_node(array._context, array.metadata, overwrite=force)
        except NodeExistsError:
            if not journal.begun():
                raise  # otherwise an interrupted run has created it


def _end(place: _Place, image: Image) -> None:
    """Writes the metadata of the pyramid, and publishes what a store keeps back until it is flushed."""
    context = place.context
    group = open_node(context.store, context.path, exact=True)
    if not place.new and image.group is not None:
        group = image.group
    assert isinstance(group, Group)
    if image.base_names is not None and not place.new:
        names = image.base_names
        image.series[0].source._change(lambda model: replace(model, dimension_names=names))
    edit: Callable[[dict[str, Json]], dict[str, Json]] = image.group_attributes
    group._change_attributes(edit)
    if place.new and image.consolidates:
        consolidate_metadata(context.store, path=context.path, zarr_format=place.zarr_format)
    context.store.flush()
