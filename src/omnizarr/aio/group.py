"""`AsyncGroup`: a group whose members are awaited."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from functools import partial
from typing import Any, TypeAlias, TypeVar, Unpack

from omnizarr._json import Json
from omnizarr.aio.array import AsyncArray
from omnizarr.aio.node import AsyncNode
from omnizarr.display.tree import Tree
from omnizarr.model import GroupModel
from omnizarr.nodes import Array, ArrayOptions, Group, UnreadableNode
from omnizarr.nodes.group import _depth

__all__ = ["AsyncGroup", "AsyncMember", "as_async", "as_sync"]

AsyncMember: TypeAlias = "AsyncArray | AsyncGroup | UnreadableNode"
T = TypeVar("T")

_BATCH = 64  # members per call in a thread; the first call fetches the documents of all members of a group
_END: Any = object()


def as_async(value: Any) -> Any:
    """The asynchronous handle of a node; any other value unchanged."""
    if isinstance(value, Array):
        return AsyncArray(value)
    return AsyncGroup(value) if isinstance(value, Group) else value


def as_sync(value: Any) -> Any:
    """The synchronous handle of a node, also inside a list or dictionary; any other value unchanged."""
    if type(value) is list:
        return [as_sync(item) for item in value]
    if type(value) is dict:
        return {name: as_sync(item) for name, item in value.items()}
    return value.sync if isinstance(value, AsyncNode) else value


class AsyncGroup(AsyncNode[Group]):
    """A group of arrays and groups, for programs with an event loop.

    Names can be paths. A member that cannot be read is an `UnreadableNode`, which holds the error.

    Example:
        >>> g = await aio.open_group("weather.zarr")
        >>> temps = await g.create_array("daily/temps", shape=(365, 24), dtype="f4")
        >>> [name async for name in g]
        ['daily']
        >>> (await g["daily/temps"]).shape
        (365, 24)
        >>> await g.delete("daily")
    """

    @property
    def metadata(self) -> GroupModel:
        """The model of the group: all its metadata, in one form for all generations."""
        return self._node.metadata

    # -- members

    def __getitem__(self, path: str) -> Coroutine[Any, Any, Any]:
        return self._member(path)

    async def _member(self, path: str) -> Any:
        return as_async(await self._read(self._node.__getitem__, path))

    async def get(self, path: str, default: Any = None) -> Any:
        """The member at `path`, or `default` if there is none."""
        return as_async(await self._read(self._node.get, path, default))

    async def contains(self, path: str) -> bool:
        """Whether a node, readable or not, lies at `path`."""
        return await self._read(self._node.__contains__, path)

    async def keys(self) -> tuple[str, ...]:
        """The names of the direct members."""
        names: tuple[str, ...] = await self._read(self._node.keys)
        return names

    async def nmembers(self, max_depth: int | None = 0) -> int:
        """The number of members; `max_depth` as in `members`."""
        return await self._read(self._node.nmembers, max_depth)

    async def __aiter__(self) -> AsyncIterator[str]:
        for name in await self.keys():
            yield name

    def members(self, max_depth: int | None = 0) -> AsyncGenerator[tuple[str, AsyncMember], None]:
        """Iterates over the names and nodes of the members, each group before its own members.

        `max_depth` is the number of further levels below the direct members; None for all.
        """
        return self._iterate(lambda: iter(self._node._walk(_depth(max_depth, "max_depth"))))

    def arrays(self) -> AsyncGenerator[tuple[str, AsyncArray], None]:
        """Iterates over the arrays among the direct members, by name."""
        return self._iterate(self._node.arrays)

    def groups(self) -> AsyncGenerator[tuple[str, AsyncGroup], None]:
        """Iterates over the groups among the direct members, by name."""
        return self._iterate(self._node.groups)

    async def _iterate(self, start: Callable[[], Iterator[tuple[str, Any]]]) -> AsyncGenerator[tuple[str, Any], None]:
        iterator: Iterator[tuple[str, Any]] | None = None

        def step() -> list[tuple[str, Any]]:
            nonlocal iterator
            if iterator is None:
                iterator = start()
            batch: list[tuple[str, Any]] = []
            while len(batch) < _BATCH and (item := next(iterator, _END)) is not _END:
                batch.append(item)
            return batch

        # A cancelled step must have ended before anything else uses the iterator.
        while batch := await self._change(step):
            for name, node in batch:
                yield name, as_async(node)

    async def tree(self, level: int | None = None) -> Tree:
        """The hierarchy below the group as a printable tree; `level` is the number of levels, None for all."""
        return await self._read(self._node.tree, level)

    # -- changes

    async def create_array(self, name: str, **options: Unpack[ArrayOptions]) -> AsyncArray:
        """Creates an array at the path `name` below this group; the options are those of `omnizarr.create_array`."""
        return AsyncArray(await self._change(partial(self._node.create_array, name, **options)))

    async def create_group(
        self, name: str, *, attributes: dict[str, Json] | None = None, overwrite: bool = False
    ) -> AsyncGroup:
        """Creates a group at the path `name` below this one."""
        return AsyncGroup(await self._change(self._node.create_group, name, attributes=attributes, overwrite=overwrite))

    async def require_array(self, name: str, *, exact: bool = False, **options: Unpack[ArrayOptions]) -> AsyncArray:
        """The array at `name`, which is created with `options` if there is none."""
        return AsyncArray(await self._change(partial(self._node.require_array, name, exact=exact, **options)))

    async def require_group(self, name: str, *, overwrite: bool = False) -> AsyncGroup:
        """The group at `name`, which is created if there is none."""
        return AsyncGroup(await self._change(self._node.require_group, name, overwrite=overwrite))

    async def delete(self, path: str) -> None:
        """Erases the member at `path`, with all nodes below it."""
        await self._change(self._node.__delitem__, path)

    async def move(self, source: str, dest: str) -> None:
        """Moves the member at `source`, with all nodes below it, to the path `dest` of this group."""
        await self._change(self._node.move, source, dest)
