"""Coalescing: byte ranges that lie close together are fetched as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from omnizarr.store import Buffer

__all__ = ["ByteSpan", "coalesce", "get_spans"]

ByteSpan: TypeAlias = tuple[int, int]
"""The position of the first byte, and the number of bytes."""


def coalesce(spans: Sequence[ByteSpan], gap: int, limit: int) -> list[tuple[ByteSpan, list[int]]]:
    """Spans that cover all given ones, each with the positions of those that it covers. Spans that are at most `gap`
    bytes apart are joined, up to `limit` bytes."""
    joined: list[tuple[ByteSpan, list[int]]] = []
    start = end = -1
    members: list[int] = []
    for position in sorted(range(len(spans)), key=spans.__getitem__):
        begin, length = spans[position]
        stop = begin + length
        if members and begin - end <= gap and max(stop, end) - start <= limit:
            members.append(position)
            end = max(stop, end)
            joined[-1] = (start, end - start), members
        else:
            start, end, members = begin, stop, [position]
            joined.append(((start, length), members))
    return joined


def get_spans(spans: Sequence[ByteSpan], get: Callable[[ByteSpan], Buffer], gap: int, limit: int) -> list[Buffer]:
    """The bytes of each span, fetched with few calls of `get`; fewer bytes where the value ends early."""
    if len(spans) == 1:
        return [get(spans[0])]
    values: list[Buffer] = [b""] * len(spans)
    for (start, length), members in coalesce(spans, gap, limit):
        data = memoryview(get((start, length)))
        for position in members:
            begin = spans[position][0] - start
            values[position] = data[begin : begin + spans[position][1]]
    return values
