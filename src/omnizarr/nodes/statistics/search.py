"""Which elements lie between two bounds, without reading chunks whose statistics exclude that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.config import config
from omnizarr.engine.pool import run
from omnizarr.errors import ArgumentError
from omnizarr.nodes.array_state import ArrayState
from omnizarr.nodes.statistics.measure import entry_type
from omnizarr.nodes.statistics.table import load_table, obstacle, storage_of

__all__ = ["find", "regions"]

_Read: TypeAlias = Callable[[tuple[slice, ...]], npt.NDArray[Any]]


def find(array: ArrayState, read: _Read, low: Any, high: Any) -> tuple[npt.NDArray[np.intp], ...]:
    """The indices of the elements from `low` to `high`, as `numpy.nonzero` gives them. `read` reads a region."""
    if not array.ndim:
        raise ArgumentError("an array without dimensions has no indices: read its element, `z[()]`", argument="array")
    low, high = _as_bound(array, "low", low), _as_bound(array, "high", high)
    parts: list[tuple[npt.NDArray[np.intp], ...]] = []

    def search(candidate: tuple[tuple[slice, ...], bool]) -> None:
        region, certain = candidate
        shape = [part.stop - part.start for part in region]
        indices = np.nonzero(np.ones(shape, bool) if certain else _matches(read(region), low, high))
        if indices[0].size:
            parts.append(tuple(axis + part.start for axis, part in zip(indices, region, strict=True)))

    candidates = list(_candidates(array, low, high))
    run(candidates, lambda: search, min(config.workers, max(1, len(candidates))))
    if not parts:
        return (np.zeros(0, np.intp),) * array.ndim
    axes = [np.concatenate([part[axis] for part in parts]) for axis in range(array.ndim)]
    order = np.lexsort(axes[::-1])
    return tuple(axis[order] for axis in axes)


def regions(array: ArrayState, low: Any, high: Any) -> Iterator[tuple[slice, ...]]:
    """The regions of the chunks that may hold elements from `low` to `high`."""
    low, high = _as_bound(array, "low", low), _as_bound(array, "high", high)
    return (region for region, _ in _candidates(array, low, high))


def _candidates(array: ArrayState, low: Any, high: Any) -> Iterator[tuple[tuple[slice, ...], bool]]:
    """The regions of chunks that may hold elements between the bounds, and whether all of their elements are."""
    axes = array._layout.axes
    bounds = [
        [(start, min(start + size, axis.length)) for start, size in map(axis.bounds, range(axis.count))]
        for axis in axes
    ]
    every = (tuple(slice(*ends) for ends in chunk) for chunk in product(*bounds))
    if not array.size:
        return
    if array._context.on_corrupt != "raise" or obstacle(array) is not None or not storage_of(array).exists():
        for region in every:
            yield region, False
        return
    table = load_table(array)
    entries = table.entries
    least, most = entries["min"], entries["max"]
    fresh = table.fresh
    possible = ~fresh | ((entries["nan_count"] < table.sizes) & _matches(most, low, None) & _matches(least, None, high))
    certain = fresh & (entries["nan_count"] == 0) & _matches(least, low, None) & _matches(most, None, high)
    for region, may, must in zip(every, possible.tolist(), certain.tolist(), strict=True):
        if may:
            yield region, must


def _matches(values: npt.NDArray[Any], low: Any, high: Any) -> npt.NDArray[np.bool_]:
    """Where values lie between the bounds. NaN and NaT never do."""
    matches: npt.NDArray[np.bool_] = values == values
    if low is not None:
        matches &= values >= low
    if high is not None:
        matches &= values <= high
    return matches


def _as_bound(array: ArrayState, name: str, bound: Any) -> Any:
    kind = array.dtype.kind
    if entry_type(array.dtype) is None:
        raise ArgumentError(
            f"array `{array.name}`: elements of type {array.data_type.name} have no order: expected booleans, numbers "
            "or times",
            argument=name,
        )
    times = kind in "mM"
    if bound is None or (isinstance(bound, int) and not times):
        return bound
    try:
        scalar = np.asarray(bound, f"{kind}8" if times and isinstance(bound, str) else None)
        valid = scalar.ndim == 0 and bool(scalar == scalar) and scalar.dtype.kind in (kind if times else "biuf")
        bound = scalar[()] if times else bound  # a number of Python takes the type of the elements
    except (TypeError, ValueError, OverflowError):
        valid = False
    if not valid:
        expected = "a time" if times else "a number"
        raise ArgumentError(f"`{name}`: expected {expected}, or None, found {bound!r}", argument=name)
    return bound
