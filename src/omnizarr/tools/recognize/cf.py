"""CF: units, calendars and time ranges of coordinates; names, units and packing of variables."""

from __future__ import annotations

from omnizarr._json import Json
from omnizarr.errors import OmnizarrError
from omnizarr.nodes import Array, Group
from omnizarr.tools.describe import ArrayInfo, ArrayMember, GroupInfo
from omnizarr.tools.recognize.cf_time import date_text, parse_units
from omnizarr.tools.recognize.contract import Recognized, as_text

__all__ = ["recognize"]

_MOST_TIMES = 4  # time coordinates to read the range of
_TITLES = {
    "standard_name": "Standard name",
    "long_name": "Long name",
    "units": "Units",
    "calendar": "Calendar",
    "cell_methods": "Cell methods",
    "coordinates": "Coordinates",
    "grid_mapping": "Grid mapping",
}


def recognize(node: Array | Group, info: ArrayInfo | GroupInfo) -> Recognized | None:
    """What the attributes of CF say about an array, or about the coordinates of a group."""
    return _of_array(node, info) if isinstance(info, ArrayInfo) else _of_group(node, info)


def _of_array(node: Array | Group, info: ArrayInfo) -> Recognized | None:
    attributes = info.attributes
    if not attributes.keys() & {"standard_name", "units", "calendar", "cell_methods", "grid_mapping"}:
        return None
    facts = {title: text for name, title in _TITLES.items() if (text := as_text(attributes.get(name))) is not None}
    packing = [f"{name} {text}" for name in ("scale_factor", "add_offset") if (text := as_text(attributes.get(name)))]
    if packing:
        facts["Packing"] = ", ".join(packing)
    time = _time_range(node, attributes) if isinstance(node, Array) else None
    if time is not None:
        facts["Time range"] = time
    return Recognized("CF", None, facts) if facts else None


def _of_group(node: Array | Group, info: GroupInfo) -> Recognized | None:
    conventions = info.attributes.get("Conventions")
    text = conventions if isinstance(conventions, str) else ""
    version = next((part for part in text.replace(",", " ").split() if part.upper().startswith("CF-")), None)
    if not isinstance(node, Group):
        return None
    facts: dict[str, str] = {}
    members = [member for member in info.members or () if isinstance(member, ArrayMember)]
    coordinates = [m.path for m in members if m.dimension_names == (m.path.rpartition("/")[2],)]
    times = 0
    for path in coordinates:
        if times == _MOST_TIMES:
            break
        try:
            array = node[path]
        except OmnizarrError:
            continue
        time = _time_range(array, array.attrs.asdict()) if isinstance(array, Array) else None
        if time is not None:
            times += 1
            facts[f"Time range of {path}"] = time
    if version is None and not facts:
        return None
    if coordinates:
        facts = {"Coordinates": ", ".join(coordinates)} | facts
    return Recognized("CF", version.removeprefix("CF-") if version else None, facts)


def _time_range(array: Array, attributes: dict[str, Json]) -> str | None:
    """The first and last time of a coordinate, which costs up to two chunks; None if it is no time."""
    text = as_text(attributes.get("units"))
    units = None if text is None else parse_units(text)
    calendar = (as_text(attributes.get("calendar")) or "standard").lower()
    if units is None or array.ndim > 1 or array.size == 0 or array.dtype.kind not in "iuf":
        return None
    try:
        ends = [array[()]] if array.ndim == 0 else [array[0], array[-1]]
    except (OmnizarrError, OSError):  # the range is additional; a damaged chunk must not hide the description
        return None
    dates = [date_text(float(value), units, calendar) for value in ends if value == value]
    if None in dates or len(dates) != len(ends):
        return None
    shown = " to ".join(dict.fromkeys(date for date in dates if date))
    return shown if calendar == "standard" else f"{shown} ({calendar})"
