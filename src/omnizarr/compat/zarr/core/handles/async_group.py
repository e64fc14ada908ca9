"""`AsyncGroup`: a group whose methods are coroutines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial, wraps
from typing import Any, Self

from omnizarr.compat.zarr.core.array import Array, AsyncArray
from omnizarr.compat.zarr.core.handles.group import Group
from omnizarr.compat.zarr.core.metadata.group import GroupMetadata
from omnizarr.compat.zarr.storage._common import StorePath
from omnizarr.compat.zarr.storage._engine import engine_store
from omnizarr.formats import dialect_for
from omnizarr.nodes import Group as OwnGroup
from omnizarr.nodes.metadata.documents import parse_node
from omnizarr.nodes.node import NodeContext

__all__ = ["AsyncGroup", "as_async", "as_sync"]

_PROPERTIES = (
    *("basename", "info", "metadata", "name", "path", "read_only", "store", "store_path", "synchronizer"),
    "zarr_format",
)
"""The properties that are those of `Group`."""


def as_async(node: Any) -> Any:
    """The same node with coroutines."""
    return (
        AsyncArray._of(node) if isinstance(node, Array) else AsyncGroup._of(node) if isinstance(node, Group) else node
    )


def as_sync(node: Any) -> Any:
    """The same node without coroutines."""
    return node._array if isinstance(node, AsyncArray) else node._group if isinstance(node, AsyncGroup) else node


class AsyncGroup:
    """A group whose methods are coroutines. They run the engine in worker threads."""

    def __init__(self, metadata: GroupMetadata, store_path: StorePath) -> None:
        store = engine_store(store_path.store)
        dialect = dialect_for(metadata.zarr_format)
        prefix = f"{store_path.path}/" if store_path.path else ""
        documents = {prefix + name: json.loads(value.to_bytes()) for name, value in metadata.to_buffer_dict().items()}
        model: Any = parse_node(dialect, store, store_path.path, documents)
        self._group = Group._of(OwnGroup(NodeContext(store, store_path.path, dialect), model), store_path)

    @classmethod
    def _of(cls, group: Group) -> Self:
        handle = cls.__new__(cls)
        handle._group = group
        return handle

    @classmethod
    async def from_store(cls, store: Any, **options: Any) -> Self:
        """Creates a group."""
        return cls._of(await asyncio.to_thread(lambda: Group.from_store(store, **options)))

    @classmethod
    async def open(cls, store: Any, zarr_format: Any = None, use_consolidated: Any = None) -> Self:
        """Opens a group."""
        return cls._of(await asyncio.to_thread(Group.open, store, zarr_format, use_consolidated))

    @classmethod
    def from_dict(cls, store_path: StorePath, data: dict[str, Any]) -> Self:
        """The handle of a group whose document is `data`."""
        return cls(GroupMetadata.from_dict(data), store_path)

    def __getattr__(self, name: str) -> Any:
        if name not in _PROPERTIES:
            raise AttributeError(f"'AsyncGroup' object has no attribute {name!r}")
        return getattr(self._group, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_PROPERTIES]

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes; `update_attributes` changes them."""
        return self._group.attrs.asdict()

    async def get(self, key: str, default: Any = None) -> Any:
        """The member at `key`, or `default`."""
        return as_async(await asyncio.to_thread(self._group.get, key, default))

    async def require_groups(self, *names: str) -> tuple[Self, ...]:
        """Several groups, which are created if there are none."""
        return tuple(map(as_async, await asyncio.to_thread(self._group.require_groups, *names)))

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

    async def members(
        self, max_depth: int | None = 0, *, use_consolidated_for_children: bool = True
    ) -> AsyncIterator[tuple[str, Any]]:
        """The names and nodes of the members."""
        members = partial(self._group.members, max_depth, use_consolidated_for_children=use_consolidated_for_children)
        for name, node in await asyncio.to_thread(members):
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

    async def group_keys(self) -> AsyncIterator[str]:
        """The names of the groups among the members."""
        for name in await asyncio.to_thread(lambda: list(self._group.group_keys())):
            yield name

    async def array_keys(self) -> AsyncIterator[str]:
        """The names of the arrays among the members."""
        for name in await asyncio.to_thread(lambda: list(self._group.array_keys())):
            yield name

    async def group_values(self) -> AsyncIterator[Any]:
        """The groups among the members."""
        async for _, node in self.groups():
            yield node

    async def array_values(self) -> AsyncIterator[Any]:
        """The arrays among the members."""
        async for _, node in self.arrays():
            yield node

    async def create_hierarchy(
        self, nodes: dict[str, Any], *, overwrite: bool = False
    ) -> AsyncIterator[tuple[str, Any]]:
        """Creates nodes below this group with the groups above them, and yields their paths and handles."""
        created = await asyncio.to_thread(lambda: list(self._group.create_hierarchy(nodes, overwrite=overwrite)))
        for path, node in created:
            yield path, as_async(node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AsyncGroup) and self._group == other._group

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<AsyncGroup {self.store_path}>"


def _coroutine(name: str) -> Any:
    method = getattr(Group, name)

    @wraps(method)
    async def call(self: AsyncGroup, *args: Any, **kwargs: Any) -> Any:
        return as_async(await asyncio.to_thread(lambda: method(self._group, *args, **kwargs)))

    return call


for _name in (
    *("create_array", "create_group", "create_dataset", "require_array", "require_dataset", "require_group"),
    *("array", "empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like"),
    *("update_attributes", "info_complete", "nmembers", "get_array", "get_group", "move", "tree"),
):
    setattr(AsyncGroup, _name, _coroutine(_name))

Group._async_class = AsyncGroup
