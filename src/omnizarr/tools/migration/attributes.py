"""Attributes in another generation, whose documents may have no word for NaN and infinities."""

from __future__ import annotations

from typing import Any

from omnizarr._json import Json
from omnizarr.errors import OmnizarrError
from omnizarr.formats import Dialect
from omnizarr.tools.results import as_json

__all__ = ["json_attributes"]


def json_attributes(attributes: dict[str, Json], dialect: Dialect) -> tuple[dict[str, Any], list[str]]:
    """The attributes as documents of the dialect can hold them, and what they lose."""
    try:
        dialect.encoding.dump(attributes)
    except (OmnizarrError, ValueError, TypeError):
        changed = as_json(attributes)
        assert isinstance(changed, dict)
        names = [name for name, value in attributes.items() if repr(changed[name]) != repr(value)]
        return changed, [f"NaN and infinities in attributes, which become text: {', '.join(names)}"]
    return dict(attributes), []
