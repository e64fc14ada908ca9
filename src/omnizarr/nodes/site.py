"""Where a node lies, and what it shares with the nodes reached through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnizarr.engine import ChunkCache, OnCorrupt
from omnizarr.formats import Dialect
from omnizarr.nodes.consolidated import Consolidated
from omnizarr.store import Store

if TYPE_CHECKING:
    from omnizarr.transformers import StorageTransformer

__all__ = ["Site"]


@dataclass(frozen=True, slots=True)
class Site:
    """A store, a path in it, the dialect spoken there, the consolidated metadata that the handle came through, and, for
    as long as the handle lives, the storage transformers that stand between arrays and the store, a cache of their
    chunks, and what to do with those that are damaged."""

    store: Store
    path: str
    dialect: Dialect
    consolidated: Consolidated | None = None
    transformers: tuple[StorageTransformer, ...] = ()
    cache: ChunkCache | None = None
    on_corrupt: OnCorrupt = "raise"

    def at(self, path: str) -> Site:
        """Another path of the same hierarchy."""
        return Site(self.store, path, self.dialect, self.consolidated, self.transformers, self.cache, self.on_corrupt)
