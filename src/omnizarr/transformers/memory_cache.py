"""A cache in memory. It changes nothing that is stored, so that it is given when an array is opened (S63)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, is_integer
from omnizarr.errors import ArgumentError
from omnizarr.store import CacheStore, Store
from omnizarr.transformers.contract import ArrayPlace, StorageTransformer

__all__ = ["MemoryCache"]


@dataclass(frozen=True, slots=True)
class MemoryCache(StorageTransformer):
    """Caches up to `max_bytes` of what was read, and drops the least recently used first.

    It is for data that no other writer changes meanwhile: it drops what is written through it, but does not detect
    other writers. A write of a part of a chunk always starts from the stored value.
    """

    name: ClassVar[str] = "memory_cache"
    layout: ClassVar[bool] = False

    max_bytes: int = 256 * 2**20

    def __post_init__(self) -> None:
        if not isinstance(self.max_bytes, int) or isinstance(self.max_bytes, bool) or self.max_bytes < 0:
            raise ArgumentError(
                f"`max_bytes`: expected an integer of at least 0, found {self.max_bytes!r}", argument="max_bytes"
            )

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> MemoryCache | None:
        where = f"{path}.configuration"
        before = len(problems.found)
        check_members(configuration, ("max_bytes",), where, problems, rule="R122")
        size = configuration.get("max_bytes", cls().max_bytes)
        if not is_integer(size) or size < 0:
            problems.expected(f"{where}.max_bytes", "an integer of at least 0", size, rule="R122")
        return cls(size) if len(problems.found) == before and is_integer(size) else None

    def configuration(self) -> dict[str, Json]:
        return {"max_bytes": self.max_bytes}

    def wrap(self, store: Store, place: ArrayPlace | None = None) -> CacheStore:
        return CacheStore(store, max_bytes=self.max_bytes, max_age=None)
