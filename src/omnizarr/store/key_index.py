"""An index of keys by prefix, which lists one level without a scan of all keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

__all__ = ["KeyIndex"]

_Children: TypeAlias = tuple[set[str], set[str]]  # the keys and the prefixes directly under a prefix, all in full


def _folder(key_or_prefix: str) -> str:
    return key_or_prefix[: key_or_prefix.rfind("/", 0, -1) + 1]


class KeyIndex:
    """The keys of a store. Only one thread at a time may change it."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._folders: dict[str, _Children] = {"": (set(), set())}
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """Add a key, which may exist already."""
        folder = _folder(key)
        if folder not in self._folders:
            self._add_folder(folder)
        self._folders[folder][0].add(key)

    def _add_folder(self, folder: str) -> None:
        self._folders[folder] = (set(), set())
        while folder:
            above = _folder(folder)
            known = above in self._folders
            self._folders.setdefault(above, (set(), set()))[1].add(folder)
            if known:
                return
            folder = above

    def remove(self, key: str) -> None:
        """Remove an existing key, and prefixes that become empty."""
        folder = _folder(key)
        self._folders[folder][0].discard(key)
        while folder and not any(self._folders[folder]):
            del self._folders[folder]
            above = _folder(folder)
            self._folders[above][1].discard(folder)
            folder = above

    def children(self, prefix: str) -> tuple[list[str], list[str]]:
        """The keys and the prefixes directly under a prefix, in no order."""
        keys, prefixes = self._folders.get(prefix, ((), ()))
        return list(keys), list(prefixes)

    def below(self, prefix: str) -> Iterator[str]:
        """Every key under a prefix, in no order."""
        waiting = [prefix]
        while waiting:
            keys, prefixes = self.children(waiting.pop())
            yield from keys
            waiting.extend(prefixes)
