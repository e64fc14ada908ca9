"""What arrays and groups have in common: where they lie, and what users say about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

from omnizarr._json import Json
from omnizarr.nodes.attributes import Attributes
from omnizarr.nodes.site import Site
from omnizarr.store import Store

__all__ = ["Placed"]


class Placed(ABC):
    """A node at a site."""

    _site: Site

    @property
    def store(self) -> Store:
        """Where its bytes lie."""
        return self._site.store

    @property
    def path(self) -> str:
        """Where it lies in its store, without a leading slash."""
        return self._site.path

    @property
    def name(self) -> str:
        """Where it lies in its store, with a leading slash."""
        return f"/{self._site.path}"

    @property
    def basename(self) -> str:
        """The last part of its path."""
        return self._site.path.rpartition("/")[2]

    @property
    def read_only(self) -> bool:
        """Whether this handle refuses to write."""
        return self._site.store.read_only

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
