"""Registries, one per extension point: built-in items, items that a program registers, and package entry points. A
package entry point is loaded when its name is looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from omnizarr.errors import ArgumentError, ExtensionError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Registry", "subclass_of"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Items by name. Items of omnizarr and of the program take precedence over package entry points. If several
    packages offer one name, looking it up is an error, because the choice would be arbitrary."""

    changes: ClassVar[int] = 0
    """The number of registrations in all registries. Caches of looked-up items compare it to detect changes."""

    def __init__(self, kind: str, group: str, admit: Callable[[Any], T] | None = None) -> None:
        self.kind = kind
        self.group = group
        self._admit = admit
        """Converts a registered item to what `get` returns; TypeError if it is not usable."""
        self._items: dict[str, T] = {}
        self._sources: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._offers: dict[str, str] = {}
        self._points: dict[str, list[EntryPoint]] | None = None
        self.further: list[Callable[[str], T | None]] = []
        """Functions that look up names that neither omnizarr, nor the program, nor a package entry point offers."""

    def register(self, name: str, item: Any, *, aliases: tuple[str, ...] = (), replace: bool = False) -> T:
        """Register `item` under `name`. `aliases` are read and never written.

        ArgumentError if the name is registered already, unless `replace` is true or the registered item has the same
        module and qualified name: then a notebook cell has been run again."""
        try:
            admitted: T = item if self._admit is None else self._admit(item)
        except TypeError as error:
            raise ArgumentError(f"{self.kind} `{name}` cannot be registered: {error}", argument="name") from None
        source = _source(item)
        for spelling in (name, *aliases):
            holder = self._aliases.get(spelling, spelling)
            if spelling != name and holder == name:
                continue
            again = self._sources.get(holder) == source and not source.startswith(("omnizarr.", "builtins."))
            if self._knows(holder) and not replace and not again:
                raise ArgumentError(
                    f"{self.kind} `{spelling}` is registered already",
                    argument="name",
                    hint="`replace=True` replaces it",
                )
        Registry.changes += 1
        self._aliases.pop(name, None)
        self._items[name] = admitted
        self._sources[name] = source
        for alias in aliases:
            self._aliases[alias] = name
        return admitted

    def _knows(self, name: str) -> bool:
        return name in self._items or name in self._offers

    def offer(self, name: str, place: str, *, aliases: tuple[str, ...] = ()) -> None:
        """Register the attribute at `place` ("module:attribute"), which is imported when `name` is first looked up."""
        if self._knows(name):
            raise ArgumentError(f"{self.kind} `{name}` is registered already", argument="name")
        self._offers[name] = place
        for alias in aliases:
            self._aliases[alias] = name

    def get(self, name: str) -> T | None:
        """The item `name`; None if there is none. ExtensionError if the package that offers it cannot be loaded."""
        name = self._aliases.get(name, name)
        item = self._items.get(name)
        return self._load(name) if item is None else item

    def _load(self, name: str) -> T | None:
        if name in self._offers:
            module, _, attribute = self._offers[name].partition(":")
            item = getattr(import_module(module), attribute)
            return self._items.setdefault(name, item if self._admit is None else self._admit(item))
        if self._points is None:
            self._points = _entry_points(self.group)  # assigned when complete, because other threads may read it
        points = self._points.get(name)
        if points is None:
            return next((item for find in self.further if (item := find(name)) is not None), None)
        if len({point.value for point in points}) > 1:
            # The order of packages depends on the machine's path. Decoded data must not depend on it.
            raise ExtensionError(
                self.kind,
                name,
                ", ".join(sorted({_package(point) for point in points})),
                self._describe(points[0]),
                "several packages offer it, and the choice would be arbitrary",
                hint="uninstall all of them but one, or register one of them in the program",
            )
        try:
            item = points[0].load()
            admitted: T = item if self._admit is None else self._admit(item)
        except (Exception, SystemExit) as error:  # any failure of the import is an error of that package
            reason = f"{type(error).__name__}: {error}"
            raise ExtensionError(self.kind, name, _package(points[0]), self._describe(points[0]), reason) from error
        # The package may have registered the name itself during the import, perhaps as an alias.
        return self._items.setdefault(self._aliases.get(name, name), admitted)

    def _describe(self, point: EntryPoint) -> str:
        return f"{self.group}: {point.name} = {point.value}"

    def __contains__(self, name: str) -> bool:
        """Whether `names` has this name."""
        return name in self._items or name in self._offers or name in (self._points or ())

    def names(self) -> tuple[str, ...]:
        """All known names, sorted. Those of packages are known after the first lookup of an unknown name."""
        return tuple(sorted({*self._items, *self._offers, *(self._points or ())}))

    def aliases(self) -> dict[str, str]:
        """Names by alias."""
        return dict(self._aliases)


def subclass_of(base: type[Any]) -> Callable[[Any], Any]:
    """An `admit` function that accepts concrete subclasses of `base`."""

    def admit(item: Any) -> Any:
        if not isinstance(item, type) or not issubclass(item, base):
            raise TypeError(f"expected a class that is derived from `{base.__name__}`, found {item!r}")
        missing = sorted(getattr(item, "__abstractmethods__", ()))
        if missing:
            raise TypeError(f"`{item.__name__}` lacks {', '.join(f'`{name}`' for name in missing)}")
        return item

    return admit


def _source(item: object) -> str:
    """Module and qualified name of `item`, or of its class."""
    definition: Any = item if hasattr(item, "__qualname__") else type(item)
    return f"{definition.__module__}.{definition.__qualname__}"


def _entry_points(group: str) -> dict[str, list[EntryPoint]]:
    """The package entry points by name."""
    from importlib.metadata import entry_points  # lazy import: takes milliseconds, and most programs do not need it

    points: Iterable[EntryPoint]
    try:
        points = entry_points(group=group)
    except Exception:  # a package with a damaged list of entry points must not hide the others
        points = _readable_entry_points(group)
    by_name: dict[str, list[EntryPoint]] = {}
    for point in points:
        by_name.setdefault(point.name, []).append(point)
    return by_name


def _readable_entry_points(group: str) -> Iterable[EntryPoint]:
    from importlib.metadata import distributions

    seen = set()
    for distribution in distributions():
        try:
            name, points = distribution.name, distribution.entry_points.select(group=group)
        except Exception:
            continue
        if name not in seen:  # Python imports the first one on the path
            seen.add(name)
            yield from points


def _package(point: EntryPoint) -> str:
    try:
        return str(point.dist.name if point.dist else point.module)
    except Exception:  # damaged package metadata
        return point.value
