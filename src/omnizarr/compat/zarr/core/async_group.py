"""`AsyncGroup`: a group whose methods are coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self

from omnizarr.compat.zarr.core.array import Array, AsyncArray
from omnizarr.compat.zarr.core.sync_group import Group

__all__ = ["AsyncGroup", "as_async"]


def as_async(node: Any) -> Any:
    """The same node with coroutines."""
    return AsyncArray._of(node) if isinstance(node, Array) else AsyncGroup(node) if isinstance(node, Group) else node


class AsyncGroup:
    """A group whose methods are coroutines. They run the engine in worker threads."""

    def __init__(self, group: Group) -> None:
        self._group = group

    @classmethod
    async def from_store(cls, store: Any, **options: Any) -> Self:
        """Creates a group."""
        return cls(await asyncio.to_thread(lambda: Group.from_store(store, **options)))

    @classmethod
    async def open(cls, store: Any, zarr_format: Any = None, use_consolidated: Any = None) -> Self:
        """Opens a group."""
        return cls(await asyncio.to_thread(Group.open, store, zarr_format, use_consolidated))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_group":
            raise AttributeError(name)
        value = getattr(self._group, name)
        if not callable(value):
            return dict(value) if name == "attrs" else value

        async def call(*args: Any, **kwargs: Any) -> Any:
            return as_async(await asyncio.to_thread(lambda: value(*args, **kwargs)))

        return call

    async def getitem(self, key: str) -> Any:
        """The member at `key`."""
        return as_async(await asyncio.to_thread(self._group.__getitem__, key))

    async def delitem(self, key: str) -> None:
        """Removes the member at `key`."""
        await asyncio.to_thread(self._group.__delitem__, key)

    async def contains(self, member: str) -> bool:
        """Whether there is a member."""
        return await asyncio.to_thread(self._group.__contains__, member)

    async def setitem(self, key: str, value: Any) -> None:
        """Stores an array."""
        await asyncio.to_thread(self._group.__setitem__, key, value)

    async def members(self, max_depth: int | None = 0, **_: Any) -> AsyncIterator[tuple[str, Any]]:
        """The names and nodes of the members."""
        for name, node in await asyncio.to_thread(self._group.members, max_depth):
            yield name, as_async(node)

    async def keys(self) -> AsyncIterator[str]:
        """The names of the members."""
        for name in await asyncio.to_thread(lambda: list(self._group.keys())):
            yield name

    async def groups(self) -> AsyncIterator[tuple[str, Any]]:
        """The groups among the members."""
        async for name, node in self.members():
            if isinstance(node, AsyncGroup):
                yield name, node

    async def arrays(self) -> AsyncIterator[tuple[str, Any]]:
        """The arrays among the members."""
        async for name, node in self.members():
            if isinstance(node, AsyncArray):
                yield name, node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AsyncGroup) and self._group == other._group

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<AsyncGroup {self.store_path}>"


Group._async_class = AsyncGroup
