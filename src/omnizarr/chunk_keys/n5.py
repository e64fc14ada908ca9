"""The keys of blocks in N5: `2/1` for the chunk (1, 2), because N5 lists dimensions in reverse; `0` without dimensions
(K13). v3 has no name for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from omnizarr._json import Json, Problems
from omnizarr.chunk_keys.contract import ChunkKeys
from omnizarr.chunk_keys.separated import decimal_key

__all__ = ["N5Keys"]


@dataclass(frozen=True, slots=True)
class N5Keys(ChunkKeys):
    """Coordinates in reverse, joined by `/`."""

    name: ClassVar[str] = "n5"

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> N5Keys | None:
        raise AssertionError("no document has this encoding by name")

    def to_json(self) -> Json:
        return {"name": self.name}

    def join(self, parts: Sequence[str]) -> str:
        return "/".join(parts[::-1]) or "0"

    def coordinates(self, key: str, ndim: int) -> tuple[int, ...] | None:
        if ndim == 0:
            return () if key == "0" else None
        if not decimal_key("", "/", ndim).fullmatch(key):
            return None
        return tuple(map(int, key.split("/")))[::-1]
