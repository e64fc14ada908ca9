"""OME-Zarr 0.4 and 0.5: axes, levels and transformations of images, channels, labels, plates and wells."""

from __future__ import annotations

import re
from typing import Any

from omnizarr._json import Json
from omnizarr.model import join_path
from omnizarr.tools.validation.conventions.hierarchy_view import HierarchyView, is_number

__all__ = ["check"]

_AXIS_ORDER = {"time": 0, "channel": 1, "space": 2}


def check(view: HierarchyView) -> None:
    has_metadata = False
    for group in list(view.groups()):
        attributes = view.attributes(group)
        ome = attributes.get("ome")
        place = "$.ome" if isinstance(ome, dict) else "$"
        members: dict[str, Any] = ome if isinstance(ome, dict) else attributes
        if not any(name in members for name in ("multiscales", "plate", "well", "labels", "bioformats2raw.layout")):
            continue
        has_metadata = True
        _check_version(view, group, members, isinstance(ome, dict))
        if "multiscales" in members:
            _check_multiscales(view, group, members["multiscales"], f"{place}.multiscales")
        if "omero" in members:
            _check_omero(view, group, members["omero"], f"{place}.omero")
        if "plate" in members:
            _check_plate(view, group, members["plate"], f"{place}.plate")
        if "well" in members:
            _check_well(view, group, members["well"], f"{place}.well")
        if isinstance(members.get("labels"), list):
            for name in members["labels"]:
                if isinstance(name, str) and not view.is_group(join_path(group, name)):
                    view.add("labels", group, f"there is no image `{name}`", "add it, or remove its name", place=place)
    if not has_metadata:
        view.add("image", view.top, "no group has OME metadata", "add the attribute `ome` (0.5) or `multiscales` (0.4)")


def _check_version(view: HierarchyView, group: str, members: dict[str, Any], has_ome: bool) -> None:
    version = members.get("version")
    if has_ome:
        if not (isinstance(version, str) and re.match(r"0\.[5-9]", version)):
            view.add(
                "version", group, f"expected 0.5, found {version!r}", 'set "version": "0.5"', place="$.ome.version"
            )
        if view.zarr_format != 3:
            view.add("version", group, "version 0.5 needs Zarr v3", "write Zarr v3, or version 0.4")
    elif view.zarr_format == 3:
        view.add(
            "version",
            group,
            "version 0.4 needs Zarr v2: in v3 the metadata are members of `ome`",
            "move the metadata into the attribute `ome`, with version 0.5",
        )


def _check_multiscales(view: HierarchyView, group: str, value: Json, place: str) -> None:
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        view.add("multiscales", group, f"expected a list of objects, found {value!r:.60}", "write a list", place=place)
        return
    for index, item in enumerate(value):
        where = f"{place}[{index}]"
        axes = _check_axes(view, group, item.get("axes"), f"{where}.axes")
        _check_levels(view, group, item.get("datasets"), axes, f"{where}.datasets")
        if "coordinateTransformations" in item:
            _check_transforms(
                view, group, item["coordinateTransformations"], axes, f"{where}.coordinateTransformations"
            )


def _check_axes(view: HierarchyView, group: str, axes: Json, place: str) -> list[dict[str, Any]] | None:
    def bad(message: str) -> None:
        view.add(
            "axes", group, message, "2 to 5 axes with names and types: time, channel, 2 or 3 of space", place=place
        )

    if not isinstance(axes, list) or not all(
        isinstance(axis, dict) and isinstance(axis.get("name"), str) for axis in axes
    ):
        bad(f"expected a list of objects with names, found {axes!r:.60}")
        return None
    names, kinds = [axis["name"] for axis in axes], [axis.get("type") for axis in axes]
    if not 2 <= len(axes) <= 5:
        bad(f"expected 2 to 5 axes, found {len(axes)}")
    if len(set(names)) < len(names):
        bad(f"two axes have the same name: {', '.join(names)}")
    if kinds.count("space") not in (2, 3):
        bad(f"expected 2 or 3 axes of type `space`, found {kinds.count('space')}")
    if kinds.count("time") > 1 or kinds.count("channel") > 1:
        bad("expected at most one axis of time and one of channels")
    order = [_AXIS_ORDER.get(str(kind), 1) for kind in kinds]
    if order != sorted(order):
        bad(f"expected the order time, channel, space, found {', '.join(str(kind) for kind in kinds)}")
    return axes


