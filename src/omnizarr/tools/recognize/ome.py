"""OME-Zarr 0.4 and 0.5: axes, channels and levels of an image; rows, columns and wells of a plate."""

from __future__ import annotations

from omnizarr._json import Json
from omnizarr.tools.describe import ArrayInfo, GroupInfo
from omnizarr.tools.recognize.contract import Recognized, as_dict, as_list, as_text, dicts, shapes

__all__ = ["recognize"]

_UNITS = {"micrometer": "µm", "nanometer": "nm", "millimeter": "mm", "second": "s", "millisecond": "ms"}
_MOST_LEVELS = 12


def recognize(info: ArrayInfo | GroupInfo) -> Recognized | None:
    """The image, plate, well or labels that a group holds."""
    if not isinstance(info, GroupInfo):
        return None
    ome = as_dict(info.attributes.get("ome"))  # since 0.5; before, its members were attributes themselves
    members = ome or info.attributes
    images = dicts(members.get("multiscales"))
    facts: dict[str, str] = {}
    if images and ("datasets" in images[0] or "axes" in images[0]):
        _add_image(images, members, info, facts)
    for kind in ("plate", "well"):
        if isinstance(members.get(kind), dict):
            _add_plate(kind, as_dict(members[kind]), facts)
    labels = [as_text(name) for name in as_list(members.get("labels"))]
    if labels and (ome or facts):
        facts["Labels"] = ", ".join(name for name in labels if name)
    if not facts:
        return None
    inner = [images[0] if images else {}, as_dict(members.get("plate")), as_dict(members.get("well"))]
    versions = [as_text(ome.get("version")), *(as_text(item.get("version")) for item in inner)]
    return Recognized("OME-Zarr", next(filter(None, versions), None), facts)


def _add_image(images: list[dict[str, Json]], members: dict[str, Json], info: GroupInfo, facts: dict[str, str]) -> None:
    image = images[0]
    name = as_text(image.get("name"))
    if name:
        facts["Image"] = name
    if len(images) > 1:
        facts["Images"] = f"{len(images)}; the first is described"
    axes = image.get("axes")
    texts = [_axis_text(axis) for axis in as_list(axes)]
    if texts:
        facts["Axes"] = ", ".join(texts)
    channels = [_channel_text(item) for item in dicts(as_dict(members.get("omero")).get("channels"))]
    if channels:
        facts["Channels"] = ", ".join(channels)
    known = shapes(info)
    levels = dicts(image.get("datasets"))
    for number, level in enumerate(levels[:_MOST_LEVELS]):
        path = as_text(level.get("path")) or "?"
        shape = known.get(path)
        size = " × ".join(map(str, shape)) if shape else "missing"
        facts[f"Level {number}"] = f"{path}: {size}{_scale_text(level)}"
    if len(levels) > _MOST_LEVELS:
        facts["Levels"] = str(len(levels))


def _axis_text(axis: Json) -> str:
    """An axis of 0.4 and later has a name, a type and a unit; an older one is only a name."""
    if not isinstance(axis, dict):
        return as_text(axis) or "–"
    unit = as_text(axis.get("unit"))
    details = [_UNITS.get(unit, unit)] if unit else [as_text(axis.get("type"))]
    shown = [text for text in details if text]
    name = as_text(axis.get("name")) or "–"
    return f"{name} ({shown[0]})" if shown else name


def _channel_text(channel: dict[str, Json]) -> str:
    return as_text(channel.get("label")) or "unnamed"


def _scale_text(level: dict[str, Json]) -> str:
    for transform in dicts(level.get("coordinateTransformations")):
        numbers = [as_text(number) for number in as_list(transform.get("scale"))]
        if numbers and all(numbers):
            return f", scale {' × '.join(number for number in numbers if number)}"
    return ""


def _add_plate(kind: str, members: dict[str, Json], facts: dict[str, str]) -> None:
    counts = {name: len(as_list(members.get(name))) for name in ("rows", "columns", "wells", "images", "acquisitions")}
    shown = [f"{count} {name}" for name, count in counts.items() if count]
    facts[kind.capitalize()] = ", ".join(shown) or "empty"
