"""Where a node lies, and what it shares with the nodes reached through it."""

from __future__ import annotations

from dataclasses import dataclass

from omnizarr.formats import Dialect
from omnizarr.nodes.consolidated import Consolidated
from omnizarr.store import Store

__all__ = ["Site"]


@dataclass(frozen=True, slots=True)
class Site:
    """A store, a path in it, the dialect spoken there, and the consolidated metadata that the handle came through."""

    store: Store
    path: str
    dialect: Dialect
    consolidated: Consolidated | None = None

    def at(self, path: str, dialect: Dialect | None = None) -> Site:
        """Another path of the same hierarchy."""
        return Site(self.store, path, dialect or self.dialect, self.consolidated)