def _check_levels(
    view: HierarchyView, group: str, datasets: Json, axes: list[dict[str, Any]] | None, place: str
) -> None:
    if not isinstance(datasets, list) or not datasets:
        view.add("datasets", group, "expected a list of levels", "list the arrays, the largest first", place=place)
        return
    previous: tuple[int, ...] | None = None
    first_type: str | None = None
    for index, item in enumerate(datasets):
        where = f"{place}[{index}]"
        path = item.get("path") if isinstance(item, dict) else None
        if not isinstance(path, str):
            view.add(
                "datasets", group, f"expected an object with a path, found {item!r:.60}", "add `path`", place=where
            )
            continue
        _check_transforms(
            view,
            group,
            item.get("coordinateTransformations"),
            axes,
            f"{where}.coordinateTransformations",
            required=True,
        )
        location = join_path(group, path.strip("/"))
        array = view.array(location)
        if array is None:
            view.add("datasets", group, f"there is no array `{path}`", "write the level, or remove it", place=where)
            continue
        if axes is not None and len(array.shape) != len(axes):
            view.add(
                "axes",
                location,
                f"has {len(array.shape)} dimensions, but there are {len(axes)} axes",
                "all levels have the dimensions of `axes`",
            )
        names = view.dimensions(location)
        if axes is not None and names is not None and list(names) != [axis["name"] for axis in axes]:
            view.add(
                "axes",
                location,
                f"has the dimension names {', '.join(map(str, names))}, which are not those of `axes`",
                "use the names of `axes`",
            )
        if first_type is None:
            first_type = array.data_type.name
        elif array.data_type.name != first_type:
            view.add("datasets", location, f"has type {array.data_type.name}, not {first_type}", "use one type")
        if previous is not None and any(a > b for a, b in zip(array.shape, previous, strict=False)):
            view.add("datasets", location, "is larger than the level before", "list the largest level first")
        previous = array.shape
        separator = getattr(array.chunk_keys, "separator", "/")
        if view.zarr_format == 2 and separator != "/" and len(array.shape) > 1:
            view.add("chunk keys", location, "version 0.4 has chunk keys with `/`", 'use "dimension_separator": "/"')


def _check_transforms(
    view: HierarchyView, group: str, value: Json, axes: list[Any] | None, place: str, *, required: bool = False
) -> None:
    def bad(message: str) -> None:
        view.add(
            "coordinateTransformations",
            group,
            message,
            "one `scale`, then at most one `translation`, of one number per axis",
            place=place,
        )

    if value is None and not required:
        return
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        bad(f"expected a list of objects, found {value!r:.60}")
        return
    kinds = [item.get("type") for item in value]
    if kinds not in (["scale"], ["scale", "translation"]):
        bad(f"expected `scale` and an optional `translation`, found {', '.join(map(str, kinds)) or 'none'}")
        return
    for item in value:
        numbers = item.get(item["type"])
        if isinstance(item.get("path"), str):
            continue
        if not isinstance(numbers, list) or not all(map(is_number, numbers)):
            bad(f"`{item['type']}`: expected a list of numbers, found {numbers!r:.60}")
        elif axes is not None and len(numbers) != len(axes):
            bad(f"`{item['type']}` has {len(numbers)} numbers, but there are {len(axes)} axes")
        elif item["type"] == "scale" and any(number <= 0 for number in numbers):
            bad("`scale`: expected positive numbers")


def _check_omero(view: HierarchyView, group: str, value: Json, place: str) -> None:
    channels = value.get("channels") if isinstance(value, dict) else None
    if not isinstance(channels, list):
        view.add("omero", group, "expected an object with a list of `channels`", "list the channels", place=place)
        return
    for index, channel in enumerate(channels):
        where = f"{place}.channels[{index}]"
        color = channel.get("color") if isinstance(channel, dict) else None
        window = channel.get("window") if isinstance(channel, dict) else None
        if not (isinstance(color, str) and re.fullmatch(r"[0-9A-Fa-f]{6}", color)):
            view.add("omero", group, f"expected a color such as FF0000, found {color!r}", "correct it", place=where)
        if not isinstance(window, dict) or not all(
            is_number(window.get(name)) for name in ("min", "max", "start", "end")
        ):
            view.add("omero", group, "expected a window with min, max, start and end", "add the numbers", place=where)


def _check_plate(view: HierarchyView, group: str, value: Json, place: str) -> None:
    if not isinstance(value, dict):
        view.add("plate", group, "expected an object", "add rows, columns and wells", place=place)
        return
    counts = {}
    for member in ("rows", "columns"):
        items = value.get(member)
        names = (
            [item.get("name") if isinstance(item, dict) else None for item in items] if isinstance(items, list) else []
        )
        counts[member] = len(names)
        if (
            not names
            or not all(isinstance(name, str) and name.isalnum() for name in names)
            or len(set(names)) < len(names)
        ):
            view.add(
                "plate",
                group,
                f"expected a list of {member} with unique names",
                "correct it",
                place=f"{place}.{member}",
            )
    wells = value.get("wells")
    for index, well in enumerate(wells if isinstance(wells, list) else ()):
        path = well.get("path") if isinstance(well, dict) else None
        where = f"{place}.wells[{index}]"
        if not isinstance(path, str) or not view.is_group(join_path(group, path)):
            view.add("plate", group, f"there is no well `{path}`", "write the well, or remove it", place=where)
            continue
        for member, name in (("rows", "rowIndex"), ("columns", "columnIndex")):
            number = well.get(name)
            if not isinstance(number, int) or not 0 <= number < max(1, counts[member]):
                view.add(
                    "plate",
                    group,
                    f"`{name}`: expected an index into {member}, found {number!r}",
                    "correct it",
                    place=where,
                )


def _check_well(view: HierarchyView, group: str, value: Json, place: str) -> None:
    images = value.get("images") if isinstance(value, dict) else None
    if not isinstance(images, list) or not images:
        view.add("well", group, "expected an object with a list of `images`", "list the fields of view", place=place)
        return
    for index, image in enumerate(images):
        path = image.get("path") if isinstance(image, dict) else None
        if not isinstance(path, str) or not view.is_group(join_path(group, path)):
            view.add(
                "well", group, f"there is no image `{path}`", "write it, or remove it", place=f"{place}.images[{index}]"
            )
