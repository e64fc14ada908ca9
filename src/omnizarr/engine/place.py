"""Placement: moves elements between a decoded chunk and the block, for all readers and writers; and names the chunk in
errors of codecs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from omnizarr.engine.layout import Layout
from omnizarr.engine.numpy_index import assign, take
from omnizarr.errors import ChunkError, CodecError, MissingDependencyError
from omnizarr.indexing import Cell, Pick, Projection, pick_length

__all__ = ["fill_target", "gather", "place", "raise_for_chunk"]


def place(block: npt.NDArray[Any], cell: Cell, projection: Projection, chunk: npt.NDArray[Any]) -> None:
    """Copy the elements that `cell` takes from `chunk` to their place in the block."""
    if projection.order is not None:
        chunk = chunk.transpose(projection.order)
    assign(block, cell.outer, take(chunk, projection.expression(cell.inner)))


def gather(chunk: npt.NDArray[Any], cell: Cell, projection: Projection, value: npt.NDArray[Any]) -> None:
    """The reverse: copy `value`, the part of the block that `cell` covers, into `chunk`."""
    if projection.order is not None:
        chunk = chunk.transpose(projection.order)
    assign(chunk, projection.expression(cell.inner), value)


def fill_target(
    block: npt.NDArray[Any],
    cell: Cell,
    points: tuple[int, ...],
    plain: bool,
    dtype: np.dtype[Any],
    fill: Callable[[npt.NDArray[Any]], None],
) -> None:
    """Call `fill(target)`, where `target` is the part of the block that `cell` covers: a view of the block if the
    projection is `plain`, otherwise a temporary array, which is then assigned to the block."""
    if plain:
        fill(block[cell.outer])
        return
    target = np.empty(_block_shape(cell.inner, points), dtype)
    fill(target)
    assign(block, cell.outer, target)


def _block_shape(picks: tuple[Pick, ...], points: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the block that picks fill."""
    lengths = tuple(pick_length(pick) for dimension, pick in enumerate(picks) if dimension not in points)
    return (pick_length(picks[points[0]]), *lengths) if points else lengths


def raise_for_chunk(
    action: Literal["read", "write"],
    layout: Layout,
    chunk: tuple[int, ...],
    key: str,
    error: CodecError | MissingDependencyError,
) -> NoReturn:
    """Raise the error of a codec again as one that names the array and the chunk, unless it already does."""
    if isinstance(error, ChunkError):
        raise error
    if isinstance(error, CodecError):
        raise ChunkError(action, layout.name, chunk, key, error) from error
    raise error.add_context(f"cannot {action} array `{layout.name}`") from None
