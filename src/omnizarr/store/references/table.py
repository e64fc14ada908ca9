"""References by key, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from omnizarr.store.key_index import KeyIndex
from omnizarr.store.references.json_ import Reference

__all__ = ["ReferenceTable"]


class ReferenceTable:
    """All references of a store."""

    def __init__(self, references: Mapping[str, Reference]) -> None:
        self._references = references
        self._keys: KeyIndex | None = None

    def get(self, key: str) -> Reference | None:
        """The reference of a key; None if there is no such key."""
        return self._references.get(key)

    def _index(self) -> KeyIndex:
        if self._keys is None:
            self._keys = KeyIndex(self._references)
        return self._keys

    def below(self, prefix: str) -> Iterator[str]:
        """Every key under a prefix."""
        return self._index().below(prefix)

    def children(self, prefix: str) -> tuple[list[str], list[str]]:
        """The keys and the prefixes directly under a prefix."""
        return self._index().children(prefix)
