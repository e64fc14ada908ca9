"""Attributes of datasets and variables as JSON.

JSON has no NaN and no infinities. xarray writes them as Python does, and strict readers then reject the whole document.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xarray import Variable

from omnizarr.errors import ArgumentError, warn
from omnizarr.integrations.xarray.writing.argument_errors import ArgumentTypeError
from omnizarr.nodes.attributes import as_attributes

__all__ = ["dataset_attributes", "variable_attributes"]


def dataset_attributes(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """The attributes of a dataset as they are stored."""
    return _plain(attributes, "the dataset")


def variable_attributes(variable: Variable, name: str) -> dict[str, Any]:
    """The attributes of an encoded variable as they are stored, except `_FillValue`, which keeps its value.

    A `missing_value` that is NaN is left out: NaN is missing data anyway, and an integer is never NaN.
    """
    attributes = dict(variable.attrs)
    missing = np.asarray(attributes.get("missing_value", 0))
    if variable.dtype.kind in "iuf" and missing.dtype.kind == "f" and np.isnan(missing).all():
        del attributes["missing_value"]
    fill = {key: attributes.pop(key) for key in ("_FillValue",) if key in attributes}
    return _plain(attributes, f"variable `{name}`") | fill


def _plain(attributes: Mapping[Any, Any], owner: str) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, value in attributes.items():
        if not isinstance(key, str):
            raise ArgumentTypeError(
                f"the name of an attribute of {owner} is a string, not {key!r}", argument="attributes"
            )
        plain[key], changed = _without_infinite(value)
        if changed:
            warn(f"attribute `{key}` of {owner} is stored as text, because JSON has no NaN and no infinities")
    try:
        return as_attributes(plain)
    except ArgumentError as error:
        raise ArgumentTypeError(f"{owner}: {error.message}", argument="attributes") from None


def _without_infinite(value: Any) -> tuple[Any, bool]:
    """The value with text in place of NaN and infinities, and whether there are any."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, float) and not np.isfinite(value):
        return ("NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"), True
    if isinstance(value, (list, tuple)):
        items = [_without_infinite(item) for item in value]
        return [item for item, _ in items], any(changed for _, changed in items)
    if isinstance(value, dict):
        members = {key: _without_infinite(item) for key, item in value.items()}
        return {key: item for key, (item, _) in members.items()}, any(changed for _, changed in members.values())
    return value, False
