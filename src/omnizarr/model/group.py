"""A group, as every generation can describe one."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnizarr._json import Json, same
from omnizarr.model.array import ZarrFormat

__all__ = ["GroupModel"]


@dataclass(frozen=True, eq=False)
class GroupModel:
    """Attributes, and what a writer gathered of the nodes below."""

    attributes: dict[str, Json] = field(default_factory=dict)
    consolidated: dict[str, Json] | None = None
    """Documents of the nodes below by their keys, if the group's own document carries them (R28, R29)."""
    zarr_format: ZarrFormat = 3
    extra: dict[str, Json] = field(default_factory=dict)
    """Members that we do not know and may ignore; they are written back as they were (R32)."""
    implicit: bool = False
    """Whether the group has no document and is there only because something lies below it (S4)."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupModel):
            return NotImplemented
        return same(list(vars(self).values()), list(vars(other).values()))

    __hash__ = None  # type: ignore[assignment]
