"""The model of a group for all generations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from omnizarr._json import Json, same
from omnizarr.model.array import ZarrFormat

__all__ = ["UNFINISHED_APPEND", "GroupModel"]

UNFINISHED_APPEND = "_omnizarr_unfinished_append"
"""The attribute that holds the journal of an append to several arrays of the group. Users do not see it."""


@dataclass(frozen=True, eq=False)
class GroupModel:
    """The attributes of a group and its consolidated metadata."""

    attributes: dict[str, Json] = field(default_factory=dict)
    consolidated: dict[str, Json] | None = None
    """The documents of the nodes below by key, if the group's own document contains them (R28, R29)."""
    zarr_format: ZarrFormat = 3
    extra: dict[str, Json] = field(default_factory=dict)
    """Unknown members that may be ignored. They are written back unchanged (R32)."""
    implicit: bool = False
    """Whether the group has no document and exists only because there are nodes below it (S4)."""

    @property
    def visible_attributes(self) -> dict[str, Json]:
        """The attributes without those that users do not see."""
        if UNFINISHED_APPEND not in self.attributes:
            return self.attributes
        return {name: value for name, value in self.attributes.items() if name != UNFINISHED_APPEND}

    def with_visible_attributes(self, attributes: dict[str, Json]) -> GroupModel:
        """The group with other attributes, and with those of its own that users do not see."""
        hidden = {name: value for name, value in self.attributes.items() if name == UNFINISHED_APPEND}
        return replace(self, attributes=attributes | hidden)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupModel):
            return NotImplemented
        return same(list(vars(self).values()), list(vars(other).values()))

    __hash__ = None  # type: ignore[assignment]
