"""One registry per extension point: what omnizarr brings, what a program registers, and what installed packages
offer through entry points, which are loaded only when one of their names is met."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from omnizarr.errors import ArgumentError

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Names and what they stand for. A name registered by the program wins over an entry point of the same name."""

    def __init__(self, kind: str, group: str) -> None:
        self.kind = kind
        self.group = group
        self._items: dict[str, T] = {}
        self._aliases: dict[str, str] = {}
        self._searched = False

    def register(self, name: str, item: T, *, aliases: tuple[str, ...] = (), replace: bool = False) -> T:
        """Adds `item` under `name`; `aliases` are other spellings that are read and never written."""
        if name in self._items and not replace:
            raise ArgumentError(f"{self.kind} `{name}` is registered already", argument="name")
        self._items[name] = item
        for alias in aliases:
            self._aliases[alias] = name
        return item

    def get(self, name: str) -> T | None:
        """What `name` stands for, or None."""
        found = self._items.get(self._aliases.get(name, name))
        if found is None and not self._searched:
            self._search()
            found = self._items.get(name)
        return found

    def _search(self) -> None:
        from importlib.metadata import entry_points  # costs milliseconds, and most programs never come here

        self._searched = True
        for point in entry_points(group=self.group):
            if point.name not in self._items:
                self._items[point.name] = point.load()

    def names(self) -> tuple[str, ...]:
        """All registered names, in order."""
        return tuple(sorted(self._items))

    def __iter__(self) -> Iterator[T]:
        return iter(self._items.values())
