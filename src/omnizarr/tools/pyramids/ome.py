"""The metadata of OME-Zarr 0.4 and 0.5 for the levels of an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnizarr import __version__
from omnizarr._json import Json
from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array, Group
from omnizarr.tools.pyramids.levels import Series

__all__ = ["VERSIONS", "axes_of", "find_image", "image_attributes", "ome_members", "reduced_dimensions"]

VERSIONS: dict[str, int] = {"0.4": 2, "0.5": 3}
"""The versions that are written, and the generation that each is defined for."""

_MEMBERS = ("multiscales", "omero", "image-label", "labels", "bioformats2raw.layout")
_TYPES = {"t": "time", "time": "time", "c": "channel", "channel": "channel", "x": "space", "y": "space", "z": "space"}
_GUESSED = {2: "yx", 5: "tczyx"}
_ORDER = ("time", "channel", "space")


def ome_members(attributes: Mapping[str, Json]) -> dict[str, Any]:
    """What the attributes of a group say in OME-Zarr of either version."""
    members = attributes.get("ome")
    if isinstance(members, dict):
        return {name: value for name, value in members.items() if name != "version"}
    return {name: attributes[name] for name in _MEMBERS if name in attributes}


def find_image(group: Group) -> Array | None:
    """The full resolution of an image that the metadata of a group name; None if they name none."""
    datasets = _image(ome_members(group.attrs)).get("datasets")
    path = (
        datasets[0].get("path") if isinstance(datasets, list) and datasets and isinstance(datasets[0], dict) else None
    )
    node = group.get(path) if isinstance(path, str) else None
    return node if isinstance(node, Array) else None


def axes_of(
    array: Array, members: Mapping[str, Any], choice: Sequence[str] | None, units: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The axes of an image: the `choice` of the caller, those of its metadata, or the dimensions of the array."""
    known = _image(members).get("axes")
    if choice is not None:
        names = list(choice)
    elif isinstance(known, list) and all(isinstance(axis, dict) and "name" in axis for axis in known):
        axes = [dict(axis) for axis in known]
        for axis in axes:
            if axis["name"] in units:
                axis["unit"] = units[axis["name"]]
        _check(array, axes)
        return axes
    elif array.dimension_names is not None and all(array.dimension_names):
        names = [str(name) for name in array.dimension_names]
    else:
        names = list(_GUESSED.get(array.ndim, ""))
    axes = []
    for name in names:
        if name.lower() not in _TYPES:
            raise _axes_error(f"`{name}` is no axis of an image: expected t, c, z, y or x")
        axis = {"name": name, "type": _TYPES[name.lower()]}
        axes.append(axis | {"unit": units[name]} if name in units else axis)
    _check(array, axes)
    unknown = set(units) - {axis["name"] for axis in axes}
    if unknown:
        raise ArgumentError(f"`units`: there is no axis `{min(unknown)}`", argument="units")
    return axes


def _check(array: Array, axes: Sequence[Mapping[str, Any]]) -> None:
    if len(axes) != array.ndim:
        raise _axes_error(f"array `{array.name}` has {array.ndim} dimensions, and there are {len(axes)} axes")
    types = [axis.get("type") for axis in axes]
    order = [_ORDER.index(kind) if kind in _ORDER else 1 for kind in types]
    names = {axis["name"] for axis in axes}
    if not 2 <= types.count("space") <= 3 or len(axes) > 5 or order != sorted(order) or len(names) < len(axes):
        raise _axes_error(f"OME-Zarr has t, c, z, y and x in this order, found {', '.join(a['name'] for a in axes)}")


def _axes_error(message: str) -> ArgumentError:
    return ArgumentError(
        f"`axes`: {message}",
        argument="axes",
        hint="name all axes in their order, such as `czyx` (--axes czyx); maps need `geo` (--geo)",
    )


def reduced_dimensions(axes: Sequence[Mapping[str, Any]], choice: Sequence[str] | None) -> set[int]:
    """The dimensions to reduce: the `choice` of the caller, or the last two of space."""
    names = [axis["name"] for axis in axes]
    if choice is None:
        return set([number for number, axis in enumerate(axes) if axis.get("type") == "space"][-2:])
    for name in choice:
        if name not in names:
            raise ArgumentError(f"`dims`: there is no axis `{name}`; there are {', '.join(names)}", argument="dims")
    return {names.index(name) for name in choice}


def image_attributes(
    attributes: Mapping[str, Json],
    members: Mapping[str, Any],
    version: str,
    series: Series,
    axes: list[dict[str, Any]],
    scale: Mapping[str, float],
    name: str,
) -> dict[str, Json]:
    """The attributes of the group: `attributes` and the `members` of OME-Zarr, with the levels of the image."""
    image = dict(_image(members))
    start, offset = _base_transform(image, axes, scale)
    image.setdefault("name", name)
    image |= {
        "axes": list(axes),
        "datasets": [
            {"path": level.path, "coordinateTransformations": _transforms(level.factors, start, offset, series.method)}
            for level in series.levels
        ],
        "type": series.method,
        "metadata": {
            "description": f"{series.method} of windows of {series.levels[1].steps} elements",
            "method": "omnizarr.tools.pyramid",
            "version": __version__,
        },
    }
    others = {name: value for name, value in attributes.items() if name not in (*_MEMBERS, "ome")}
    if version == "0.4":
        return {**others, **members, "multiscales": [{**image, "version": version}, *_others(members)]}
    image.pop("version", None)
    return {**others, "ome": {"version": version, **members, "multiscales": [image, *_others(members)]}}


def _image(members: Mapping[str, Any]) -> Mapping[str, Any]:
    images = members.get("multiscales")
    return images[0] if isinstance(images, list) and images and isinstance(images[0], dict) else {}


def _others(members: Mapping[str, Any]) -> list[Any]:
    images = members.get("multiscales")
    return images[1:] if isinstance(images, list) else []


def _base_transform(
    image: Mapping[str, Any], axes: Sequence[Mapping[str, Any]], scales: Mapping[str, float]
) -> tuple[list[float], list[float]]:
    """The scale and the translation of level 0."""
    names = [axis["name"] for axis in axes]
    scale, offset = [1.0] * len(axes), [0.0] * len(axes)
    datasets = image.get("datasets")
    first = datasets[0] if isinstance(datasets, list) and datasets and isinstance(datasets[0], dict) else {}
    for transform in first.get("coordinateTransformations") or ():
        for kind, numbers in (("scale", scale), ("translation", offset)):
            stored = transform.get(kind) if isinstance(transform, dict) else None
            if isinstance(stored, list) and len(stored) == len(axes):
                numbers[:] = map(float, stored)
    for name, number in scales.items():
        if name not in names:
            raise ArgumentError(f"`scale`: there is no axis `{name}`; there are {', '.join(names)}", argument="scale")
        scale[names.index(name)] = float(number)
    return scale, offset


def _transforms(factors: Sequence[int], scale: Sequence[float], offset: Sequence[float], method: str) -> list[Json]:
    """The transformations of a level. An element of `nearest` is the first of its window, so it lies at that place. All
    other methods sum up the window, so their elements lie at its centre."""
    steps = [number * factor for number, factor in zip(scale, factors, strict=True)]
    centre = 0.0 if method == "nearest" else 0.5
    places = [
        start + (factor - 1) * centre * number for start, factor, number in zip(offset, factors, scale, strict=True)
    ]
    transforms: list[Json] = [{"type": "scale", "scale": list(steps)}]
    if any(places):
        transforms.append({"type": "translation", "translation": list(places)})
    return transforms
