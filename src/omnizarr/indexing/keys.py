"""From what the user writes between brackets to a `Selection`: NumPy's own meaning for `z[...]`, and the orthogonal,
pointwise and block-wise ones."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.config import config
from omnizarr.errors import OutOfBoundsError, SelectionError
from omnizarr.grids import Axis
from omnizarr.indexing.selection import Pick, Selection, pick_length
from omnizarr.native import kernel

__all__ = [
    "block_selection",
    "coordinate_selection",
    "numpy_selection",
    "orthogonal_selection",
    "plain_selection",
    "split_fields",
]

_Indices = npt.NDArray[np.intp]

_FEW = 64  # elements of a mask, of which not even one is true
_LONG = 2**20  # elements of a mask, for which it pays to ask for help


def split_fields(key: Any) -> tuple[str | list[str] | None, Any]:
    """Takes field names out of a key: `z["a"]`, `z["a", 0:5]` and `z[["a", "b"]]` name fields of a structured type."""
    if isinstance(key, str):
        return key, ()
    if _is_field_list(key):
        return list(key), ()
    if isinstance(key, tuple):
        fields = [item for item in key if isinstance(item, str) or _is_field_list(item)]
        if fields:
            names = fields[0] if len(fields) == 1 else [name for item in fields for name in _as_list(item)]
            return names, tuple(item for item in key if not isinstance(item, str) and not _is_field_list(item))
    return None, key


def _is_field_list(item: Any) -> bool:
    return isinstance(item, list) and bool(item) and all(isinstance(name, str) for name in item)


def _as_list(item: str | list[str]) -> list[str]:
    return [item] if isinstance(item, str) else item


def numpy_selection(key: Any, shape: tuple[int, ...]) -> Selection:
    """What `a[key]` means for a NumPy array of that shape."""
    key = key if isinstance(key, tuple) else (key,)
    plain = plain_selection(key, shape) or _mask_selection(key, shape)
    if plain is not None:
        return plain
    items = _expand(key, shape)
    if any(isinstance(item, _Fancy) for item in items):
        return _fancy(items)
    return _basic(items)


def orthogonal_selection(key: Any, shape: tuple[int, ...]) -> Selection:
    """Each dimension on its own: integers, slices, and one-dimensional arrays of integers or booleans."""
    key = key if isinstance(key, tuple) else (key,)
    mask = _mask_selection(key, shape)
    if mask is not None:
        return mask
    items = _expand(key, shape, masks="1-d")
    if any(item is None for item in items):
        raise SelectionError("an orthogonal selection cannot add new axes")
    picks: list[Pick] = []
    visible: list[int] = []
    folded: list[int] = []
    flips: list[slice] = []
    for item in items:
        flip = slice(None)
        if isinstance(item, _Fancy):
            if item.error is not None:
                raise item.error
            if item.dimension is None or item.indices.ndim > 1:
                raise SelectionError("an orthogonal selection takes arrays of one dimension, one for each dimension")
            pick: Pick = item.indices.reshape(-1)
            kept = True
        else:
            pick, kept, flip = _plain_pick(item)
        picks.append(pick)
        folded.append(pick_length(pick))
        flips.append(flip)
        if kept:
            visible.append(folded[-1])
    return Selection(tuple(picks), (), tuple(visible), tuple(folded), _needed(flips))


def coordinate_selection(key: Any, shape: tuple[int, ...]) -> Selection:
    """Point by point: integer arrays that are broadcast together, or a mask of the array's shape. Dimensions picked by
    slices follow behind the points."""
    key = key if isinstance(key, tuple) else (key,)
    mask = _mask_selection(key, shape)
    if mask is not None:
        return mask
    items = _expand(key, shape)
    if any(item is None for item in items):
        raise SelectionError("a pointwise selection cannot add new axes")
    items = [
        _Fancy(np.array(item.index, np.intp), item.dimension) if isinstance(item, _Integer) else item for item in items
    ]
    if not items:  # an array without dimensions has one point
        return numpy_selection((), shape)
    if not any(isinstance(item, _Fancy) for item in items):
        raise SelectionError("a pointwise selection needs at least one array of indices, or a mask")
    return _fancy(items, in_front=True)


def block_selection(key: Any, axes: Sequence[Axis]) -> Selection:
    """Whole chunks, addressed by their place in the grid: integers and slices without a step."""
    counts = tuple(axis.count for axis in axes)
    picks: list[Pick] = []
    for item, axis in zip(_expand(key if isinstance(key, tuple) else (key,), counts), axes, strict=False):
        if isinstance(item, _Fancy) and item.error is not None:
            raise item.error
        if isinstance(item, _Integer):
            first, last = item.index, item.index + 1
        elif isinstance(item, slice) and item.step == 1:
            first, last = item.start, max(item.start, item.stop)
        else:
            raise SelectionError("blocks are selected by integers and by slices with a step of 1")
        if first == last:
            picks.append(slice(0, 0, 1))
        else:
            start, size = axis.bounds(last - 1)
            picks.append(slice(axis.bounds(first)[0], min(start + size, axis.length), 1))
    if len(picks) != len(axes):
        raise SelectionError("blocks are selected by integers and by slices with a step of 1")
    shape = tuple(pick_length(pick) for pick in picks)
    return Selection(tuple(picks), (), shape, shape)


def plain_selection(key: Any, shape: tuple[int, ...]) -> Selection | None:
    """The short way for what most keys are, or None: integers in bounds, slices with a step of 1, and nothing else. It
    makes no object for each of them, which for a small read is a good part of the work."""
    if type(key) is not tuple:
        key = (key,)
    if len(key) > len(shape):
        return None
    picks: list[Pick] = []
    visible: list[int] = []
    folded: list[int] = []
    for item, length in zip(key, shape, strict=False):
        if type(item) is slice:
            try:
                start, stop, step = item.indices(length)
            except (TypeError, ValueError):
                return None
            if step != 1:
                return None
            if stop < start:
                stop = start
            visible.append(stop - start)
        elif type(item) is int and -length <= item < length:
            start = item + length if item < 0 else item
            stop = start + 1
        else:
            return None
        picks.append(slice(start, stop, 1))
        folded.append(stop - start)
    rest = shape[len(key) :]
    picks.extend([slice(0, length, 1) for length in rest])
    return Selection(tuple(picks), (), (*visible, *rest), (*folded, *rest))


def _mask_selection(key: tuple[Any, ...], shape: tuple[int, ...]) -> Selection | None:
    """The short way for a mask of an array of one dimension, or None: its indices would take 8 bytes for each of its
    own, and are not needed as a whole. Where they are few, they are soon found."""
    if len(key) != 1 or len(shape) != 1 or not isinstance(key[0], np.ndarray):
        return None
    mask = key[0]
    if mask.dtype != bool or mask.shape != shape:
        return None
    count, indices = _marked(mask)
    return Selection((mask if indices is None else indices,), (), (count,), (count,))


def _marked(mask: npt.NDArray[np.bool_]) -> tuple[int, _Indices | None]:
    """How many elements of a mask are true, and if they are few, their indices: found by several threads in a long
    one."""
    loop = kernel() if len(mask) >= _LONG and config.native and mask.flags.c_contiguous else None
    if loop is None:
        count = int(np.count_nonzero(mask))
        return count, mask.nonzero()[0] if count < len(mask) // _FEW else None
    count, found = loop.find(mask, len(mask) // _FEW, min(config.workers, 1 + len(mask) // _LONG))
    return count, None if found is None else np.frombuffer(found, np.int64).astype(np.intp, copy=False)


# -- the parts of a key


class _Integer:
    """An integer, not negative."""

    __slots__ = ("dimension", "index")

    def __init__(self, index: int, dimension: int) -> None:
        self.index = index
        self.dimension = dimension


class _Fancy:
    """An array of indices for one dimension; or, without a dimension, a lone `True` or `False`."""

    __slots__ = ("dimension", "error", "indices")

    def __init__(self, indices: _Indices, dimension: int | None, error: OutOfBoundsError | None = None) -> None:
        self.indices = indices
        self.dimension = dimension
        self.error = error
        """That of an array is raised only if some point remains when all are broadcast: NumPy looks at no index before.
        That of an integer always is."""


class _Gap:
    """Where `...` stood. NumPy counts it as standing between arrays even if it stands for no dimension."""


_Item = slice | _Integer | _Fancy | _Gap | None


def _expand(key: tuple[Any, ...], shape: tuple[int, ...], masks: str = "n-d") -> list[_Item]:
    """The key's items, checked against the shape, with `...` replaced by slices; None stands for a new axis."""
    consumed = 0
    gap = None
    raw: list[Any] = []
    for item in key:
        if item is Ellipsis:
            if gap is not None:
                raise SelectionError("an index can hold only one `...`")
            gap = len(raw)
        elif item is None or isinstance(item, slice):
            consumed += item is not None
        elif isinstance(item, int) and not isinstance(item, bool):
            consumed += 1
        else:
            item = _as_index(item)
            consumed += item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1
        raw.append(item)
    if consumed > len(shape):
        raise SelectionError(f"too many indices: the array has {len(shape)} dimensions, and {consumed} were indexed")
    missing = len(shape) - consumed
    if gap is None:
        raw.extend([slice(None)] * missing)
    items: list[_Item] = []
    dimension = 0
    for item in raw:
        if item is Ellipsis:
            items.append(_Gap())
            items.extend(slice(0, length, 1) for length in shape[dimension : dimension + missing])
            dimension += missing
        elif item is None:
            items.append(None)
        elif isinstance(item, slice):
            items.append(_resolved(item, shape[dimension]))
            dimension += 1
        elif isinstance(item, int):
            items.append(_integer(item, dimension, shape[dimension]))
            dimension += 1
        elif item.dtype == bool:
            if item.ndim == 0:
                items.append(_Fancy(np.zeros(int(item), np.intp), None))
                continue
            if masks == "1-d" and item.ndim > 1:
                raise SelectionError("an orthogonal selection takes masks of one dimension, one for each dimension")
            for axis, length in enumerate(item.shape):
                if length and length != shape[dimension + axis]:  # NumPy lets an empty mask pass
                    raise SelectionError(
                        f"a mask of length {length} cannot be used on axis {dimension + axis} "
                        f"with length {shape[dimension + axis]}"
                    )
            for indices in item.nonzero():
                items.append(_Fancy(indices, dimension))
                dimension += 1
        else:
            items.append(_indices(item, dimension, shape[dimension]))
            dimension += 1
    if masks == "1-d":
        return [item for item in items if not isinstance(item, _Gap)]
    return items


