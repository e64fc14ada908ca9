"""Byte ranges that lie close together, fetched in one piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from omnizarr.store import Buffer

__all__ = ["ByteSpan", "coalesced", "fetched"]

ByteSpan: TypeAlias = tuple[int, int]
"""Where bytes start, and how many there are."""


def coalesced(places: Sequence[ByteSpan], gap: int, most: int) -> list[tuple[ByteSpan, list[int]]]:
    """Ranges that cover all places, each with the positions of the places in it. Places that are at most `gap` bytes
    apart share a range, unless it grows beyond `most` bytes."""
    found: list[tuple[ByteSpan, list[int]]] = []
    start = end = -1
    members: list[int] = []
    for position in sorted(range(len(places)), key=places.__getitem__):
        begin, length = places[position]
        stop = begin + length
        if members and begin - end <= gap and max(stop, end) - start <= most:
            members.append(position)
            end = max(stop, end)
            found[-1] = (start, end - start), members
        else:
            start, end, members = begin, stop, [position]
            found.append(((start, length), members))
    return found


def fetched(places: Sequence[ByteSpan], get: Callable[[ByteSpan], Buffer], gap: int, most: int) -> list[Buffer]:
    """The bytes at each place, got in as few pieces; shorter where what is there ends before."""
    if len(places) == 1:
        return [get(places[0])]
    answers: list[Buffer] = [b""] * len(places)
    for (start, length), members in coalesced(places, gap, most):
        data = memoryview(get((start, length)))
        for position in members:
            begin = places[position][0] - start
            answers[position] = data[begin : begin + places[position][1]]
    return answers
