"""The statistics of all chunks of an array as they are now: stored entries that are up to date, and computed ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.config import config
from omnizarr.errors import ArgumentError
from omnizarr.nodes.array_state import ArrayState
from omnizarr.nodes.statistics.chunk_states import Chunk, ChunkStates, each_in_threads
from omnizarr.nodes.statistics.measure import entry_type, measure, measure_constant
from omnizarr.nodes.statistics.storage import StatisticsStorage
from omnizarr.store.capabilities import ABSENT

__all__ = [
    "StatisticsState",
    "StatisticsTable",
    "full_table",
    "load_table",
    "obstacle",
    "refresh",
    "states_of",
    "storage_of",
]

_CHUNK_BYTES = 700  # of memory for each chunk of a table (measured)
_LEAST_TABLE = 2**28  # bytes that a table may have, however small the setting is
_PART = 4096  # chunks that are measured before their entries are stored
Report = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class StatisticsState:
    """How many chunks of an array have statistics that are up to date."""

    chunks: int
    """The number of chunks; of shards, if the array is sharded."""
    absent: int
    """Chunks that are not stored. They hold the fill value, and need no entry."""
    fresh: int
    """Stored chunks whose entry is up to date."""
    stale: int
    """Stored chunks without such an entry: their statistics are computed from their elements."""


class StatisticsTable(NamedTuple):
    """The statistics of all chunks, in C order."""

    chunks: list[Chunk]
    entries: npt.NDArray[Any]
    """One entry per chunk."""
    versions: list[object]
    fresh: npt.NDArray[np.bool_]
    """Which entries were stored and up to date; or of absent chunks."""

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of elements of each chunk inside the array."""
        return np.array([chunk.size for chunk in self.chunks], np.int64)

    @property
    def state(self) -> StatisticsState:
        absent = self.versions.count(ABSENT)
        fresh = int(np.count_nonzero(self.fresh)) - absent
        return StatisticsState(len(self.chunks), absent, fresh, len(self.chunks) - absent - fresh)


def obstacle(array: ArrayState) -> str | None:
    """Why the chunks of an array cannot have statistics; None if they can."""
    if entry_type(array.dtype) is None:
        return f"elements of type {array.data_type.name} have no order: expected booleans, numbers or times"
    if array._model.storage_transformers or array._context.transformers:
        return "the array has storage transformers"
    snapshots = array.store.snapshots
    if snapshots is None or not snapshots.lasting:
        return f"{array.store!r} does not tell the versions of values: expected a folder or an object store"
    chunks = prod(axis.count for axis in array._model.grid.axes(array._model.shape))
    if chunks * _CHUNK_BYTES > max(
        _LEAST_TABLE, config.implicit_bytes
    ):  # of a sparse array, whose chunks are mostly absent
        return f"its grid has {chunks} chunks, too many for the memory that `max_implicit_bytes` allows"
    return None


def states_of(array: ArrayState) -> ChunkStates:
    """The states of the chunks; ArgumentError if they cannot have statistics."""
    reason = obstacle(array)
    if reason is not None:
        raise ArgumentError(f"array `{array.name}` cannot have statistics: {reason}", argument="array")
    if array._model.guessed_keys:
        array._guess_keys()
    layout = array._layout
    assert layout.snapshots is not None
    return ChunkStates(layout, layout.snapshots)


def storage_of(array: ArrayState) -> StatisticsStorage:
    """Where the statistics of an array are."""
    kind = entry_type(array.dtype)
    assert kind is not None
    return StatisticsStorage(array, kind, tuple(axis.count for axis in array._layout.axes))


def load_table(array: ArrayState) -> StatisticsTable:
    """The stored entries that are up to date; those of other chunks are zero, but of absent ones they are complete."""
    states = states_of(array)
    entries, digests = storage_of(array).load()
    chunks = list(states.all())
    versions = states.versions(chunks)
    fresh = np.zeros(len(chunks), bool)
    fill = states.layout.fill
    constants: dict[int, Any] = {}
    for number, (chunk, version) in enumerate(zip(chunks, versions, strict=True)):
        if version == ABSENT:
            size = chunk.size
            if size not in constants:
                constants[size] = np.zeros((), entries.dtype)
                measure_constant(fill, size, constants[size])
            entries[number] = constants[size]
            fresh[number] = True
        elif isinstance(version, str) and digests[number]:
            fresh[number] = digests[number] == states.digest(chunk, version, entries[number].tobytes())
    entries[~fresh] = np.zeros((), entries.dtype)
    return StatisticsTable(chunks, entries, versions, fresh)


def complete(array: ArrayState, table: StatisticsTable, numbers: Sequence[int], report: Report | None = None) -> None:
    """Compute the entries of these chunks, by their numbers in the table, from their elements."""
    states = states_of(array)

    def work(number: int) -> None:
        chunk = table.chunks[number]
        table.entries[number] = np.zeros((), table.entries.dtype)
        version, block = states.read(chunk)
        entry = table.entries[number : number + 1].reshape(())
        if block is None:
            measure_constant(states.layout.fill, chunk.size, entry)
        else:
            measure(block, states.layout.fill, entry)
        table.versions[number] = version
        if report is not None:
            report(1)

    each_in_threads(numbers, work, states.readers)


def full_table(array: ArrayState) -> StatisticsTable:
    """The statistics of all chunks. Those whose entries are not up to date are read."""
    table = load_table(array)
    complete(array, table, np.flatnonzero(~table.fresh).tolist())
    return table


def refresh(
    array: ArrayState, chunks: Sequence[tuple[int, ...]], report: Report | None = None
) -> list[tuple[int, ...]]:
    """Measure chunks, given by their coordinates, and store their entries. Returns the chunks that have no version that
    lasts yet, because they were written a moment ago."""
    states, storage = states_of(array), storage_of(array)
    kind = entry_type(array.dtype)
    left: list[tuple[int, ...]] = []
    for start in range(0, len(chunks), _PART):
        listed = [states.chunk(coordinates) for coordinates in chunks[start : start + _PART]]
        # Do not read a chunk without a lasting version: its entry could not be stored.
        versions = states.versions(listed)
        table = StatisticsTable(listed, np.zeros(len(listed), kind), versions, np.zeros(len(listed), bool))
        stored = [number for number, version in enumerate(versions) if version is not None and version != ABSENT]
        complete(array, table, stored, report)
        left += [listed[number].coordinates for number, version in enumerate(table.versions) if version is None]
        usable = [number for number in stored if isinstance(version := versions[number], str) and version != ABSENT]
        digests = [
            states.digest(listed[number], str(versions[number]), table.entries[number].tobytes()) for number in usable
        ]
        storage.store(
            [listed[number].coordinates for number in usable], table.entries[usable], np.array(digests, np.uint64)
        )
    return left
