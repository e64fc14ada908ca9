"""The rasters of a GeoZarr pyramid: the variables of a group, or one array, with their coordinates."""

from __future__ import annotations

from functools import partial

from omnizarr._json import Json
from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array, Group
from omnizarr.tools.pyramids.geozarr import find_transform, geo_attributes, level_attributes, spatial_dimensions
from omnizarr.tools.pyramids.images import Image, ImageOptions, dropped_notes, group_above, missing_notes
from omnizarr.tools.pyramids.levels import PyramidLevel, Series, count_levels, level_path, make_levels
from omnizarr.tools.pyramids.missing import missing_value

__all__ = ["geo_image"]


def geo_image(node: Array | Group, options: ImageOptions) -> Image:
    """The rasters at a node."""
    for argument in ("axes", "scale", "units"):
        if getattr(options, argument):
            raise ArgumentError(f"`{argument}` belongs to OME-Zarr, not to GeoZarr", argument=argument)
    group = group_above(node) if isinstance(node, Array) else node
    around = [] if group is None else [array for _, array in sorted(group.arrays())]
    candidates = [node] if isinstance(node, Array) else around
    dimensions = spatial_dimensions(group, candidates, options.dims)
    rasters = [array for array in candidates if {*dimensions} <= {*(array.dimension_names or ())}]
    rasters = [array for array in rasters if not _is_level(array, rasters)]
    lengths = {tuple(array.shape[number] for number in _positions(array, dimensions)) for array in rasters}
    if len(lengths) != 1:
        raise ArgumentError(
            f"the arrays of group `{node.name}` have different lengths along {' and '.join(dimensions)}",
            argument="source",
            hint="name one of the arrays",
        )
    count = count_levels(next(iter(lengths)), (0, 1), options.levels)
    siblings = len(rasters) == 1 and not options.copies and "/" not in level_path(rasters[0].basename, 1)
    keep = options.edges != "drop"
    method = options.method or "mean"
    series = [
        Series(
            array,
            make_levels(
                array.shape,
                _positions(array, dimensions),
                _paths(array, count, new=options.copies),
                keep_edges=keep,
            ),
            method,
            missing_value(array, options.missing, use_fill_value=_fill_is_missing(array)),
            array.dimension_names,
        )
        for array in rasters
    ]
    every = [*series]
    if not siblings:
        for array in around:
            if not any(array.path == one.source.path for one in series):
                every += _accompanying(array, dimensions, count, options, keep, method)
    transform = find_transform(group, rasters, dimensions)
    assets = (
        [[str(number) for number in range(count + 1)]]
        if options.copies
        else [[level.path for level in one.levels] for one in series]
    )
    attributes = {} if group is None else dict(group.attrs)

    def group_attributes(stored: dict[str, Json]) -> dict[str, Json]:
        before = {**attributes, **stored} if options.copies else stored
        return geo_attributes(before, series, dimensions, transform, assets)

    notes = [*missing_notes(series), *([] if keep else dropped_notes(series[0]))]
    return Image(
        node,
        group,
        tuple(every),
        group_attributes,
        partial(_array_attributes, dimensions),
        consolidates=True,
        notes=tuple(notes),
    )


def _array_attributes(dimensions: tuple[str, str], one: Series, number: int) -> dict[str, Json]:
    attributes: dict[str, Json] = level_attributes(dict(one.source.attrs), one, number, dimensions)
    return attributes


def _paths(array: Array, count: int, *, new: bool) -> list[str]:
    """The paths of the levels of an array. In a new group, each level is a group of all variables."""
    name = array.basename or "data"
    return [f"{number}/{name}" if new else level_path(name, number) for number in range(count + 1)]


def _is_level(array: Array, others: list[Array]) -> bool:
    """Whether an array is a level of another one, of an earlier run."""
    return any(array.basename == level_path(other.basename, number) for other in others for number in range(1, 32))


def _positions(array: Array, dimensions: tuple[str, str]) -> list[int]:
    names = list(array.dimension_names or ())
    return [names.index(name) for name in dimensions]


def _fill_is_missing(array: Array) -> bool:
    """Whether the fill value of an array is the value of missing elements, as for xarray in generations that can leave
    it undefined."""
    return array._context.dialect.allows_undefined_fill


def _accompanying(
    array: Array, dimensions: tuple[str, str], count: int, options: ImageOptions, keep: bool, method: str
) -> list[Series]:
    """The levels of a coordinate or a variable without dimensions, which every level of a raster needs. Coordinates of
    the spatial dimensions are reduced; those of windows are the means."""
    name, names = array.basename, array.dimension_names
    paths = [path if "/" in path else f"{number}/{name}" for number, path in enumerate(_paths(array, count, new=True))]
    if not options.copies:
        paths[0] = name
    own = "nearest" if method == "nearest" or array.dtype.kind not in "iufmM" else "mean"
    if array.ndim == 1 and names is not None and names[0] in dimensions:
        levels = make_levels(array.shape, (0,), paths, keep_edges=keep)
        return [Series(array, levels, own, None, names)]  # type: ignore[arg-type]
    if array.ndim == 0 or (array.ndim == 1 and names == (name,)):
        one = (1,) * array.ndim
        same = tuple(PyramidLevel(path, array.shape, one, one) for path in paths)
        return [Series(array, same, "nearest", None, names)]
    return []
