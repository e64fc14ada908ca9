"""A selection in its normal form: what is picked along each dimension, and how the block that is picked becomes the
result that NumPy would give.

The engine moves a *block*: one axis per dimension in order, or, where some dimensions are picked point by point, one
axis for the points and then one for each other dimension. The *result* is what the user holds. Both are views of the
same memory, so nothing is copied between them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.errors import BroadcastError

__all__ = ["Pick", "Selection", "pick_first", "pick_length"]

Pick: TypeAlias = slice | npt.NDArray[np.intp] | npt.NDArray[np.bool_]
"""What is taken along one dimension: a slice of plain non-negative numbers with a positive step, or an index each; or,
of an array of one dimension, a mask, which is never turned into indices as a whole."""


def pick_length(pick: Pick) -> int:
    """How many indices a pick holds."""
    if isinstance(pick, slice):
        return len(range(pick.start, pick.stop, pick.step))
    return int(np.count_nonzero(pick)) if pick.dtype == bool else len(pick)


def pick_first(pick: Pick) -> int:
    """The first of its indices, of which there is one at least."""
    if isinstance(pick, slice):
        return int(pick.start)
    return int(pick.argmax() if pick.dtype == bool else pick[0])


class Selection(NamedTuple):
    """What is picked along each dimension, and the shape in which the user sees it."""

    picks: tuple[Pick, ...]
    """One per dimension of the array."""
    points: tuple[int, ...]
    """The dimensions whose picks belong together, point by point; all others are independent of each other."""
    shape: tuple[int, ...]
    """The result's shape."""
    folded: tuple[int, ...]
    """The result's shape with new axes left out, with a length of 1 where an integer dropped an axis, and with all axes
    of the points as one."""
    flips: tuple[slice, ...] | None = None
    """For negative steps: how the folded result is turned round."""
    points_axis: int = 0
    """Which axis of the folded result the points are."""

    @property
    def empty(self) -> bool:
        """Whether nothing is picked at all."""
        return 0 in self.shape

    def block(self, result: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """`result` as the block of this selection: a view, if `result` is contiguous."""
        view = result if self.folded == result.shape else result.reshape(self.folded)
        if self.flips is not None:
            view = view[self.flips]
        return np.moveaxis(view, self.points_axis, 0) if self.points_axis else view

    def spread(self, value: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """`value` broadcast to the result's shape, as NumPy does when it assigns, and seen as the block."""
        while value.ndim > len(self.shape) and value.shape[0] == 1:
            value = value[0]
        try:
            spread = np.broadcast_to(value, self.shape)
        except ValueError:
            raise BroadcastError(value.shape, self.shape) from None
        return spread if self.empty else self.block(spread)
