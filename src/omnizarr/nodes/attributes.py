"""`Attributes`: the attributes of a node as a mapping."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, TypeAlias

from omnizarr import _json
from omnizarr._json import Json
from omnizarr.errors import ArgumentError

__all__ = ["Attributes", "as_attributes"]

_MISSING = object()

_Values: TypeAlias = dict[str, Json]


def as_attributes(value: Any) -> dict[str, Json]:
    """A copy of a user's attributes, in the form in which they will be read back from the document."""
    if value is None:
        return {}
    try:
        values = dict(value)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"`attributes`: expected a mapping of names to values, found {_json.describe(value)}", argument="attributes"
        ) from None
    attributes: dict[str, Json] = _json.plain(values, "attributes")
    return attributes


class Attributes(MutableMapping[str, Json]):
    """The attributes of a node: a mapping of names to JSON values.

    Every change is stored at once and keeps the concurrent changes of other handles; `update` stores all its changes in
    one write. A value is returned as a copy: assign it again to store a change inside it.

    Example:
        >>> z.attrs["unit"] = "K"
        >>> z.attrs.update(source="station 5", height=2.0)
        >>> z.attrs["unit"]
        'K'
    """

    def __init__(self, read: Callable[[], _Values], change: Callable[[Callable[[_Values], _Values]], None]) -> None:
        """`read` returns the attributes of the node; `change(edit)` stores what `edit` makes of the stored ones."""
        self._read = read
        self._change = change

    def __getitem__(self, name: str) -> Json:
        # A copy, because a change inside the value is not stored.
        return copy.deepcopy(self._read()[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __setitem__(self, name: str, value: Json) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        def remove(attributes: dict[str, Json]) -> dict[str, Json]:
            if name not in attributes:
                raise KeyError(name)
            return {other: value for other, value in attributes.items() if other != name}

        self._change(remove)

    def pop(self, name: str, default: Any = _MISSING) -> Json:
        """Removes an attribute and returns its value, or `default` if there is none."""
        if name not in self and default is not _MISSING:
            return default
        value = self[name]
        del self[name]
        return value

    def popitem(self) -> tuple[str, Json]:
        """Removes the attribute that was added last, and returns its name and value."""
        name = next(reversed(self._read()), None)
        if name is None:
            raise KeyError("the node has no attributes")
        return name, self.pop(name)

    def clear(self) -> None:
        """Removes all attributes, in one write."""
        self.put({})

    def setdefault(self, name: str, default: Json = None) -> Json:
        if name not in self:
            new = as_attributes({name: default})
            # `new` first: keep a value that another writer set meanwhile.
            self._change(lambda attributes: new | attributes)
        return self[name]

    def update(self, other: Any = (), /, **values: Json) -> None:
        """Adds or replaces attributes, in one write."""
        changes = as_attributes(other) | as_attributes(values)
        if changes:
            self._change(lambda attributes: attributes | changes)

    def put(self, attributes: Mapping[str, Json]) -> None:
        """Replaces all attributes, in one write."""
        new = as_attributes(attributes)
        self._change(lambda _: new)

    def asdict(self) -> dict[str, Json]:
        """A copy of the attributes as a dict."""
        return copy.deepcopy(self._read())

    def __repr__(self) -> str:
        return repr(self._read())
