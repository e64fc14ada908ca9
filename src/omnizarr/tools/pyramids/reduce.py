"""`reduce_block`: one element for each window of an array: the mean, the mode, the largest, or the first one.

Missing elements do not count: NaN and NaT, and those equal to `missing`. A window without any other element is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise, product
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from omnizarr.dtypes.numbers.ml_dtypes_ import is_ml_dtype
from omnizarr.errors import ArgumentError

__all__ = ["METHODS", "Method", "check_method", "reduce_block"]

Method: TypeAlias = Literal["mean", "nearest", "mode", "max"]
METHODS: tuple[Method, ...] = get_args(Method)

_Views: TypeAlias = list[npt.NDArray[Any]]
"""The elements of all windows: view i holds element i of each window."""

_KINDS = {"mean": "iufcmM", "max": "biufmM", "mode": "biufcmMSU"}
"""The kinds of NumPy's data types for which a method makes sense. `nearest` accepts all."""


def check_method(method: str, dtype: np.dtype[Any]) -> None:
    """Raises ArgumentError if a method does not exist, or makes no sense for a data type."""
    if method not in METHODS:
        raise ArgumentError(f"`method`: expected one of {', '.join(METHODS)}, found {method!r}", argument="method")
    if method == "nearest" or is_ml_dtype(dtype) or dtype.kind in _KINDS[method]:
        return
    others = [name for name in METHODS if name == "nearest" or dtype.kind in _KINDS[name]]
    raise ArgumentError(
        f"`method`: the {method} of elements of type {dtype} is not defined",
        argument="method",
        hint=f"use {' or '.join(others)}",
    )


