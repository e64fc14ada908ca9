"""The names of dimensions where documents have no member for them: in an attribute, as xarray writes it for v2."""

from __future__ import annotations

from dataclasses import replace

from omnizarr.model import ArrayModel

__all__ = ["dimensions_in_attributes", "names_of_dimensions"]

_ATTRIBUTE = "_ARRAY_DIMENSIONS"


def dimensions_in_attributes(model: ArrayModel) -> ArrayModel:
    """The same array with the names of its dimensions among its attributes."""
    if model.dimension_names is None:
        return model
    names = list(model.dimension_names)
    return replace(model, dimension_names=None, attributes=model.attributes | {_ATTRIBUTE: names})


def names_of_dimensions(model: ArrayModel) -> tuple[str | None, ...] | None:
    """The names that the attribute holds; None if there is none, or something else under that name."""
    found = model.attributes.get(_ATTRIBUTE)
    if not isinstance(found, list) or len(found) != len(model.shape):
        return None
    return tuple(found) if all(name is None or isinstance(name, str) for name in found) else None
