"""One registry per extension point: what omnizarr brings, what a program registers, and what installed packages
offer through entry points, each of which is loaded only when its own name is met."""

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
    """Names and what they stand for. What omnizarr or the program registered wins over what packages offer; if several
    packages offer one name, nobody can tell which one is meant, and asking for it is an error."""

    changes: ClassVar[int] = 0
    """How often anything was registered anywhere: whoever keeps what names stood for looks whether that still holds."""

    def __init__(self, kind: str, group: str, admit: Callable[[Any], T] | None = None) -> None:
        self.kind = kind
        self.group = group
        self._admit = admit
        """Gives what is kept of something that is registered, or TypeError that says what was expected."""
        self._items: dict[str, T] = {}
        self._sources: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._offers: dict[str, str] = {}
        self._points: dict[str, list[EntryPoint]] | None = None

    def register(self, name: str, item: Any, *, aliases: tuple[str, ...] = (), replace: bool = False) -> T:
        """Adds `item` under `name`; `aliases` are other spellings that are read and never written. A name that is taken
        is refused, unless `replace` says so, or what has it was defined by the same name in the same module: then a
        cell of a notebook has been run again."""
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
                    hint="`replace=True` puts the new one in its place",
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
        """Adds what lies at `place`, "module:attribute", to be imported when its name is first met."""
        if self._knows(name):
            raise ArgumentError(f"{self.kind} `{name}` is registered already", argument="name")
        self._offers[name] = place
        for alias in aliases:
            self._aliases[alias] = name

    def get(self, name: str) -> T | None:
        """What `name` stands for, or None. ExtensionError if the package that offers it cannot be loaded."""
        name = self._aliases.get(name, name)
        found = self._items.get(name)
        return self._loaded(name) if found is None else found

    def _loaded(self, name: str) -> T | None:
        if name in self._offers:
            module, _, attribute = self._offers[name].partition(":")
            item = getattr(import_module(module), attribute)
            return self._items.setdefault(name, item if self._admit is None else self._admit(item))
        if self._points is None:
            self._points = _offered(self.group)  # set when it is complete: another thread may be here, too
        points = self._points.get(name)
        if points is None:
            return None
        if len({point.value for point in points}) > 1:
            # The order in which packages are found is an accident of the machine: data must not depend on it.
            raise ExtensionError(
                self.kind,
                name,
                ", ".join(sorted({_package(point) for point in points})),
                self._spelled(points[0]),
                "several packages offer it, and nothing says which one is meant",
                hint="uninstall all of them but one, or register the right one in the program",
            )
        try:
            item = points[0].load()
            admitted: T = item if self._admit is None else self._admit(item)
        except (Exception, SystemExit) as error:  # whatever goes wrong there is not the fault of whoever asked
            reason = f"{type(error).__name__}: {error}"
            raise ExtensionError(self.kind, name, _package(points[0]), self._spelled(points[0]), reason) from error
        # The package may have registered the name by itself while it was loaded, and perhaps as an alias.
        return self._items.setdefault(self._aliases.get(name, name), admitted)

    def _spelled(self, point: EntryPoint) -> str:
        return f"{self.group}: {point.name} = {point.value}"

    def names(self) -> tuple[str, ...]:
        """All names that are known by now, in order; those that packages offer are, once an unknown one was met."""
        return tuple(sorted({*self._items, *self._offers, *(self._points or ())}))

    def aliases(self) -> dict[str, str]:
        """Other spellings, and the names that they stand for."""
        return dict(self._aliases)


def subclass_of(base: type[Any]) -> Callable[[Any], Any]:
    """Admits classes that are derived from `base` and leave nothing out."""

    def admit(found: Any) -> Any:
        if not isinstance(found, type) or not issubclass(found, base):
            raise TypeError(f"expected a class that is derived from `{base.__name__}`, found {found!r}")
        missing = sorted(getattr(found, "__abstractmethods__", ()))
        if missing:
            raise TypeError(f"`{found.__name__}` lacks {', '.join(f'`{name}`' for name in missing)}")
        return found

    return admit


def _source(item: object) -> str:
    """Where something was defined; of a value, where its class was."""
    named: Any = item if hasattr(item, "__qualname__") else type(item)
    return f"{named.__module__}.{named.__qualname__}"


def _offered(group: str) -> dict[str, list[EntryPoint]]:
    """What installed packages offer, by name."""
    from importlib.metadata import entry_points  # costs milliseconds, and most programs never come here

    points: Iterable[EntryPoint]
    try:
        points = entry_points(group=group)
    except Exception:  # a package whose list of entry points is damaged must not hide the others
        points = _one_by_one(group)
    found: dict[str, list[EntryPoint]] = {}
    for point in points:
        found.setdefault(point.name, []).append(point)
    return found


def _one_by_one(group: str) -> Iterable[EntryPoint]:
    from importlib.metadata import distributions

    seen = set()
    for distribution in distributions():
        try:
            name, points = distribution.name, distribution.entry_points.select(group=group)
        except Exception:
            continue
        if name not in seen:  # the first on the path is the one that is imported
            seen.add(name)
            yield from points


def _package(point: EntryPoint) -> str:
    try:
        return str(point.dist.name if point.dist else point.module)
    except Exception:  # its metadata are damaged as well
        return point.value