def _as_index(item: Any) -> Any:
    """An item that is neither a slice, nor `...`, nor a plain integer: as an integer or an array of indices."""
    if not isinstance(item, np.ndarray):
        if isinstance(item, (bool, np.bool_)):
            return np.asarray(item)
        try:
            return operator.index(item)
        except TypeError:
            pass
        try:
            array = np.asarray(item)
        except ValueError as error:
            raise SelectionError(f"this cannot be used as an index: {error}") from None
        if array.size == 0 and array.dtype == float and isinstance(item, (list, tuple)):
            array = array.astype(np.intp)  # an empty list has no type of its own
        item = array
    if item.dtype == bool:
        return item
    if item.dtype.kind not in "iu":
        raise SelectionError(
            "only integers, slices, `...`, `newaxis` and arrays of integers or booleans can be used as an index, "
            f"not {item.dtype}"
        )
    return int(item) if item.ndim == 0 else item


def _resolved(item: slice, length: int) -> slice:
    try:
        return slice(*item.indices(length))
    except (TypeError, ValueError) as error:
        raise SelectionError(f"{item} is not a usable slice: {error}") from None


def _integer(index: int, axis: int, length: int) -> _Integer | _Fancy:
    if -length <= index < length:
        return _Integer(index + length if index < 0 else index, axis)
    return _Fancy(np.zeros((), np.intp), axis, OutOfBoundsError(axis, index, length))


