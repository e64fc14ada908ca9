"""Shapes of arrays, chunks and shards, as users give them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from omnizarr._json import is_integer
from omnizarr.errors import ArgumentError
from omnizarr.grids.auto import auto_chunks, auto_shards

__all__ = ["as_lengths", "chunk_shapes"]


def as_lengths(value: Any, argument: str, *, least: int) -> tuple[int, ...]:
    """The lengths of a shape that a user gives as integers, or as one integer for one dimension."""
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
        raise ArgumentError(f"`{argument}`: expected integers of at least {least}, found {value!r}", argument=argument)
    return tuple(int(length) for length in lengths)


def chunk_shapes(
    chunks: Any, shards: Any, shape: tuple[int, ...], itemsize: int
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The shape of what is stored, and that of the inner chunks if there are shards."""
    given = _given_chunks(chunks, shape)
    if shards is None or shards is False:
        return (auto_chunks(shape, itemsize) if given is None else given), None
    if isinstance(shards, str) or shards is True:
        if shards not in ("auto", True):
            raise ArgumentError(f'`shards`: expected lengths or "auto", found {shards!r}', argument="shards")
        inner = auto_chunks(shape, itemsize) if given is None else given
        return auto_shards(shape, inner, itemsize), inner
    outer = _per_dimension(shards, shape, "shards")
    if given is None:
        wanted = auto_chunks(outer, itemsize)
        given = tuple(_largest_divisor(length, limit) for length, limit in zip(outer, wanted, strict=True))
    for axis, (length, piece) in enumerate(zip(outer, given, strict=True)):
        if length % piece:
            raise ArgumentError(
                f"`shards`: the length {length} of axis {axis} is not a multiple of the chunk length {piece}",
                argument="shards",
            )
    return outer, given


def _given_chunks(chunks: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The chunk lengths that the user gave; None if they are to be chosen."""
    if chunks is True or (isinstance(chunks, str) and chunks == "auto"):
        return None
    if chunks is False or chunks is None:
        return tuple(max(1, length) for length in shape)
    return _per_dimension(chunks, shape, "chunks")


def _per_dimension(value: Any, shape: tuple[int, ...], argument: str) -> tuple[int, ...]:
    """Lengths as a user gives them: one for each dimension, or one for all; -1 or None is the whole dimension."""
    if is_integer(value) or isinstance(value, np.integer):
        value = (value,) * len(shape)
    elif isinstance(value, Iterable) and not isinstance(value, str):
        value = tuple(value)
        if len(value) != len(shape):
            raise ArgumentError(f"`{argument}`: expected {len(shape)} lengths, found {len(value)}", argument=argument)
    else:
        raise ArgumentError(f'`{argument}`: expected lengths or "auto", found {value!r}', argument=argument)
    whole = [
        max(1, length) if size is None or (is_integer(size) and size == -1) else size
        for size, length in zip(value, shape, strict=True)
    ]
    return as_lengths(whole, argument, least=1)


def _largest_divisor(length: int, limit: int) -> int:
    """The largest divisor of `length` that is at most `limit`."""
    best = 1
    divisor = 1
    while divisor * divisor <= length and divisor <= 2**20:
        if length % divisor == 0:
            best = max([best, *(d for d in (divisor, length // divisor) if d <= limit)])
        divisor += 1
    return best
