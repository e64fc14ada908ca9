"""`Attributes`: the attributes of an array or a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from omnizarr import errors as own
from omnizarr.compat.zarr.errors import translated

__all__ = ["Attributes"]


def _stored(change: Callable[[], None]) -> None:
    """Changes attributes; a value that JSON cannot represent is a TypeError."""
    try:
        change()
    except own.ArgumentError as error:
        raise TypeError(str(error)) from error


class Attributes(MutableMapping[str, Any]):
    """A mapping of names to JSON values. Every change is stored at once."""

    def __init__(self, obj: Any) -> None:
        self._obj = obj

    @property
    def _values(self) -> dict[str, Any]:
        return self._obj._handle._attributes()  # type: ignore[no-any-return]

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @translated
    def __setitem__(self, key: str, value: Any) -> None:
        _stored(lambda: self._obj._handle.attrs.update({key: value}))

    @translated
    def __delitem__(self, key: str) -> None:
        del self._obj._handle.attrs[key]

    @translated
    def update(self, *args: Any, **kwargs: Any) -> None:
        """Adds or replaces attributes, in one write."""
        _stored(lambda: self._obj._handle.attrs.update(*args, **kwargs))

    @translated
    def put(self, d: dict[str, Any]) -> None:
        """Replaces all attributes, in one write."""
        _stored(lambda: self._obj._handle.attrs.put(d))

    def asdict(self) -> dict[str, Any]:
        """A copy of the attributes."""
        return dict(self._values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._values!r})"
