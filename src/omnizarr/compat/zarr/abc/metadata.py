"""`Metadata`: anything with a JSON form."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

__all__ = ["Metadata"]


@dataclass(frozen=True)
class Metadata:
    """Has a JSON form."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The object of a JSON form."""
        return cls(**data)
