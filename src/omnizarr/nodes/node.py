"""`Node`, the base class of `Array` and `Group`, and `NodeContext`, the location and options of a handle."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from omnizarr._json import Json
from omnizarr.engine import ChunkCache, OnCorrupt
from omnizarr.errors import ReadOnlyError
from omnizarr.formats import Dialect
from omnizarr.nodes.attributes import Attributes
from omnizarr.nodes.metadata.consolidated import Consolidated
from omnizarr.nodes.metadata.documents import describe_location
from omnizarr.store import Store

if TYPE_CHECKING:
    from omnizarr.display.info import NodeInfo
    from omnizarr.transformers import StorageTransformer

__all__ = ["Node", "NodeContext"]


class Node(ABC):
    """A handle of a node: its location and its attributes."""

    _kind: ClassVar[str]
    """What errors call the node."""
    _context: NodeContext

    @property
    def store(self) -> Store:
        """The store that holds the node."""
        return self._context.store

    @property
    def path(self) -> str:
        """The path in the store, without a leading slash."""
        return self._context.path

    @property
    def name(self) -> str:
        """The path in the store, with a leading slash."""
        return f"/{self._context.path}"

    @property
    def basename(self) -> str:
        """The last part of the path."""
        return self._context.path.rpartition("/")[2]

    @property
    def read_only(self) -> bool:
        """Whether this handle rejects writes."""
        return self._context.store.read_only

    @property
    def attrs(self) -> Attributes:
        """The attributes: a mapping of names to JSON values. Every change is stored at once."""
        return Attributes(self._attributes, self._change_attributes)

    def update_attributes(self, new_attributes: dict[str, Json]) -> Self:
        """Adds or replaces attributes in one write, and returns the handle."""
        self.attrs.update(new_attributes)
        return self

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(
                f"{self._kind} {describe_location(self.store, self.path)} is open for reading only",
                hint=self.store.read_only_hint,
                store=repr(self.store),
            )

    # -- display: these methods read nothing from the store

    @property
    def info(self) -> NodeInfo:
        """A printable summary of the metadata."""
        from omnizarr.display.info import NodeInfo  # lazy import: display only

        return NodeInfo.of(self)

    def _repr_html_(self) -> str:
        """The node in a notebook."""
        from omnizarr.display.html import node_html  # lazy import: notebooks only

        return node_html(self)

    def view(self, height: int = 640) -> Any:
        """The viewer of `omnizarr view` for this node, in a frame of so many pixels in a notebook.

        Outside of a notebook, the result prints its address, and how to reach it from another machine.
        """
        # By name, because nodes are a lower layer than the server.
        return import_module("omnizarr.serve.notebook").view(self, height)

    def __rich__(self) -> Any:
        """The node on a terminal, for `rich.print`."""
        from omnizarr.display.terminal import node_panel  # lazy import: terminals only

        return node_panel(self)

    @abstractmethod
    def _attributes(self) -> dict[str, Json]:
        """The attributes of the model; treat as read-only."""

    @abstractmethod
    def _change_attributes(self, edit: Callable[[dict[str, Json]], dict[str, Json]]) -> None:
        """Stores what `edit` makes of the stored attributes."""


class NodeContext(NamedTuple):
    """A location, its dialect, and the options of the handle, which also hold for nodes opened through it."""

    store: Store
    path: str
    dialect: Dialect
    consolidated: Consolidated | None = None
    """The consolidated metadata through which the handle was opened."""
    transformers: tuple[StorageTransformer, ...] = ()
    """Storage transformers between each array and the store, in addition to those of the array's document."""
    cache: ChunkCache | None = None
    on_corrupt: OnCorrupt = "raise"

    def at(self, path: str) -> NodeContext:
        """The same for another path of the hierarchy."""
        return tuple.__new__(NodeContext, (self[0], path, *self[2:]))  # as `_replace`, but in a fifth of the time
