"""One registry per extension point: what omnizarr brings, what a program registers, and what installed packages
offer through entry points, each of which is loaded only when its own name is met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from omnizarr.errors import ArgumentError, ExtensionError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Names and what they stand for. A name registered by the program wins over an entry point of the same name."""

    def __init__(self, kind: str, group: str) -> None:
        self.kind = kind
        self.group = group
        self._items: dict[str, T] = {}
        self._aliases: dict[str, str] = {}
        self._points: dict[str, EntryPoint] | None = None

    def register(self, name: str, item: T, *, aliases: tuple[str, ...] = (), replace: bool = False) -> T:
        """Adds `item` under `name`; `aliases` are other spellings that are read and never written."""
        if name in self._items and not replace:
            raise ArgumentError(f"{self.kind} `{name}` is registered already", argument="name")
        self._items[name] = item
        for alias in aliases:
            self._aliases[alias] = name
        return item

    def get(self, name: str) -> T | None:
        """What `name` stands for, or None. ExtensionError if the package that offers it cannot be loaded."""
        found = self._items.get(self._aliases.get(name, name))
        return self._loaded(name) if found is None else found

    def _loaded(self, name: str) -> T | None:
        if self._points is None:
            self._points = self._offered()  # set when it is complete: another thread may be here, too
        point = self._points.get(name)
        if point is None:
            return None
        try:
            item = point.load()
        except Exception as error:  # whatever goes wrong there is not the fault of whoever asked
            package = point.dist.name if point.dist else point.module
            raise ExtensionError(self.kind, name, package, f"{type(error).__name__}: {error}") from error
        # The package may have registered the name by itself while it was loaded, and perhaps as an alias.
        return self._items.setdefault(self._aliases.get(name, name), item)

    def _offered(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points  # costs milliseconds, and most programs never come here

        points: dict[str, EntryPoint] = {}
        for point in entry_points(group=self.group):
            points.setdefault(point.name, point)
        return points

    def names(self) -> tuple[str, ...]:
        """All names that are known by now, in order; those that packages offer are, once an unknown one was met."""
        return tuple(sorted({*self._items, *(self._points or ())}))