def reduce_block(
    values: npt.NDArray[Any], factors: Sequence[int], method: Method, missing: Any = None
) -> npt.NDArray[Any]:
    """One element per window of `factors` elements. The last window of an axis may be smaller."""
    dtype = values.dtype
    if is_ml_dtype(dtype) and method != "nearest":
        wide = reduce_block(values.astype(np.float64), factors, method, None if missing is None else float(missing))
        return wide.astype(dtype)
    shape = tuple(-(-length // factor) for length, factor in zip(values.shape, factors, strict=True))
    result = np.empty(shape, dtype)
    for parts in product(*map(_parts, values.shape, factors)):
        source, target, lengths = zip(*parts, strict=True) if parts else ((), (), ())
        result[target] = _FUNCTIONS[method](_views(values[source], lengths), missing)
    return result


def _parts(length: int, factor: int) -> Iterator[tuple[slice, slice, int]]:
    """The elements of an axis, their windows, and the length of these: first the whole windows, then the last one."""
    count = length // factor
    if count:
        yield slice(0, count * factor), slice(0, count), factor
    if length % factor:
        yield slice(count * factor, length), slice(count, count + 1), length % factor


def _views(values: npt.NDArray[Any], lengths: Sequence[int]) -> _Views:
    return [
        values[tuple(slice(offset, None, length) for offset, length in zip(offsets, lengths, strict=True))]
        for offsets in product(*map(range, lengths))
    ]


# -- what is missing


def _is_missing(view: npt.NDArray[Any], missing: Any) -> npt.NDArray[np.bool_] | None:
    """Which elements are missing; None if none can be."""
    invalid: npt.NDArray[np.bool_] | None = None
    if view.dtype.kind in "fc":
        invalid = np.isnan(view)
    elif view.dtype.kind in "mM":
        invalid = np.isnat(view)
    if missing is not None and missing == missing:  # NaN is missing anyway
        equal = view == missing
        invalid = equal if invalid is None else invalid | equal
    return invalid


# -- methods


def _nearest(views: _Views, missing: Any) -> npt.NDArray[Any]:
    return views[0]


def _mean(views: _Views, missing: Any) -> npt.NDArray[Any]:
    dtype = views[0].dtype
    if dtype.kind in "mM":
        masks = [np.isnat(view) for view in views]
        empty = np.datetime64("NaT").astype(np.int64)
        whole = _integer_mean([view.view(np.int64) for view in views], masks, empty)
        return whole.view(dtype)
    if dtype.kind in "iu":
        masks = [] if missing is None else [view == missing for view in views]
        return _integer_mean(views, masks, missing)
    wide = np.result_type(dtype, np.complex128 if dtype.kind == "c" else np.float64)
    with np.errstate(all="ignore"):
        total = reduce(np.add, views[1:], views[0].astype(wide))
        if missing is None and not np.isnan(total).any():
            return (total / len(views)).astype(dtype)
        total = np.zeros(total.shape, wide)
        count = np.zeros(total.shape, np.intp)
        for view in views:
            valid = ~_is_missing(view, missing)  # type: ignore[operator]  # these types have NaN
            np.add(total, view, out=total, where=valid)
            count += valid
        result = (total / count).astype(dtype)
    if missing is not None:
        result[count == 0] = missing
    return result


def _integer_mean(views: _Views, masks: list[npt.NDArray[np.bool_]], missing: Any) -> npt.NDArray[Any]:
    """The exact mean, rounded towards zero, as a conversion of floats to integers rounds."""
    dtype = views[0].dtype
    narrow = dtype.itemsize < 8
    wide = np.dtype(np.int64) if narrow else dtype.newbyteorder("=")
    count: Any = wide.type(len(views))
    if masks:
        count = sum((~mask for mask in masks), np.zeros(views[0].shape, wide))
    divisor = np.maximum(count, 1) if masks else count
    total = np.zeros(views[0].shape, wide)
    rest = np.zeros(views[0].shape, wide)
    for number, view in enumerate(views):
        valid = True if not masks else ~masks[number]
        if narrow:
            np.add(total, view, out=total, where=valid)
        else:  # the sum could overflow: add quotients and remainders
            quotient, remainder = np.divmod(view, divisor)
            np.add(total, quotient, out=total, where=valid)
            np.add(rest, remainder, out=rest, where=valid)
    if narrow:
        result, rest = np.divmod(total, divisor)
    else:
        more, rest = np.divmod(rest, divisor)
        result = total + more
    result += (result < 0) & (rest != 0)  # division rounds down
    result = result.astype(dtype)
    if masks:
        result[count == 0] = missing
    return result


def _max(views: _Views, missing: Any) -> npt.NDArray[Any]:
    result: npt.NDArray[Any] = views[0].copy()
    if missing is None or missing != missing:
        for view in views[1:]:
            np.fmax(result, view, out=result)  # ignores NaN and NaT
        return result
    for view in views[1:]:
        better = ~_or_false(view, missing) & (_or_false(result, missing) | (view > result))
        np.copyto(result, view, where=better)
    result[_or_false(result, missing)] = missing
    return result


def _or_false(view: npt.NDArray[Any], missing: Any) -> Any:
    invalid = _is_missing(view, missing)
    return np.zeros(view.shape, bool) if invalid is None else invalid


def _mode(views: _Views, missing: Any) -> npt.NDArray[Any]:
    """The most frequent element; of several, the smallest. NaN and NaT are last when sorted, and equal nothing."""
    ordered = np.sort(np.stack(views), axis=0)
    best: npt.NDArray[Any] = ordered[0].copy()
    run = np.ones(best.shape, np.intp)
    most = np.where(_or_false(best, missing), 0, 1)
    for before, view in pairwise(ordered):
        run = np.where(view == before, run + 1, 1)
        better = (run > most) & ~_or_false(view, missing)
        np.copyto(best, view, where=better)
        np.copyto(most, run, where=better)
    if missing is not None:
        best[_or_false(best, missing)] = missing
    return best


_FUNCTIONS: dict[str, Callable[[_Views, Any], npt.NDArray[Any]]] = {
    "mean": _mean,
    "nearest": _nearest,
    "mode": _mode,
    "max": _max,
}
