"""Selections: a pick per dimension, and how the block becomes the result that NumPy would give.

The engine fills or reads a *block*. It has one axis per dimension, in order. If some dimensions are selected point by
point, it has one axis for the points, followed by one for each other dimension. The *result* is the user's array. Both
are views of the same memory, so nothing is copied between them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.errors import BroadcastError

__all__ = ["Pick", "Selection", "pick_first", "pick_length"]

Pick: TypeAlias = slice | npt.NDArray[np.intp] | npt.NDArray[np.bool_]
"""What is taken along one dimension: a slice of non-negative integers with a positive step, or an array of indices. For
an array of one dimension also a mask, which is never converted to indices as a whole."""


def pick_length(pick: Pick) -> int:
    """The number of indices in a pick."""
    if isinstance(pick, slice):
        return len(range(pick.start, pick.stop, pick.step))
    return int(np.count_nonzero(pick)) if pick.dtype == bool else len(pick)


def pick_first(pick: Pick) -> int:
    """The first index of a pick that is not empty."""
    if isinstance(pick, slice):
        return int(pick.start)
    return int(pick.argmax() if pick.dtype == bool else pick[0])


class Selection(NamedTuple):
    """A pick per dimension, and the shape of the user's result."""

    picks: tuple[Pick, ...]
    """One per dimension of the array."""
    points: tuple[int, ...]
    """The dimensions whose picks are combined point by point. All other picks are independent."""
    shape: tuple[int, ...]
    """The result's shape."""
    folded_shape: tuple[int, ...]
    """The result's shape without new axes, with a length of 1 for each axis that an integer dropped, and with one axis
    for all points."""
    flips: tuple[slice, ...] | None = None
    """The slices that reverse axes of the folded result, for negative steps."""
    points_axis: int = 0
    """The axis of the points in the folded result."""

    @property
    def empty(self) -> bool:
        """Whether the result has no elements."""
        return 0 in self.shape

    def block(self, result: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The block that belongs to `result`: a view, if `result` is contiguous."""
        view = result if self.folded_shape == result.shape else result.reshape(self.folded_shape)
        if self.flips is not None:
            view = view[self.flips]
        return np.moveaxis(view, self.points_axis, 0) if self.points_axis else view

    def broadcast(self, value: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The block of `value`, broadcast to the result's shape as NumPy does on assignment."""
        while value.ndim > len(self.shape) and value.shape[0] == 1:
            value = value[0]
        try:
            result = np.broadcast_to(value, self.shape)
        except ValueError:
            raise BroadcastError(value.shape, self.shape) from None
        return result if self.empty else self.block(result)
