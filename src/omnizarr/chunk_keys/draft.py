"""The keys of the drafts of v3: `c1/23`, or `c1.23`; `c` without dimensions (S22, T10). v3 has no name for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from omnizarr.chunk_keys.separated import SeparatedKeys, decimal_key

__all__ = ["DraftKeys"]


@dataclass(frozen=True, slots=True)
class DraftKeys(SeparatedKeys):
    """No separator between the `c` and the first coordinate."""

    name: ClassVar[str] = "draft"
    default_separator: ClassVar[str] = "/"
    ends_with_coordinates: ClassVar[bool] = True

    separator: str = "/"
    scalar: str = "c"
    """The key of an array without dimensions. zarr-python 2 wrote `c0` (A13)."""

    def join(self, parts: Sequence[str]) -> str:
        return "c" + self.separator.join(parts) if parts else self.scalar

    def alternative(self) -> DraftKeys:
        return DraftKeys(self.separator, "c0" if self.scalar == "c" else "c")

    def coordinates(self, key: str, ndim: int) -> tuple[int, ...] | None:
        if ndim == 0:
            return () if key == self.scalar else None
        if not decimal_key("c", self.separator, ndim).fullmatch(key):
            return None
        return tuple(map(int, key[1:].split(self.separator)))
