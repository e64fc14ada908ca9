"""Coordinates of dimensions: the values of a coordinate variable, its units, and dates as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from omnizarr.errors import OmnizarrError
from omnizarr.nodes import Array, Group
from omnizarr.serve.mounts import Mount
from omnizarr.tools.recognize.cf_time import date_text, parse_units

__all__ = ["Coordinates", "coordinate_array", "coordinates"]

_MOST_VALUES = 20_000


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The coordinates along a dimension."""

    name: str | None
    path: str | None
    """The path of the coordinate variable; None if there is none."""
    kind: Literal["longitude", "latitude", "time", "number", "text", "none"] = "none"
    units: str | None = None
    values: list[float] | None = None
    texts: list[str] | None = None
    """Dates, or the values of a variable of text."""
    complete: bool = True
    """Whether these are the coordinates of all indices; a very long dimension has every n-th one."""
    step: int = 1


def coordinate_array(mount: Mount, path: str, array: Array, dimension: int) -> Array | None:
    """The coordinate variable of a dimension: a one-dimensional array of its name and length beside the array, or in a
    group above."""
    names = array.dimension_names
    name = None if names is None or not 0 <= dimension < len(names) else names[dimension]
    if not name or "/" in name or not isinstance(mount.node, Group):
        return None
    parts = path.split("/")[:-1]
    while True:
        place = "/".join((*parts, name))
        try:
            variable = mount.open(place)
        except OmnizarrError:
            variable = None
        if isinstance(variable, Array) and variable.shape == (array.shape[dimension],):
            return variable
        if not parts:
            return None
        parts.pop()


def coordinates(mount: Mount, path: str, dimension: int) -> Coordinates:
    """The coordinates of a dimension of the array at `path`."""
    array = mount.open(path)
    if not isinstance(array, Array) or dimension >= array.ndim:
        return Coordinates(None, None)
    names = array.dimension_names
    name = None if names is None else names[dimension]
    variable = coordinate_array(mount, path, array, dimension)
    if variable is None:
        return Coordinates(name, None)
    step = -(-variable.shape[0] // _MOST_VALUES) if variable.shape[0] else 1
    attributes = variable.attrs.asdict()
    units = attributes.get("units")
    units = units if isinstance(units, str) else None
    values: Any = np.asarray(variable[::step])
    kind = values.dtype.kind
    common: dict[str, Any] = {"name": name, "path": variable.path, "units": units, "complete": step == 1, "step": step}
    if kind in "mM":
        return Coordinates(**common, kind="time", texts=[str(value) for value in values])
    if kind not in "iuf":
        return Coordinates(**common, kind="text", texts=[str(value) for value in values.reshape(-1)])
    numbers = [float(value) for value in values]
    parsed = None if units is None else parse_units(units)
    if parsed is not None:
        calendar = attributes.get("calendar")
        calendar = calendar.lower() if isinstance(calendar, str) else "standard"
        texts = [date_text(value, parsed, calendar) or str(value) for value in numbers]
        return Coordinates(**common, kind="time", values=numbers, texts=texts)
    return Coordinates(**common, kind=_kind(name, units, attributes), values=numbers)


def _kind(name: str | None, units: str | None, attributes: dict[str, Any]) -> Any:
    """Longitude, latitude or another number, by the rules of CF; by the name if there are no units."""
    standard = attributes.get("standard_name")
    text = (units or "").lower().replace("_", "")
    lowered = (name or "").lower()
    if (
        standard == "longitude"
        or text in ("degreeseast", "degreeeast", "degreee")
        or (not units and lowered in ("lon", "longitude"))
    ):
        return "longitude"
    if (
        standard == "latitude"
        or text in ("degreesnorth", "degreenorth", "degreen")
        or (not units and lowered in ("lat", "latitude"))
    ):
        return "latitude"
    return "number"
