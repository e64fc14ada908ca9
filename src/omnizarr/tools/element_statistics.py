"""`statistics`: the smallest, largest and mean element, and how many are missing, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.nodes import Array
from omnizarr.tools.elements import Elements
from omnizarr.tools.results import Progress
from omnizarr.tools.selections import Index

__all__ = ["Statistics", "statistics"]


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of an array. NaN counts for `nan` only, and infinities do not count for `mean`."""

    count: int
    """The number of elements."""
    min: Any
    """The smallest element; None if there is none, or if elements have no order."""
    max: Any
    mean: float | None
    """None if elements are no numbers."""
    nan: float | None
    """The share of elements that are not a number, or no date; None if the type has none."""
    fill: float | None
    """The share of elements that equal the fill value; None if it is undefined."""


def statistics(array: Array, selection: Index | None = None, *, progress: Progress | None = None) -> Statistics:
    """The statistics of an array, or of a selection of it. Reads each chunk once, a few at a time; of a whole array
    whose chunks have statistics, only those whose statistics are not up to date."""
    if not selection and array.size and array.statistics.enabled:
        return _of_chunks(array, progress)
    elements = Elements(array, selection)
    tally = _Tally(elements.dtype, array.fill_value if elements.dtype == array.dtype else None)
    done, total = 0, elements.nbytes
    for region in elements.whole_chunks():
        block = elements.read(region)
        tally.add(block)
        done += block.nbytes
        if progress is not None:
            progress(done, total)
    return tally.result()


def _of_chunks(array: Array, progress: Progress | None) -> Statistics:
    table = array.statistics.table()
    numbers, kind = int(table["count"].sum()), array.dtype.kind
    present = [values[values == values] for values in (table["min"], table["max"])]  # NaN and NaT do not count
    if progress is not None:
        progress(array.nbytes, array.nbytes)
    return Statistics(
        count=array.size,
        min=_plain(present[0].min()) if present[0].size else None,
        max=_plain(present[1].max()) if present[1].size else None,
        mean=_plain(table["sum"].sum() / numbers) if numbers else None,
        nan=int(table["nan_count"].sum()) / array.size if kind in "fmM" else None,
        fill=None if array.fill_value is None else int(table["fill_count"].sum()) / array.size,
    )


class _Tally:
    def __init__(self, dtype: np.dtype[Any], fill: Any) -> None:
        self._wide = _wide_type(dtype)
        self._kind = dtype.kind if self._wide is None else self._wide.kind
        self._fill = fill
        self._least: Any = None
        self._most: Any = None
        self._count = self._nans = self._fills = self._numbers = 0
        self._sum = 0.0

    def add(self, block: npt.NDArray[Any]) -> None:
        self._count += block.size
        if not block.size:
            return
        if self._fill is not None:
            self._fills += _equal(block, self._fill)
        if self._wide is not None:
            block = block.astype(self._wide)
        if self._kind in "biu":
            self._extend(block.min(), block.max())
            self._sum += float(block.sum(dtype=np.float64))
            self._numbers += block.size
        elif self._kind in "fc":
            self._add_floats(block)
        elif self._kind in "mM":
            missing = np.isnat(block)
            self._nans += int(missing.sum())
            if not missing.all():
                present = block[~missing]
                self._extend(present.min(), present.max())
        elif self._kind in "US" or block.dtype.hasobject:
            self._add_texts(block)

    def _add_floats(self, block: npt.NDArray[Any]) -> None:
        nans = np.isnan(block)
        missing = int(nans.sum())
        self._nans += missing
        if missing == block.size:
            return
        present = block[~nans] if missing else block
        if self._kind != "c":
            self._extend(present.min(), present.max())
            finite = present[np.isfinite(present)]
            self._sum += float(finite.sum(dtype=np.float64))
            self._numbers += finite.size

    def _add_texts(self, block: npt.NDArray[Any]) -> None:
        values = [value for value in block.ravel().tolist() if isinstance(value, (str, bytes))]
        if values:
            try:
                self._extend(min(values), max(values))
            except TypeError:  # text and bytes have no order
                pass

    def _extend(self, least: Any, most: Any) -> None:
        self._least = least if self._least is None or least < self._least else self._least
        self._most = most if self._most is None or most > self._most else self._most

    def result(self) -> Statistics:
        count = self._count
        floats = self._kind in "fcmM"
        return Statistics(
            count=count,
            min=_plain(self._least),
            max=_plain(self._most),
            mean=self._sum / self._numbers if self._numbers else None,
            nan=self._nans / count if floats and count else None,
            fill=self._fills / count if self._fill is not None and count else None,
        )


def _wide_type(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """The type of NumPy that holds all numbers of a type of ml_dtypes, whose kind is V; None for other types."""
    if dtype.kind != "V" or dtype.names is not None:
        return None
    if dtype.name.startswith(("int", "uint")):
        return np.dtype(np.int64)
    return np.dtype(np.float64) if "float" in dtype.name else None


def _plain(value: Any) -> Any:
    """A scalar of NumPy as a plain value: a number, text or, for times, text."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def _equal(block: npt.NDArray[Any], fill: Any) -> int:
    """How many elements equal the fill value; NaN equals NaN here."""
    try:
        if bool(fill != fill):
            return int((block != block).sum())
        return int(np.asarray(block == fill).sum())
    except (TypeError, ValueError):  # objects without such a comparison
        return 0
