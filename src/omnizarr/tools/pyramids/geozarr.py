"""The metadata of GeoZarr for the levels of rasters: the conventions `multiscales` and `spatial`.

Pixels are areas: all levels have the same origin, and the `translation` between them is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from omnizarr._json import Json
from omnizarr.errors import ArgumentError
from omnizarr.formats.document_keys import STATISTICS_ATTRIBUTE
from omnizarr.nodes import Array, Group
from omnizarr.tools.pyramids.levels import Series

__all__ = ["find_transform", "geo_attributes", "level_attributes", "spatial_dimensions"]

_PAIRS = (("y", "x"), ("lat", "lon"), ("latitude", "longitude"), ("northing", "easting"), ("rlat", "rlon"))
_METHODS = {"mean": "average"}
"""The names of methods in the convention, where they differ."""
_EVEN = 1e-4  # of a step: coordinates that differ less from even ones are even; single precision has less

_CONVENTIONS: dict[str, dict[str, Json]] = {
    "multiscales": {
        "schema_url": "https://raw.githubusercontent.com/zarr-conventions/multiscales/refs/tags/v1/schema.json",
        "spec_url": "https://github.com/zarr-conventions/multiscales/blob/v1/README.md",
        "uuid": "d35379db-88df-4056-af3a-620245f8e347",
        "name": "multiscales",
        "description": "Multiscale layout of zarr datasets",
    },
    "spatial": {
        "schema_url": "https://raw.githubusercontent.com/zarr-conventions/spatial/refs/tags/v0.1/schema.json",
        "spec_url": "https://github.com/zarr-conventions/spatial/blob/v0.1/README.md",
        "uuid": "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
        "name": "spatial",
        "description": "Spatial coordinate information",
    },
}


def spatial_dimensions(group: Group | None, arrays: Sequence[Array], choice: Sequence[str] | None) -> tuple[str, str]:
    """The names of the two spatial dimensions: the caller's `choice`, those of the attributes, or well-known ones."""
    candidates: list[Any] = [choice] if choice is not None else []
    if choice is None:
        candidates += [node.attrs.get("spatial:dimensions") for node in (*arrays, *([group] if group else []))]
        candidates += [
            (names[lowered.index(first)], names[lowered.index(second)])
            for names, lowered in _names(arrays)
            for first, second in _PAIRS
            if first in lowered and second in lowered
        ]
    for pair in candidates:
        if isinstance(pair, (list, tuple)) and len(pair) == 2 and any({*pair} <= {*n} for n, _ in _names(arrays)):
            return str(pair[0]), str(pair[1])
    named = sorted({str(name) for names, _ in _names(arrays) for name in names})
    raise ArgumentError(
        "`dims`: expected the names of the two spatial dimensions, found "
        + (", ".join(named) if named else "arrays without dimension names"),
        argument="dims",
        hint="name them, vertical first: `--dims lat,lon`",
    )


def _names(arrays: Sequence[Array]) -> list[tuple[list[str], list[str]]]:
    """The names of the dimensions of each array, as they are and in lower case."""
    every = [[str(name) for name in array.dimension_names or ()] for array in arrays]
    return [(names, [name.lower() for name in names]) for names in every]


def geo_attributes(
    attributes: Mapping[str, Json],
    series: Sequence[Series],
    dimensions: tuple[str, str],
    transform: Sequence[float] | None,
    assets: Sequence[Sequence[str]],
) -> dict[str, Json]:
    """The attributes of the group: `attributes` with the layout. `assets` has the paths of the levels: one list for
    each series, or one for all."""
    layout: list[Json] = []
    for one, paths in zip(series, assets, strict=False):
        positions = _positions(one, dimensions)
        for number, (level, path) in enumerate(zip(one.levels, paths, strict=True)):
            entry: dict[str, Json] = {"asset": path}
            if number:
                entry["derived_from"] = paths[number - 1]
            scale = [float(level.steps[position]) for position in positions]
            entry["transform"] = {"scale": list(scale), "translation": [0.0] * len(positions)}
            entry["spatial:shape"] = [level.shape[position] for position in positions]
            if transform is not None:
                factors = [level.factors[position] for position in positions]
                entry["spatial:transform"] = list(_scaled(transform, factors))
            layout.append(entry)
    method = series[0].method
    registered = attributes.get("zarr_conventions")
    conventions = [*registered] if isinstance(registered, list) else []
    for convention in _CONVENTIONS.values():
        if not any(isinstance(item, dict) and item.get("uuid") == convention["uuid"] for item in conventions):
            conventions.append(dict(convention))
    return {
        **attributes,
        "zarr_conventions": conventions,
        "multiscales": {"layout": layout, "resampling_method": _METHODS.get(method, method)},
        "spatial:dimensions": list(dimensions),
    }


def level_attributes(attributes: Mapping[str, Json], one: Series, number: int, dimensions: tuple[str, str]) -> Any:
    """The attributes of a level, with what `spatial:` says about level 0 adapted to it."""
    level = one.levels[number]
    changed = dict(attributes)
    if number:
        changed.pop(STATISTICS_ATTRIBUTE, None)  # statistics are of the chunks of level 0
    if not {*dimensions} <= {*(one.names or ())}:
        return changed
    positions = _positions(one, dimensions)
    if "spatial:shape" in changed:
        changed["spatial:shape"] = [level.shape[position] for position in positions]
    transform = changed.get("spatial:transform")
    if isinstance(transform, list) and len(transform) == 6:
        changed["spatial:transform"] = list(_scaled(transform, [level.factors[position] for position in positions]))
    return changed


def find_transform(group: Group | None, arrays: Sequence[Array], dimensions: tuple[str, str]) -> list[float] | None:
    """The transform of level 0: that of the attributes, or that of evenly spaced coordinates; None if unknown."""
    for node in (*arrays, *([group] if group is not None else [])):
        stored: Any = node.attrs.get("spatial:transform")
        if isinstance(stored, list) and len(stored) == 6:
            return [float(number) for number in stored]
    if group is None:
        return None
    y, x = (_even(group.get(name)) for name in dimensions)
    if x is None or y is None:
        return None
    return [x[1], 0.0, x[0] - x[1] / 2, 0.0, y[1], y[0] - y[1] / 2]


def _even(coordinate: Any) -> tuple[float, float] | None:
    """The first value and the step of evenly spaced coordinates."""
    if not isinstance(coordinate, Array) or coordinate.ndim != 1 or coordinate.size < 2:
        return None
    if coordinate.dtype.kind not in "iuf":
        return None
    values = np.asarray(coordinate[...], np.float64)
    step = (values[-1] - values[0]) / (len(values) - 1)
    expected = values[0] + step * np.arange(len(values))
    if not np.isfinite(step) or not step or not np.allclose(values, expected, rtol=0, atol=abs(step) * _EVEN):
        return None
    return float(values[0]), float(step)


def _positions(one: Series, dimensions: tuple[str, str]) -> list[int]:
    names = list(one.names or ())
    return [names.index(name) for name in dimensions]


def _scaled(transform: Sequence[Any], factors: Sequence[int]) -> list[float]:
    """The transform of pixels that are larger by these factors, vertical first."""
    a, b, c, d, e, f = (float(number) for number in transform)
    rows, columns = factors
    return [a * columns, b * rows, c, d * columns, e * rows, f]
