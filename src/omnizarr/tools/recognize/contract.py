"""`Recognized`: a convention that a node follows. Helpers for attributes, which may hold any JSON value."""

from __future__ import annotations

from dataclasses import dataclass

from omnizarr._json import Json
from omnizarr.tools.describe import ArrayInfo, ArrayMember, GroupInfo

__all__ = ["Recognized", "as_dict", "as_list", "as_text", "dicts", "shapes"]

_MOST_ITEMS = 10_000  # of a list in attributes


@dataclass(frozen=True, slots=True)
class Recognized:
    """A convention, and what it says about a node."""

    name: str
    """`CF`, `OME-Zarr`, `GeoZarr`, `anndata` or `kerchunk`."""
    version: str | None
    facts: dict[str, str]
    """Titles and texts, in display order."""


def as_dict(value: Json) -> dict[str, Json]:
    """The value, if it is an object; else an empty one. Attributes come from unknown writers."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """The value, if it is a list; else an empty one."""
    return value[:_MOST_ITEMS] if isinstance(value, list) else []


def dicts(value: Json) -> list[dict[str, Json]]:
    """The objects in a list."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def as_text(value: Json) -> str | None:
    """The value, if it is text or a number; else None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)
    return value if isinstance(value, str) else None


def shapes(info: ArrayInfo | GroupInfo) -> dict[str, tuple[int, ...]]:
    """The shapes of all arrays below a group, by path."""
    members = (info.members or ()) if isinstance(info, GroupInfo) else ()
    return {member.path: member.shape for member in members if isinstance(member, ArrayMember)}
