"""Selecting point by point from a view: which axes the arrays of a key select, and where the points go."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from omnizarr.errors import SelectionError
from omnizarr.indexing.key_items import ArrayItem, EllipsisItem, IntegerItem, KeyItem

__all__ = ["Points", "pointwise"]


class Points:
    """The indices of dimensions that are selected point by point. All have the same shape."""

    def __init__(self, indices: Mapping[int, npt.NDArray[np.intp]], shape: tuple[int, ...]) -> None:
        self.indices = indices
        self._positions: list[int | None] = list(range(len(shape)))
        """The present axis of each original axis; None if an integer dropped it."""

    def select(self, number: int, index: int | range | npt.NDArray[np.intp]) -> bool:
        """Select along one of the original axes; whether the axis remains."""
        position = self._positions[number]
        assert position is not None
        if isinstance(index, range):
            item: slice | int | npt.NDArray[np.intp] = (
                slice(index.start, index.stop if index.stop >= 0 else None, index.step) if len(index) else slice(0)
            )
        else:
            item = index
        self.indices = {
            dimension: np.asarray(indices[(slice(None),) * position + (item,)])
            for dimension, indices in self.indices.items()
        }
        if isinstance(index, int):
            self._positions = [
                None if at == position else at - 1 if at is not None and at > position else at for at in self._positions
            ]
        return not isinstance(index, int)


def pointwise(
    items: list[KeyItem], lengths: tuple[int, ...], *, points_first: bool
) -> tuple[list[KeyItem], dict[int, npt.NDArray[np.intp]], tuple[int, ...], int]:
    """Divides a key for axes of these `lengths` into its parts, by the rules of NumPy.

    Returns the items of an orthogonal selection that keeps the axes of the arrays; the arrays, by the axis that they
    select after that; the shape of the points; and their position among the axes that no array selects."""
    arrays = [item for item in items if isinstance(item, (ArrayItem, IntegerItem))]
    values = [item.indices if isinstance(item, ArrayItem) else np.array(item.index, np.intp) for item in arrays]
    try:
        shape = np.broadcast_shapes(*(value.shape for value in values))
    except ValueError:
        shapes = ", ".join(str(value.shape) for value in values)
        raise SelectionError(f"arrays of indices with the shapes {shapes} cannot be broadcast together") from None
    for array in arrays:
        if isinstance(array, ArrayItem) and array.error is not None and (array.indices.ndim == 0 or 0 not in shape):
            raise array.error
    together = [isinstance(item, (ArrayItem, IntegerItem)) for item in items]
    runs = sum(1 for before, here in pairwise([False, *together]) if here and not before)
    rest: list[KeyItem] = []
    selected: dict[int, npt.NDArray[np.intp]] = {}
    position: int | None = 0 if points_first or runs > 1 else None
    axis = others = 0
    for item in items:
        if isinstance(item, (ArrayItem, IntegerItem)):
            if position is None:
                position = others
            if item.dimension is None:  # a single True or False
                continue
            value = item.indices if isinstance(item, ArrayItem) else np.array(item.index, np.intp)
            selected[axis] = np.broadcast_to(value, shape)
            rest.append(slice(0, lengths[item.dimension], 1))
            axis += 1
        else:
            rest.append(item)
            if not isinstance(item, EllipsisItem):
                axis += 1
                others += 1
    return rest, selected, shape, position or 0
