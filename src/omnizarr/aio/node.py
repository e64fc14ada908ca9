"""`AsyncNode`, the base class of the asynchronous handles, and `AsyncAttributes`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, ParamSpec, Self, TypeVar

from omnizarr._json import Json
from omnizarr.aio.dispatch import run
from omnizarr.nodes import Array, Group
from omnizarr.nodes.attributes import Attributes
from omnizarr.store import Store

__all__ = ["AsyncAttributes", "AsyncNode"]

N = TypeVar("N", bound="Array | Group")
P = ParamSpec("P")
R = TypeVar("R")


class AsyncNode(Generic[N]):
    """An asynchronous handle of a node. What the handle knows is a property; what needs the store is a coroutine."""

    def __init__(self, node: N) -> None:
        self._node = node

    @property
    def sync(self) -> N:
        """The synchronous handle of the same node. Both show the same state."""
        return self._node

    @property
    def store(self) -> Store:
        """The store that holds the node."""
        return self._node.store

    @property
    def path(self) -> str:
        """The path in the store, without a leading slash."""
        return self._node.path

    @property
    def name(self) -> str:
        """The path in the store, with a leading slash."""
        return self._node.name

    @property
    def basename(self) -> str:
        """The last part of the path."""
        return self._node.basename

    @property
    def read_only(self) -> bool:
        """Whether this handle rejects writes."""
        return self._node.read_only

    @property
    def attrs(self) -> AsyncAttributes:
        """The attributes that the handle has loaded: a mapping of names to JSON values. Coroutines change them."""
        return AsyncAttributes(self._node.attrs, self._change)

    async def update_attributes(self, new_attributes: dict[str, Json]) -> Self:
        """Adds or replaces attributes in one write, and returns the handle."""
        await self.attrs.update(new_attributes)
        return self

    async def refresh(self) -> Self:
        """Loads the metadata again, with the changes of other writers, and returns the handle."""
        await self._change(self._node.refresh)
        return self

    async def _read(self, function: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
        """Calls a function that changes nothing."""
        return await run(function, self._node.store.remote, False, *arguments, **options)

    async def _change(self, function: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
        """Calls a function that changes stored data or the handle. It has ended when the coroutine ends."""
        return await run(function, self._node.store.remote, True, *arguments, **options)

    def _repr_html_(self) -> str:
        return self._node._repr_html_()

    def __repr__(self) -> str:
        return f"<Async{repr(self._node)[1:]}"


class AsyncAttributes(Mapping[str, Json]):
    """The attributes of a node. Reading needs no request; coroutines change them, each in one write.

    Example:
        >>> await z.attrs.set("unit", "K")
        >>> await z.attrs.update(source="station 5", height=2.0)
        >>> z.attrs["unit"]
        'K'
    """

    def __init__(self, attributes: Attributes, change: Callable[..., Any]) -> None:
        """`change(function, ...)` calls a function in a thread."""
        self._attributes = attributes
        self._change = change

    def __getitem__(self, name: str) -> Json:
        return self._attributes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    async def set(self, name: str, value: Json) -> None:
        """Adds or replaces an attribute."""
        await self._change(self._attributes.update, {name: value})

    async def update(self, other: Any = (), /, **values: Json) -> None:
        """Adds or replaces attributes."""
        await self._change(self._attributes.update, other, **values)

    async def delete(self, name: str) -> None:
        """Removes an attribute; KeyError if there is none."""
        await self._change(self._attributes.__delitem__, name)

    async def put(self, attributes: Mapping[str, Json]) -> None:
        """Replaces all attributes."""
        await self._change(self._attributes.put, attributes)

    def asdict(self) -> dict[str, Json]:
        """A copy of the attributes as a dict."""
        return self._attributes.asdict()

    def __repr__(self) -> str:
        return repr(self._attributes)
