"""`ChunkStatistics`: what `z.statistics` offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import ArgumentError
from omnizarr.formats.document_keys import STATISTICS_ATTRIBUTE, STATISTICS_PREFIX
from omnizarr.nodes.array_state import ArrayState
from omnizarr.nodes.metadata.documents import describe_location
from omnizarr.nodes.statistics import pending, search
from omnizarr.nodes.statistics.marker import remove_marker
from omnizarr.nodes.statistics.measure import FIELDS
from omnizarr.nodes.statistics.table import (
    StatisticsState,
    full_table,
    load_table,
    obstacle,
    refresh,
    states_of,
    storage_of,
)

__all__ = ["ChunkStatistics"]


class ChunkStatistics:
    """The statistics of the chunks of an array: smallest and largest element, sum, and counts.

    `build` stores them below the array. Then `min`, `max`, `mean` and `find` of the array read only the chunks whose
    statistics are not up to date, and writes through omnizarr keep the statistics up to date.

    Example:
        >>> z.statistics.build()
        StatisticsState(chunks=100, absent=0, fresh=100, stale=0)
        >>> z.max()
        np.float32(31.5)
    """

    def __init__(self, array: ArrayState) -> None:
        self._array = array

    def __repr__(self) -> str:
        state = "enabled" if self.enabled else "not enabled"
        return f"<ChunkStatistics of array {self._array.name}: {state}>"

    @property
    def enabled(self) -> bool:
        """Whether the array has statistics. Costs a request."""
        array = self._array
        return (
            STATISTICS_ATTRIBUTE in array._model.attributes and obstacle(array) is None and storage_of(array).exists()
        )

    def build(self, *, progress: Callable[[int, int], None] | None = None) -> StatisticsState:
        """Stores the statistics of all chunks that have none, or none that are up to date, and keeps them from now on.

        `progress` is called with the number of chunks that are done, and of all that are to be read.
        """
        array = self._array
        array._check_writable()
        states_of(array)  # raises for arrays that cannot have statistics
        storage_of(array).create(f"array `{array.name}`")
        if STATISTICS_ATTRIBUTE not in array._model.attributes:
            pending.forget(array)
            array._change_attributes(lambda attributes: {**attributes, STATISTICS_ATTRIBUTE: STATISTICS_PREFIX[:-1]})
        pending.flush(array)
        table = load_table(array)
        chunks = [chunk.coordinates for chunk, fresh in zip(table.chunks, table.fresh, strict=True) if not fresh]
        done = 0

        def report(count: int) -> None:
            nonlocal done
            done += count
            if progress is not None:
                progress(min(done, len(chunks)), len(chunks))

        left = refresh(array, chunks, report)
        if left:
            pending.wait_for(array, left)
        return self.state()

    def flush(self) -> None:
        """Stores the statistics of the chunks that this process has written. Without a call, this happens about once a
        second while the process writes, and when it ends."""
        pending.flush(self._array)

    def remove(self) -> None:
        """Erases the statistics."""
        array = self._array
        array._check_writable()
        pending.forget(array)
        if STATISTICS_ATTRIBUTE in array._model.attributes:
            array._change(remove_marker)
        storage_of(array).remove()

    def state(self) -> StatisticsState:
        """How many chunks have statistics that are up to date. Looks at every stored chunk, and reads none."""
        self._check_enabled()
        return load_table(self._array).state

    def table(self) -> dict[str, npt.NDArray[Any]]:
        """The statistics of all chunks, by name, as arrays on the chunk grid. Chunks whose statistics are not up to
        date are read.

        `min` and `max` are those of the elements that are not NaN or NaT, `sum` and `count` those of the finite
        numbers, `nan_count` counts NaN and NaT, and `fill_count` the elements that equal the fill value.
        """
        self._check_enabled()
        counts = tuple(axis.count for axis in self._array._layout.axes)
        entries = full_table(self._array).entries
        return {name: np.ascontiguousarray(entries[name]).reshape(counts) for name in FIELDS}

    def regions(self, low: Any = None, high: Any = None) -> Iterator[tuple[slice, ...]]:
        """The regions of the chunks that may hold elements from `low` to `high`, both included; None is no bound.

        Example:
            >>> hot = sum(np.count_nonzero(z[region] >= 30) for region in z.statistics.regions(low=30))
        """
        return search.regions(self._array, low, high)

    def _check_enabled(self) -> None:
        if not self.enabled:
            array = self._array
            reason = obstacle(array)
            raise ArgumentError(
                f"array {describe_location(array.store, array.path)} has no statistics",
                argument="array",
                hint="`z.statistics.build()` stores them" if reason is None else f"it cannot have any: {reason}",
            )
