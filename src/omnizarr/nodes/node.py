"""What arrays and groups have in common: where they lie, and what users say about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from omnizarr._json import Json
from omnizarr.engine import ChunkCache, OnCorrupt
from omnizarr.formats import Dialect
from omnizarr.nodes.attributes import Attributes
from omnizarr.nodes.metadata.consolidated import Consolidated
from omnizarr.store import Store

if TYPE_CHECKING:
    from omnizarr.transformers import StorageTransformer

__all__ = ["Node", "NodeContext"]


class Node(ABC):
    """A node at a site."""

    _context: NodeContext

    @property
    def store(self) -> Store:
        """Where its bytes lie."""
        return self._context.store

    @property
    def path(self) -> str:
        """Where it lies in its store, without a leading slash."""
        return self._context.path

    @property
    def name(self) -> str:
        """Where it lies in its store, with a leading slash."""
        return f"/{self._context.path}"

    @property
    def basename(self) -> str:
        """The last part of its path."""
        return self._context.path.rpartition("/")[2]

    @property
    def read_only(self) -> bool:
        """Whether this handle refuses to write."""
        return self._context.store.read_only

    @property
    def attrs(self) -> Attributes:
        """What users say about the node; every change is stored at once."""
        return Attributes(self)

    def update_attributes(self, new_attributes: dict[str, Json]) -> Self:
        """Adds or replaces attributes, in one write."""
        self.attrs.update(new_attributes)
        return self

    @abstractmethod
    def _attributes(self) -> dict[str, Json]: ...

    @abstractmethod
    def _change_attributes(self, how: Callable[[dict[str, Json]], dict[str, Json]]) -> None: ...


@dataclass(frozen=True, slots=True)
class NodeContext:
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

    def at(self, path: str) -> NodeContext:
        """Another path of the same hierarchy."""
        return NodeContext(
            self.store, path, self.dialect, self.consolidated, self.transformers, self.cache, self.on_corrupt
        )
