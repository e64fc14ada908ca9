"""The attributes of a node: a mapping whose every change is stored at once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Protocol

from omnizarr import _json
from omnizarr._json import Json
from omnizarr.errors import ArgumentError

__all__ = ["Attributes", "as_attributes"]

_MISSING = object()


def as_attributes(value: Any) -> dict[str, Json]:
    """A copy of what a user gives as attributes, as it will be read back from the document."""
    if value is None:
        return {}
    try:
        found = dict(value)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"`attributes`: expected names and values, found {_json.describe(value)}", argument="attributes"
        ) from None
    attributes: dict[str, Json] = _json.plain(found, "attributes")
    return attributes


class _Owner(Protocol):
    def _attributes(self) -> dict[str, Json]: ...

    def _change_attributes(self, how: Callable[[dict[str, Json]], dict[str, Json]]) -> None: ...


class Attributes(MutableMapping[str, Json]):
    """What users say about a node: JSON values under names. One `update` is one write, whatever it holds; what
    another handle changed meanwhile is kept."""

    def __init__(self, owner: _Owner) -> None:
        self._owner = owner

    def __getitem__(self, name: str) -> Json:
        """A copy: what is changed within it is not stored, so it must not look as if it were."""
        return copy.deepcopy(self._owner._attributes()[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._owner._attributes())

    def __len__(self) -> int:
        return len(self._owner._attributes())

    def __setitem__(self, name: str, value: Json) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        def removed(attributes: dict[str, Json]) -> dict[str, Json]:
            if name not in attributes:
                raise KeyError(name)
            return {known: value for known, value in attributes.items() if known != name}

        self._owner._change_attributes(removed)

    def pop(self, name: str, default: Any = _MISSING) -> Json:
        """Removes an attribute and gives its value, or `default` if there is none."""
        if name not in self and default is not _MISSING:
            return default
        value = self[name]
        del self[name]
        return value

    def popitem(self) -> tuple[str, Json]:
        """Removes the attribute that was added last."""
        name = next(reversed(self._owner._attributes()), None)
        if name is None:
            raise KeyError("there are no attributes")
        return name, self.pop(name)

    def clear(self) -> None:
        """Removes all attributes, in one write."""
        self.put({})

    def setdefault(self, name: str, default: Json = None) -> Json:
        if name not in self:
            new = as_attributes({name: default})
            self._owner._change_attributes(lambda attributes: new | attributes)  # somebody else may have been quicker
        return self[name]

    def update(self, other: Any = (), /, **values: Json) -> None:
        """Adds or replaces attributes, in one write."""
        changes = as_attributes(other) | as_attributes(values)
        if changes:
            self._owner._change_attributes(lambda attributes: attributes | changes)

    def put(self, attributes: Mapping[str, Json]) -> None:
        """Replaces all attributes, in one write."""
        new = as_attributes(attributes)
        self._owner._change_attributes(lambda _: new)

    def asdict(self) -> dict[str, Json]:
        """The attributes as a plain dict, which may be changed without changing the node."""
        return copy.deepcopy(self._owner._attributes())

    def __repr__(self) -> str:
        return repr(self._owner._attributes())
