"""From stored variables to a dataset, decoded by xarray as the CF conventions say.

xarray takes about 25 µs for a variable, even if there is nothing to decode. Variables of numbers without an attribute
that means something to it are left out of its decoding; the tests compare the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xarray import Coordinates, Dataset, Variable
from xarray.conventions import CF_RELATED_DATA, decode_cf_variables

__all__ = ["decoded_dataset", "is_time_unit"]

_TIME_UNITS = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds")
_MEANINGFUL = frozenset(
    ("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "dtype", "coordinates", *CF_RELATED_DATA)
)


def is_time_unit(unit: object) -> bool:
    """Whether xarray decodes a variable with this unit as times or differences of times."""
    return isinstance(unit, str) and ("since" in unit or unit in _TIME_UNITS)


def decoded_dataset(variables: dict[str, Variable], attributes: dict[str, Any], decoders: Mapping[str, Any]) -> Dataset:
    """The dataset of these variables. It has no indexes; xarray adds them."""
    plain: set[str] = set()
    if decoders.get("mask_and_scale", True) is True:
        bounds = {variable.attrs.get("bounds") for variable in variables.values()}
        plain = {name for name, variable in variables.items() if name not in bounds and _finish_plain(variable)}
    decoded, attributes, coordinate_names = decode_cf_variables(variables, attributes, drop_variables=plain, **decoders)
    data: dict[str, Variable] = {}
    coordinates: dict[str, Variable] = {}
    for name, stored in variables.items():
        variable = stored if name in plain else decoded[name]
        is_coordinate = name in coordinate_names or variable.dims == (name,)
        (coordinates if is_coordinate else data)[name] = variable
    return _construct(data, coordinates, attributes)


def _construct(data: dict[str, Variable], coordinates: dict[str, Variable], attributes: dict[str, Any]) -> Dataset:
    """`Dataset(data, coordinates, attributes)`, without copies and comparisons of variables, which take about 10 µs
    each. A release of xarray without this constructor, and variables that do not fit, take the public way."""
    construct = getattr(Dataset, "_construct_direct", None)
    variables = data | coordinates
    sizes: dict[Any, int] = {}
    for variable in variables.values():
        for dimension, length in zip(variable.dims, variable.shape, strict=True):
            if sizes.setdefault(dimension, length) != length:
                construct = None
    if construct is not None:
        names = coordinates.keys() | (sizes.keys() & data.keys())
        try:
            return construct(variables=variables, coord_names=names, dims=sizes, attrs=attributes or None, indexes={})
        except TypeError:
            pass
    return Dataset(data, coords=Coordinates(coordinates, indexes={}), attrs=attributes)


def _finish_plain(variable: Variable) -> bool:
    """Whether there is nothing to decode. If so, completes the encoding as xarray does."""
    attributes, dtype = variable.attrs, variable.dtype
    if dtype.kind not in "iufcb" or not dtype.isnative or is_time_unit(attributes.get("units")):
        return False
    meaningful = _MEANINGFUL.intersection(attributes)
    if meaningful:
        # NaN is missing data already.
        missing = attributes["_FillValue"] if meaningful == {"_FillValue"} and dtype.kind == "f" else None
        if not isinstance(missing, (float, np.floating)) or not np.isnan(missing):
            return False
        variable.encoding["_FillValue"] = attributes.pop("_FillValue")
    variable.encoding.setdefault("dtype", dtype)
    return True
