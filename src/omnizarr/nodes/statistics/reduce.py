"""`min`, `max` and `mean` of a whole array, from the statistics of its chunks."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.nodes.array_state import ArrayState
from omnizarr.nodes.statistics.table import StatisticsTable, full_table, obstacle, storage_of

__all__ = ["reduced"]


def reduced(array: ArrayState, name: str) -> Any:
    """The `min`, `max` or `mean` of all elements, as NumPy gives it; None if NumPy must compute it from the elements.

    A mean is the exact sum of the sums of chunks, divided once. NumPy rounds more often, so the last digits may differ.
    """
    if not array.size or array._context.on_corrupt != "raise" or obstacle(array) is not None:
        return None
    if name == "mean" and array.dtype.kind in "mM":
        return None
    if not storage_of(array).exists():
        return None
    table = full_table(array)
    return _mean(array, table) if name == "mean" else _extreme(table, name)


def _extreme(table: StatisticsTable, name: str) -> Any:
    values: npt.NDArray[Any] = table.entries[name]
    if table.entries["nan_count"].any():
        return np.array(np.nan if values.dtype.kind == "f" else "NaT", values.dtype)[()]
    result = values.min() if name == "min" else values.max()
    if values.dtype.kind == "f" and result == 0 and np.signbit(values[values == 0]).any():
        return None  # which of two zeros NumPy returns depends on their places
    return result


def _mean(array: ArrayState, table: StatisticsTable) -> Any:
    entries, dtype = table.entries, array.dtype.newbyteorder("=")
    kind = dtype.type if dtype.kind == "f" else np.float64
    if entries["nan_count"].any():
        return kind(np.nan)
    least, most = float(entries["min"].min()), float(entries["max"].max())
    # NumPy adds numbers of 16 bits as numbers of 32 bits. If an element is infinite, or its sum may overflow, let it.
    adds = np.finfo(np.float32 if dtype.kind == "f" and dtype.itemsize < 8 else np.float64)
    if max(abs(least), abs(most)) * array.size >= float(adds.max):
        return None
    return kind(fsum(entries["sum"].tolist()) / array.size)
