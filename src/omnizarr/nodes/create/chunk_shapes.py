"""Parsing the shapes of arrays, chunks and shards that users give."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from omnizarr._json import is_integer
from omnizarr.errors import ArgumentError
from omnizarr.grids import Grid, Regular
from omnizarr.grids.auto import auto_chunks, auto_shards

if TYPE_CHECKING:
    from omnizarr.grids.rectilinear import Runs

__all__ = ["as_lengths", "chunk_grid"]


def as_lengths(value: Any, argument: str, *, least: int) -> tuple[int, ...]:
    """A user's shape, given as integers or as one integer for a single dimension. Raises ArgumentError."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        value = (value,)
    try:
        lengths = tuple(value)
    except TypeError:
        lengths = (None,)
    if isinstance(value, str) or not all(
        isinstance(length, (int, np.integer)) and not isinstance(length, bool) and least <= length < 2**63
        for length in lengths
    ):
        raise ArgumentError(
            f"`{argument}`: expected integers of at least {least} and below 2**63, found {value!r}", argument=argument
        )
    return tuple(int(length) for length in lengths)


def chunk_grid(chunks: Any, shards: Any, shape: tuple[int, ...], itemsize: int) -> tuple[Grid, tuple[int, ...] | None]:
    """The chunk grid, and the shape of the inner chunks if `shards` are given."""
    grid = _given_chunks(chunks, shape)
    if shards is None or shards is False:
        return (Regular(auto_chunks(shape, itemsize)) if grid is None else grid), None
    if grid is not None and not isinstance(grid, Regular):
        raise ArgumentError(
            "`chunks`: expected one length per dimension, because the chunks in a shard are equally long",
            argument="chunks",
            hint="list the lengths of the shards in `shards`, and give `chunks` that divide them",
        )
    inner = None if grid is None else grid.chunk_shape
    if isinstance(shards, str) or shards is True:
        if shards not in ("auto", True):
            raise ArgumentError(f'`shards`: expected lengths or "auto", found {shards!r}', argument="shards")
        inner = auto_chunks(shape, itemsize) if inner is None else inner
        return Regular(auto_shards(shape, inner, itemsize)), inner
    grid = _per_dimension(shards, shape, "shards")
    by_axis = list(zip(*grid.chunk_shapes(shape), strict=True))
    if inner is None:
        common = tuple(gcd(*lengths) for lengths in by_axis)
        limits = auto_chunks(common, itemsize)
        inner = tuple(_largest_divisor(length, limit) for length, limit in zip(common, limits, strict=True))
    for axis, (lengths, divisor) in enumerate(zip(by_axis, inner, strict=True)):
        for length in lengths:
            if length % divisor:
                raise ArgumentError(
                    f"`shards`: the length {length} of axis {axis} is not a multiple of the chunk length {divisor}",
                    argument="shards",
                )
    return grid, inner


def _given_chunks(chunks: Any, shape: tuple[int, ...]) -> Grid | None:
    """The grid of the user's `chunks`; None for automatic chunks."""
    if chunks is True or (isinstance(chunks, str) and chunks == "auto"):
        return None
    if chunks is False or chunks is None:
        return Regular(tuple(max(1, length) for length in shape))
    return _per_dimension(chunks, shape, "chunks")


def _per_dimension(value: Any, shape: tuple[int, ...], argument: str) -> Grid:
    """The grid of a user's lengths: one per dimension, or one for all.

    -1 or None stands for the whole dimension, a list for all chunk lengths of a dimension. The grid of another array is
    fitted to `shape`.
    """
    grid = value if isinstance(value, Grid) else None
    if is_integer(value) or isinstance(value, np.integer):
        value = (value,) * len(shape)
    elif grid is not None or _is_list(value):
        value = tuple(value if grid is None else grid.chunks)
        if len(value) != len(shape):
            hint = f"`{argument}=({value},)` lists all chunk lengths of the only dimension" if len(shape) == 1 else None
            raise ArgumentError(
                f"`{argument}`: expected {len(shape)} lengths, found {len(value)}", argument=argument, hint=hint
            )
    else:
        raise ArgumentError(f'`{argument}`: expected lengths or "auto", found {value!r}', argument=argument)
    if grid is not None:
        return grid.fitting(shape)
    whole = [
        max(1, length) if size is None or (is_integer(size) and size == -1) else size
        for size, length in zip(value, shape, strict=True)
    ]
    if not any(map(_is_list, whole)):
        return Regular(as_lengths(whole, argument, least=1))
    from omnizarr.grids.rectilinear import Rectilinear  # lazy import: few arrays have it

    return Rectilinear(
        tuple(
            _runs(size, axis, shape[axis], argument) if _is_list(size) else as_lengths(size, argument, least=1)[0]
            for axis, size in enumerate(whole)
        )
    )


def _is_list(value: Any) -> TypeGuard[Iterable[Any]]:
    number = isinstance(value, np.ndarray) and value.ndim == 0
    return isinstance(value, Iterable) and not isinstance(value, str) and not number


def _runs(edges: Iterable[Any], axis: int, length: int, argument: str) -> Runs:
    """A user's list of all chunk lengths of a dimension; each item is a length, or a pair of a length and a count."""
    from omnizarr.grids.rectilinear import as_runs

    items = [as_lengths(edge, argument, least=1) for edge in edges]
    wrong = next((item for item in items if len(item) > 2 or not item), None)
    if wrong is not None or not items:
        raise ArgumentError(
            f"`{argument}`: expected chunk lengths, or pairs of a chunk length and a count, on axis {axis}, found "
            f"{wrong or items}",
            argument=argument,
        )
    runs = as_runs((item[0], item[1] if len(item) == 2 else 1) for item in items)
    total = sum(chunk * count for chunk, count in runs)
    if total < length:
        raise ArgumentError(
            f"`{argument}`: the lengths on axis {axis} add up to {total}, less than the length {length} of the axis",
            argument=argument,
        )
    return runs


def _largest_divisor(length: int, limit: int) -> int:
    """The largest divisor of `length` that is at most `limit`."""
    best = 1
    divisor = 1
    while divisor * divisor <= length and divisor <= 2**20:
        if length % divisor == 0:
            best = max([best, *(d for d in (divisor, length // divisor) if d <= limit)])
        divisor += 1
    return best
