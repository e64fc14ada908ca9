"""Coalescing: extents that lie close together are fetched as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from omnizarr.store import Buffer
from omnizarr.store.values import Extent

__all__ = ["coalesce", "get_extents"]


def coalesce(extents: Sequence[Extent], gap: int, limit: int) -> list[tuple[Extent, list[int]]]:
    """Extents that cover all given ones, each with the positions of those that it covers. Extents that are at most
    `gap` bytes apart are joined, up to `limit` bytes."""
    joined: list[tuple[Extent, list[int]]] = []
    start = end = -1
    members: list[int] = []
    for position in sorted(range(len(extents)), key=extents.__getitem__):
        begin, length = extents[position]
        stop = begin + length
        if members and begin - end <= gap and max(stop, end) - start <= limit:
            members.append(position)
            end = max(stop, end)
            joined[-1] = (start, end - start), members
        else:
            start, end, members = begin, stop, [position]
            joined.append(((start, length), members))
    return joined


def get_extents(extents: Sequence[Extent], get: Callable[[Extent], Buffer], gap: int, limit: int) -> list[Buffer]:
    """The bytes of each extent, fetched with few calls of `get`; fewer bytes where the value ends early."""
    if len(extents) == 1:
        return [get(extents[0])]
    values: list[Buffer] = [b""] * len(extents)
    for (start, length), members in coalesce(extents, gap, limit):
        data = memoryview(get((start, length)))
        for position in members:
            begin = extents[position][0] - start
            values[position] = data[begin : begin + extents[position][1]]
    return values
