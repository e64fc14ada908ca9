"""The encoding `v2`, for arrays converted from Zarr v2: `1.23`, or `1/23`; `0` without dimensions (R74)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from omnizarr.chunk_keys.separated import SeparatedKeys, decimal_key

__all__ = ["V2Keys"]


@dataclass(frozen=True, slots=True)
class V2Keys(SeparatedKeys):
    """Coordinates without a prefix. Not recommended for new arrays (R75)."""

    name: ClassVar[str] = "v2"
    default_separator: ClassVar[str] = "."
    ends_with_coordinates: ClassVar[bool] = True

    separator: str = "."

    def join(self, parts: Sequence[str]) -> str:
        return self.separator.join(parts) or "0"

    def alternative(self) -> V2Keys:
        return V2Keys("/" if self.separator == "." else ".")  # V28

    def coordinates(self, key: str, ndim: int) -> tuple[int, ...] | None:
        if ndim == 0:
            return () if key == "0" else None
        if not decimal_key("", self.separator, ndim).fullmatch(key):
            return None
        return tuple(map(int, key.split(self.separator)))
