"""The encoding `default`: `c/1/23`, or `c.1.23`; `c` for an array without dimensions (R73)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from omnizarr.chunk_keys.contract import chunk_key_encodings
from omnizarr.chunk_keys.separated import SeparatedKeys, decimal_key

__all__ = ["DefaultKeys"]


@dataclass(frozen=True, slots=True)
class DefaultKeys(SeparatedKeys):
    """The prefix `c` separates chunks from metadata and other nodes."""

    name: ClassVar[str] = "default"
    default_separator: ClassVar[str] = "/"
    ends_with_coordinates: ClassVar[bool] = True

    separator: str = "/"

    def join(self, parts: Sequence[str]) -> str:
        return self.separator.join(("c", *parts))

    def coordinates(self, key: str, ndim: int) -> tuple[int, ...] | None:
        if ndim == 0:
            return () if key == "c" else None
        if not decimal_key("c" + self.separator, self.separator, ndim).fullmatch(key):
            return None
        return tuple(map(int, key[2:].split(self.separator)))


chunk_key_encodings.register(DefaultKeys.name, DefaultKeys)
