"""The statistics of the elements of one chunk."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["FIELDS", "entry_type", "measure", "measure_constant"]

FIELDS = ("min", "max", "sum", "count", "nan_count", "fill_count")
"""What is known of a chunk. `min`, `max`: of the elements that are not NaN or NaT; -0.0 if it is zero and any of these
zeros is negative. `sum`, `count`: of the finite numbers. `nan_count`: how many are NaN or NaT. `fill_count`: how many
equal the fill value, where NaN equals NaN."""

_KINDS = "biufmM"
_EXACT = 2**62


def entry_type(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """The type of an entry for elements of a type; None if these have no order, or NumPy does not know it."""
    if dtype.kind not in _KINDS or dtype.itemsize > 8:
        return None
    native = dtype.newbyteorder("=")
    return np.dtype([(name, native if name in ("min", "max") else "f8" if name == "sum" else "i8") for name in FIELDS])


def measure(block: npt.NDArray[Any], fill: npt.NDArray[Any], entry: Any) -> None:
    """Fill `entry`, an element of `entry_type`, with the statistics of at least one element."""
    block = block.astype(block.dtype.newbyteorder("="), copy=False)
    kind = block.dtype.kind
    with np.errstate(all="ignore"):
        if kind in "mM":
            _measure_times(block, entry)
        elif kind == "f":
            _measure_floats(block, entry)
        else:
            entry["min"], entry["max"] = block.min(), block.max()
            entry["sum"], entry["count"] = _sum_of_integers(block, entry), block.size
        if kind in "mM":
            same = block.view("i8") == fill.astype(block.dtype).view("i8")
        elif kind == "f" and np.isnan(fill):
            entry["fill_count"] = entry["nan_count"]
            return
        else:
            same = block == fill
        entry["fill_count"] = np.count_nonzero(same)


def measure_constant(fill: npt.NDArray[Any], size: int, entry: Any) -> None:
    """`measure` for `size` elements that equal the fill value."""
    measure(fill.reshape(1), fill, entry)
    with np.errstate(over="ignore"):
        for name in ("sum", "count", "nan_count", "fill_count"):
            if entry[name]:
                entry[name] *= size


def _measure_floats(block: npt.NDArray[Any], entry: Any) -> None:
    least, most = block.min(), block.max()
    if np.isfinite(least) and np.isfinite(most):  # usual: neither NaN nor infinite
        entry["sum"], entry["count"] = block.sum(dtype=np.float64), block.size
    else:
        finite = block[np.isfinite(block)]
        entry["sum"], entry["count"] = finite.sum(dtype=np.float64), finite.size
        entry["nan_count"] = np.count_nonzero(np.isnan(block))
        if entry["nan_count"]:
            present = block[~np.isnan(block)]
            least, most = (present.min(), present.max()) if present.size else (np.nan, np.nan)
    if least == 0 or most == 0:
        negative = bool(np.any((block == 0) & np.signbit(block)))
        least = _zero(negative) if least == 0 else least
        most = _zero(negative) if most == 0 else most
    entry["min"], entry["max"] = least, most


def _zero(negative: bool) -> float:
    return -0.0 if negative else 0.0


def _measure_times(block: npt.NDArray[Any], entry: Any) -> None:
    missing = np.isnat(block)
    entry["nan_count"] = count = np.count_nonzero(missing)
    present = block[~missing] if count else block
    entry["min"], entry["max"] = (present.min(), present.max()) if present.size else ("NaT", "NaT")


def _sum_of_integers(block: npt.NDArray[Any], entry: Any) -> float:
    """The exact sum, rounded once."""
    if block.dtype.kind == "b":
        return float(np.count_nonzero(block))
    largest = max(abs(int(entry["min"])), abs(int(entry["max"])))
    if largest * block.size < _EXACT:
        return float(block.sum(dtype=np.int64))
    block = block.astype(np.uint64 if block.dtype.kind == "u" else np.int64, copy=False)
    low = block & block.dtype.type(0xFFFF_FFFF)
    return float((int((block >> block.dtype.type(32)).sum()) << 32) + int(low.sum()))
