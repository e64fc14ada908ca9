"""`Concatenation`: arrays side by side, as the source of a lazy view."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import ArgumentError
from omnizarr.indexing import Selection
from omnizarr.nodes.views.source import Chunks, Source, lengths_along

__all__ = ["Concatenation"]


class Concatenation:
    """Sources of the same shape, except along `axis`, one after the other along this axis."""

    def __init__(self, parts: Sequence[Source], axis: int) -> None:
        first = parts[0].shape
        for part in parts:
            if part.shape[:axis] + part.shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
                raise ArgumentError(
                    f"`arrays`: expected shapes like {first} except on axis {axis}, found {part.shape}",
                    argument="arrays",
                )
        try:
            self.dtype: np.dtype[Any] = np.result_type(*(part.dtype for part in parts))
        except TypeError as error:
            raise ArgumentError(f"`arrays`: their types have no common one: {error}", argument="arrays") from None
        self._parts = tuple(parts)
        self._axis = axis
        self._edges = (0, *accumulate(part.shape[axis] for part in parts))
        self.shape: tuple[int, ...] = (*first[:axis], self._edges[-1], *first[axis + 1 :])

    @property
    def chunks(self) -> Chunks:
        return self._joined([part.chunks for part in self._parts])

    @property
    def shards(self) -> Chunks | None:
        if all(part.shards is None for part in self._parts):
            return None
        return self._joined([part.chunks if part.shards is None else part.shards for part in self._parts])

    def _joined(self, chunks: list[Chunks]) -> tuple[tuple[int, ...], ...]:
        """The lengths of the chunks: those of all parts along the axis, and of the first part along other axes."""
        return tuple(
            tuple(
                length
                for part, own in (zip(self._parts, chunks, strict=True) if axis == self._axis else [(self, chunks[0])])
                for length in lengths_along(own, axis, part.shape[axis])
            )
            for axis in range(len(self.shape))
        )

    def _read(self, selection: Selection, out: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        if out is None:
            out = np.empty(selection.shape, self.dtype)
        if selection.empty:
            return out
        block = selection.block(out)
        pick, points = selection.picks[self._axis], selection.points
        if isinstance(pick, np.ndarray) and pick.dtype == bool:
            pick = np.flatnonzero(pick)
        pointed = self._axis in points
        before = [axis for axis in range(self._axis) if axis not in points]
        block_axis = 0 if pointed else len(before) + bool(points)
        for part, low, high in zip(self._parts, self._edges, self._edges[1:], strict=False):
            places: Any
            if isinstance(pick, slice):
                indices = range(pick.start, pick.stop, pick.step)
                first, last = (min(max(0, -((pick.start - edge) // pick.step)), len(indices)) for edge in (low, high))
                if first >= last:
                    continue
                places = slice(first, last)
                own: Any = slice(indices[first] - low, indices[last - 1] - low + 1, pick.step)
                count = last - first
            else:
                places = np.flatnonzero((pick >= low) & (pick < high))
                if not len(places):
                    continue
                own = pick[places] - low
                count = len(places)
            picks = [
                own if axis == self._axis else other[places] if pointed and axis in points else other  # type: ignore[index]
                for axis, other in enumerate(selection.picks)
            ]
            shape = (*block.shape[:block_axis], count, *block.shape[block_axis + 1 :])
            target = (slice(None),) * block_axis + (places,)
            block[target] = part._read(Selection(tuple(picks), points, shape, shape), None)
        return out

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "omnizarr.Concatenation", self._axis, [part.__dask_tokenize__() for part in self._parts]

    def __repr__(self) -> str:
        return f"<{len(self._parts)} arrays along axis {self._axis}>"
