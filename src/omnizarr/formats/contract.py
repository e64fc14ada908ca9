"""What a dialect is: how one generation of Zarr spells the model, and where it keeps what in a hierarchy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias

from omnizarr._json import Json, Problems
from omnizarr.model import ArrayModel, GroupModel, ZarrFormat

__all__ = ["Dialect", "Documents", "Node"]

Node: TypeAlias = ArrayModel | GroupModel

Documents: TypeAlias = Mapping[str, Json]
"""Parsed documents by the store key they lie under."""


class Dialect(ABC):
    """One generation of the format. Pure: documents and listings in, models and keys out."""

    zarr_format: ClassVar[ZarrFormat]

    @abstractmethod
    def keys(self, path: str) -> tuple[str, ...]:
        """The keys under which the documents of the node at `path` may lie."""

    @abstractmethod
    def parse(self, path: str, documents: Documents, problems: Problems) -> Node | None:
        """The node that the documents describe; None, and everything that is wrong, if they describe none."""

    @abstractmethod
    def node_type(self, path: str, documents: Documents) -> str | None:
        """`array` or `group`, as far as can be told even where the rest is wrong."""

    @abstractmethod
    def dump(self, path: str, node: Node) -> dict[str, Json]:
        """The documents that describe `node`, by key."""

    @abstractmethod
    def losses(self, node: Node) -> Sequence[str]:
        """What this generation cannot express of `node`, each as a sentence; writing is refused if there is any."""

    @abstractmethod
    def check_path(self, path: str) -> None:
        """Raises ArgumentError if no node may be created at `path`."""

    @abstractmethod
    def children(self, path: str, listing: tuple[Sequence[str], Sequence[str]]) -> list[str]:
        """The names of what may be nodes below the group at `path`, from the listing of `listing_prefix(path)`."""

    @abstractmethod
    def listing_prefix(self, path: str) -> str:
        """The prefix whose listing shows the children of the group at `path`."""

    @abstractmethod
    def ancestors(self, path: str) -> list[str]:
        """The paths, from the root down, at which a group must exist for a node to be at `path`."""

    @abstractmethod
    def prefixes(self, path: str) -> list[str]:
        """The prefixes that hold all of the node at `path` and of the nodes below it: to erase or to move."""

    @abstractmethod
    def chunk_prefix(self, path: str) -> str:
        """What the keys of the chunks of the array at `path` begin with."""
