"""CF: dimensions, coordinate variables, and the attributes that name other variables. Not a full CF checker."""

from __future__ import annotations

import re

from omnizarr.tools.validation.conventions.hierarchy_view import HierarchyView, is_number

__all__ = ["check"]

_TIME = re.compile(
    r"\s*(nano|micro|milli)?(s|sec|second|min|minute|h|hr|hour|d|day|week|month|common_year|year)s?\s+since\s+"
    r"[+-]?\d{1,6}-\d{1,2}-\d{1,2}.*",
    re.IGNORECASE,
)
_CALENDARS = frozenset(
    [
        "standard",
        "gregorian",
        "proleptic_gregorian",
        "julian",
        "noleap",
        "365_day",
        "all_leap",
        "366_day",
        "360_day",
        "utc",
        "tai",
        "none",
    ]
)
_VALUES = {"axis": ("X", "Y", "Z", "T"), "positive": ("up", "down")}
_NUMBERS = ("scale_factor", "add_offset")
_NUMERIC = ("valid_min", "valid_max", "missing_value", "_FillValue")


def check(view: HierarchyView) -> None:
    conventions = view.attributes(view.top).get("Conventions")
    if view.is_group(view.top) and not (isinstance(conventions, str) and "CF" in conventions):
        view.add(
            "Conventions",
            view.top,
            f"the attribute `Conventions` names no version of CF, found {conventions!r}",
            'set "Conventions": "CF-1.11" on the root group',
            level="advice",
        )
    for group in (*view.groups(), *([] if view.is_group(view.top) else [view.top])):
        _check_lengths(view, group)
    for path, array in view.arrays():
        names = view.dimensions(path)
        if array.shape and (names is None or any(not name for name in names)):
            view.add(
                "dimensions",
                path,
                f"an array of {len(array.shape)} dimensions has the dimension names {names}",
                "set `dimension_names`, or `_ARRAY_DIMENSIONS` before version 3",
            )
        elif names is not None and len(set(names)) < len(names):
            view.add("dimensions", path, "two dimensions have the same name", "give every dimension its own name")
        _check_attributes(view, path)


def _check_lengths(view: HierarchyView, group: str) -> None:
    """A dimension has one length in a group, and that of its coordinate variable."""
    lengths: dict[str, tuple[int, str]] = {}
    for path, array in view.arrays(group):
        for name, length in zip(view.dimensions(path) or (), array.shape, strict=False):
            if name is None:
                continue
            known = lengths.setdefault(name, (length, path))
            if known[0] != length:
                view.add(
                    "dimension lengths",
                    path,
                    f"dimension `{name}` has length {length}, but {known[0]} in `/{known[1]}`",
                    "give the dimensions different names, or put the arrays into different groups",
                )
    for path, array in view.arrays(group):
        name = path.rpartition("/")[2]
        dimensions = view.dimensions(path)
        if name in lengths and (array.dtype.kind not in "SUO" and dimensions != (name,)):
            view.add(
                "coordinate variables",
                path,
                f"is named as the dimension `{name}`, but has the dimensions {dimensions}",
                "a coordinate variable has one dimension, its own; rename the array otherwise",
            )


def _check_attributes(view: HierarchyView, path: str) -> None:
    attributes = view.attributes(path)
    array = view.array(path)
    assert array is not None
    for member in ("coordinates", "ancillary_variables", "bounds", "climatology", "grid_mapping"):
        value = attributes.get(member)
        if value is None:
            continue
        if not isinstance(value, str):
            view.add(
                member, path, f"expected text, found {value!r}", "write the names of variables", place=f"$.{member}"
            )
            continue
        for name in _names(member, value):
            if view.sibling(path, name) is None:
                view.add(
                    member,
                    path,
                    f"names the variable `{name}`, which does not exist",
                    "add the variable, or remove its name",
                    place=f"$.{member}",
                )
    _check_bounds(view, path)
    _check_units(view, path)
    for member, allowed in _VALUES.items():
        value = attributes.get(member)
        if value is not None and not (isinstance(value, str) and value in allowed):
            view.add(
                member,
                path,
                f"expected one of {', '.join(allowed)}, found {value!r}",
                "correct it",
                place=f"$.{member}",
            )
    for member in _NUMBERS:
        if member in attributes and not is_number(attributes[member]):
            view.add(
                "packed data",
                path,
                f"`{member}`: expected a number, found {attributes[member]!r}",
                "write a number",
                place=f"$.{member}",
            )
    if array.dtype.kind in "iuf":
        for member in _NUMERIC:
            value = attributes.get(member)
            items = value if isinstance(value, list) else [value]
            if value is None or (member == "_FillValue" and isinstance(value, str)):  # xarray writes base64
                continue
            if not all(is_number(item) or item in ("NaN", "nan") for item in items):
                view.add(
                    "missing data",
                    path,
                    f"`{member}`: expected a number, found {value!r}",
                    "write a number of the type of the array",
                    place=f"$.{member}",
                )


def _names(member: str, value: str) -> list[str]:
    """The variables that an attribute names. A grid mapping may be followed by coordinates: `crs: x y`."""
    words = value.split()
    return [word.rstrip(":") for word in words] if member == "grid_mapping" else words


def _check_bounds(view: HierarchyView, path: str) -> None:
    name = view.attributes(path).get("bounds")
    sibling = view.sibling(path, name) if isinstance(name, str) and " " not in name else None
    bounds, array = (None if sibling is None else view.array(sibling)), view.array(path)
    if (
        bounds is not None
        and array is not None
        and (len(bounds.shape) != len(array.shape) + 1 or bounds.shape[:-1] != array.shape)
    ):
        view.add(
            "bounds",
            path,
            f"has shape {array.shape}, but its bounds `{name}` have shape {bounds.shape}",
            "bounds have the dimensions of their variable and one more, for the vertices",
            place="$.bounds",
        )


def _check_units(view: HierarchyView, path: str) -> None:
    attributes = view.attributes(path)
    units, calendar = attributes.get("units"), attributes.get("calendar")
    if units is not None and not isinstance(units, str):
        view.add("units", path, f"expected text, found {units!r}", "write a unit of UDUNITS", place="$.units")
    is_time = attributes.get("standard_name") == "time" or attributes.get("axis") == "T" or calendar is not None
    if isinstance(units, str) and " since " in units and not _TIME.fullmatch(units):
        view.add("time", path, f"{units!r} is no unit of time", "write it as `days since 2000-01-01`", place="$.units")
    elif is_time and isinstance(units, str) and " since " not in units:
        view.add("time", path, f"{units!r} has no epoch", "write it as `days since 2000-01-01`", place="$.units")
    if calendar is not None and not (isinstance(calendar, str) and calendar.lower() in _CALENDARS):
        view.add(
            "time",
            path,
            f"unknown calendar {calendar!r}",
            f"use one of {', '.join(sorted(_CALENDARS))}",
            place="$.calendar",
        )
