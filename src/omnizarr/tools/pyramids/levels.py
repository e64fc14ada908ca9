"""The levels of a pyramid: their shapes, paths and chunks."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array
from omnizarr.tools.pyramids.reduce import Method

__all__ = ["FACTOR", "PyramidLevel", "Series", "chunk_options", "count_levels", "level_path", "make_levels"]

FACTOR = 2
"""How many elements of a level one element of the next stands for, along each dimension that is reduced."""
_SMALL = 256  # elements: the last level has at most so many along each reduced dimension, unless told otherwise


@dataclass(frozen=True, slots=True)
class PyramidLevel:
    """One level of an array."""

    path: str
    """Its path, relative to the group of the pyramid."""
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    """How many elements of the level before one element stands for, along each dimension."""
    factors: tuple[int, ...]
    """How many elements of level 0 one element stands for."""


@dataclass(frozen=True, slots=True)
class Series:
    """An array and its levels, level 0 first."""

    source: Array
    levels: tuple[PyramidLevel, ...]
    method: Method
    missing: Any = None
    """Elements that are equal to this do not count."""
    names: tuple[str | None, ...] | None = None
    """The names of its dimensions."""


def make_levels(
    shape: Sequence[int], reduced: Collection[int], paths: Sequence[str], *, keep_edges: bool
) -> tuple[PyramidLevel, ...]:
    """The levels with these paths. The dimensions `reduced` are halved; `keep_edges` rounds odd lengths up."""
    levels = [PyramidLevel(paths[0], tuple(shape), (1,) * len(shape), (1,) * len(shape))]
    for path in paths[1:]:
        before = levels[-1]
        steps = tuple(FACTOR if number in reduced and length > 1 else 1 for number, length in enumerate(before.shape))
        lengths = tuple(
            -(-length // step) if keep_edges else length // step
            for length, step in zip(before.shape, steps, strict=True)
        )
        factors = tuple(old * step for old, step in zip(before.factors, steps, strict=True))
        levels.append(PyramidLevel(path, lengths, steps, factors))
    return tuple(levels)


def count_levels(shape: Sequence[int], reduced: Collection[int], levels: int | None) -> int:
    """The number of reduced levels. Raises ArgumentError if there cannot be as many as asked for."""
    longest = max((shape[number] for number in reduced), default=1)
    most = max(0, (longest - 1).bit_length()) if longest > 1 else 0
    if levels is None:
        count = 1
        while longest > _SMALL << count:
            count += 1
        return min(count, most)
    if not 1 <= levels <= most:
        lengths = " × ".join(str(shape[number]) for number in sorted(reduced))
        raise ArgumentError(f"`levels`: expected 1 to {most} for {lengths}, found {levels}", argument="levels")
    return levels


def level_path(name: str, number: int) -> str:
    """The path of a level of an array in the same group: `3` for `0`, `s3` for `s0`, else `3/name`."""
    if not number:
        return name
    match = re.fullmatch(r"([A-Za-z_-]*)0", name)
    return f"{number}/{name}" if match is None else f"{match[1]}{number}"


def chunk_options(array: Array, shape: Sequence[int]) -> dict[str, Any]:
    """The chunks and shards of a level: those of the array, cut to the shape."""
    chunks = tuple(max(1, min(_longest(chunk), length)) for chunk, length in zip(array.chunks, shape, strict=True))
    if array.shards is None:
        return {"chunks": chunks}
    shards = tuple(
        max(chunk, -(-min(_longest(shard), length) // chunk) * chunk)
        for shard, chunk, length in zip(array.shards, chunks, shape, strict=True)
    )
    return {"chunks": chunks, "shards": shards}


def _longest(chunk: Any) -> int:
    return chunk if isinstance(chunk, int) else max(chunk, default=1)
