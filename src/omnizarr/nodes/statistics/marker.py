"""The attribute that enables the statistics of an array."""

from __future__ import annotations

from dataclasses import replace

from omnizarr.formats.document_keys import STATISTICS_ATTRIBUTE
from omnizarr.model import ArrayModel

__all__ = ["remove_marker"]


def remove_marker(model: ArrayModel) -> ArrayModel:
    """The model without the attribute, for an array that has no statistics."""
    if STATISTICS_ATTRIBUTE not in model.attributes:
        return model
    attributes = {name: value for name, value in model.attributes.items() if name != STATISTICS_ATTRIBUTE}
    return replace(model, attributes=attributes)