def _indices(array: npt.NDArray[Any], axis: int, length: int) -> _Fancy:
    if array.size:
        low, high = int(array.min()), int(array.max())
        if low < -length or high >= length:
            wrong = low if low < -length else high
            return _Fancy(np.zeros(array.shape, np.intp), axis, OutOfBoundsError(axis, wrong, length))
        indices = array.astype(np.intp, copy=False)
        return _Fancy(np.where(indices < 0, indices + length, indices) if low < 0 else indices, axis)
    return _Fancy(array.astype(np.intp, copy=False), axis)


# -- the two kinds of NumPy selection


def _plain_pick(item: _Item) -> tuple[slice, bool, slice]:
    """An integer or a slice as a slice with a positive step; whether the axis stays; how to turn it round."""
    if isinstance(item, _Integer):
        return slice(item.index, item.index + 1, 1), False, slice(None)
    assert isinstance(item, slice)
    if item.step > 0:
        return slice(item.start, max(item.start, item.stop), item.step), True, slice(None)
    count = max(0, -(-(item.start - item.stop) // -item.step))
    if count == 0:
        return slice(0, 0, 1), True, slice(None)
    first = item.start + (count - 1) * item.step
    return slice(first, item.start + 1, -item.step), True, slice(None, None, -1)


def _needed(flips: list[slice]) -> tuple[slice, ...] | None:
    return tuple(flips) if any(flip.step == -1 for flip in flips) else None


def _basic(items: list[_Item]) -> Selection:
    picks: list[Pick] = []
    visible: list[int] = []
    folded: list[int] = []
    flips: list[slice] = []
    for item in items:
        if item is None:
            visible.append(1)
        elif not isinstance(item, _Gap):
            pick, kept, flip = _plain_pick(item)
            picks.append(pick)
            folded.append(pick_length(pick))
            flips.append(flip)
            if kept:
                visible.append(folded[-1])
    return Selection(tuple(picks), (), tuple(visible), tuple(folded), _needed(flips))


def _fancy(items: list[_Item], *, in_front: bool = False) -> Selection:
    """Arrays among the items: they are broadcast together, integers with them, and their axes stand where the first of
    them stood, or in front if something stands between them."""
    together = [isinstance(item, (_Fancy, _Integer)) for item in items]
    arrays = [
        item.indices if isinstance(item, _Fancy) else np.array(item.index, np.intp)
        for item in items
        if isinstance(item, (_Fancy, _Integer))
    ]
    try:
        points_shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise SelectionError(f"arrays of indices with the shapes {shapes} cannot be broadcast together") from None
    for item in items:
        if isinstance(item, _Fancy) and item.error is not None and (item.indices.ndim == 0 or 0 not in points_shape):
            raise item.error
    runs = sum(1 for before, here in pairwise([False, *together]) if here and not before)
    scattered = in_front or runs > 1

    picks: list[Pick] = []
    points: list[int] = []
    visible: list[int] = []
    folded: list[int] = []
    flips: list[slice] = []
    visible_at = folded_at = None if not scattered else 0
    for item, fancy in zip(items, together, strict=True):
        if fancy:
            if visible_at is None:
                visible_at, folded_at = len(visible), len(folded)
            if item.dimension is not None:  # type: ignore[union-attr]
                indices = item.indices if isinstance(item, _Fancy) else np.array(item.index, np.intp)  # type: ignore[union-attr]
                points.append(len(picks))
                picks.append(np.broadcast_to(indices, points_shape).reshape(-1))
        elif item is None:
            visible.append(1)
        elif not isinstance(item, _Gap):
            pick, _, flip = _plain_pick(item)
            picks.append(pick)
            visible.append(pick_length(pick))
            folded.append(visible[-1])
            flips.append(flip)
    assert visible_at is not None
    assert folded_at is not None
    visible[visible_at:visible_at] = points_shape
    if points:
        count = len(picks[points[0]])  # type: ignore[arg-type]
        folded.insert(folded_at, count)
        flips.insert(folded_at, slice(None))
    if not points or (len(points) == 1 and folded_at == points[0]):
        # One array that stands at its own dimension is independent of the others, and its axis stays where it is.
        return Selection(tuple(picks), (), tuple(visible), tuple(folded), _needed(flips))
    return Selection(tuple(picks), tuple(points), tuple(visible), tuple(folded), _needed(flips), folded_at)
