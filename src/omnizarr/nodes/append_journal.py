"""The journal of an append to several arrays: an attribute of their group.

It is an attribute, because every generation has attributes and every reader accepts them. It exists from before the
first new row is stored until all arrays have their new shapes. While it is not committed, the old shapes are valid;
from then on the new ones. A reader of the group's document and of the arrays' documents, in this order, can therefore
tell which shapes belong together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from omnizarr._json import Json, is_integer

__all__ = ["JOURNAL", "Journal", "journal_of"]

JOURNAL = "_omnizarr_unfinished_append"
"""The name of the attribute."""

_Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Journal:
    """Which arrays grow, and how far the append has come."""

    holder: str
    """A random text that names the writer."""
    shapes: Mapping[str, tuple[_Shape, _Shape]]
    """The old and the new shape of each array, by its name in the group."""
    committed: bool = False
    renewals: int = 0
    """Grows while the writer lives, in stores without locks."""

    def valid_shape(self, name: str) -> _Shape | None:
        """The shape of an array that belongs to those of the others; None if the append does not change it."""
        shapes = self.shapes.get(name)
        return None if shapes is None else shapes[1 if self.committed else 0]

    def to_json(self) -> dict[str, Json]:
        return {
            "holder": self.holder,
            "committed": self.committed,
            "renewals": self.renewals,
            "shapes": {name: [list(old), list(new)] for name, (old, new) in self.shapes.items()},
        }


def journal_of(attributes: Mapping[str, Json]) -> Journal | None:
    """The journal among the attributes of a group; None if there is none, or if it is damaged."""
    value: Any = attributes.get(JOURNAL)
    if not isinstance(value, dict) or not isinstance(value.get("shapes"), dict):
        return None
    shapes: dict[str, tuple[_Shape, _Shape]] = {}
    for name, pair in value["shapes"].items():
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_shape, pair)):
            return None
        shapes[name] = (tuple(pair[0]), tuple(pair[1]))
    renewals = value.get("renewals")
    return Journal(
        str(value.get("holder")), shapes, value.get("committed") is True, renewals if is_integer(renewals) else 0
    )


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and all(is_integer(length) and length >= 0 for length in value)
