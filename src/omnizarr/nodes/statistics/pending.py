"""The chunks that this process has written and whose statistics are not stored yet.

A file that was written a moment ago has no version that lasts, and a chunk may soon be written again. So a write only
records its chunks. They are measured by a later write, about once a second; by `flush`; and at the end of the process.
If the process is killed before, their entries are stale, and readers notice.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Iterable
from typing import Any

from omnizarr.errors import OmnizarrError, warn
from omnizarr.formats.document_keys import STATISTICS_ATTRIBUTE
from omnizarr.indexing import Projection, Selection
from omnizarr.model import ArrayModel
from omnizarr.nodes.array_state import ArrayState
from omnizarr.nodes.metadata.fetch import fetch_model
from omnizarr.nodes.statistics.table import load_table, obstacle, refresh, storage_of
from omnizarr.store import PrefixStore

__all__ = ["flush", "forget", "note", "wait_for"]

_INTERVAL = 1.0  # seconds between two flushes
_SHARE = 9  # times as long as the last flush until the next one: at most a tenth of the time is spent on them
_LONGEST_WAIT = 3.0  # seconds for versions that last; file systems with times of whole seconds need the most
_PAUSE = 0.02  # seconds
_MOST_NOTED = 200_000  # chunks; of more, all entries of the array are compared


class _Pending:
    """The chunks of one array."""

    def __init__(self) -> None:
        self.chunks: set[tuple[int, ...]] = set()
        self.all = False
        """Whether all chunks may have been written."""
        self.shape: tuple[int, ...] = ()
        """The shape with which the last chunks were written. While it is not stored, they are not measured."""
        self.array: ArrayState | None = None
        """The last handle that wrote; None if no chunk is pending."""
        self.due = time.monotonic() + _INTERVAL

    def take(self) -> list[tuple[int, ...]]:
        """The chunks, which are no longer pending. Other threads may add some meanwhile."""
        chunks: list[tuple[int, ...]] = []
        while self.chunks:
            try:
                chunks.append(self.chunks.pop())
            except KeyError:  # another thread took the last one
                break
        return sorted(chunks)


_pending: dict[str, _Pending] = {}
_ends: list[int] = []  # the process in which `_flush_all` is registered


def note(array: ArrayState, selection: Selection | None, shape: tuple[int, ...]) -> None:
    """Note that a selection of an array of this shape was written; None if it may be any part. Called after writes."""
    if obstacle(array) is not None:
        return
    _register()
    name = _name(array)
    pending = _pending.get(name) or _pending.setdefault(name, _Pending())
    pending.array, pending.shape = array, shape
    if selection is None or len(pending.chunks) > _MOST_NOTED:
        pending.all = True
    else:
        pending.chunks.update(_chunks_of(array, selection, shape))
    if time.monotonic() >= pending.due:
        _try_flush(pending, until=None)


def _chunks_of(array: ArrayState, selection: Selection, shape: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    axes = array._model.grid.fitting(shape).axes(shape)
    return {cell.chunk for cell in Projection(selection.picks, selection.points, axes)}


def flush(array: ArrayState) -> None:
    """Store the statistics of the chunks of an array that this process has written. Waits for up to three seconds for
    versions that last."""
    pending = _pending.pop(_name(array), None)
    if pending is not None:
        _flush(pending, until=time.monotonic() + _LONGEST_WAIT)


def forget(array: ArrayState) -> None:
    """Measure no chunk that was written before."""
    _pending.pop(_name(array), None)


def _flush(pending: _Pending, *, until: float | None) -> None:
    """Store the statistics of the pending chunks. Waits `until` a time for those that have no version that lasts; with
    None, they stay pending."""
    array = None if pending.array is None else _current(pending.array)
    if array is None:  # it has no statistics, or none any more
        pending.take()
        pending.all = False
        return
    if array._model.shape != pending.shape and until is None:
        # A new shape is not stored yet, or another writer changed it.
        pending.shape = array._model.shape
        return
    chunks = pending.take()
    compares, pending.all = pending.all, False
    if compares:
        table = load_table(array)
        chunks = [chunk.coordinates for chunk, fresh in zip(table.chunks, table.fresh, strict=True) if not fresh]
    counts = [axis.count for axis in array._layout.axes]
    left = refresh(array, [chunk for chunk in chunks if all(map(int.__lt__, chunk, counts))])
    if until is not None:
        wait_for(array, left, until)
    else:
        pending.chunks.update(left)


def wait_for(array: ArrayState, chunks: list[tuple[int, ...]], until: float | None = None) -> None:
    """Measure chunks that were written a moment ago, as soon as they have versions that last."""
    until = time.monotonic() + _LONGEST_WAIT if until is None else until
    while chunks and time.monotonic() < until:
        time.sleep(_PAUSE)
        chunks = refresh(array, chunks)


def _current(array: ArrayState) -> ArrayState | None:
    """The array as it is stored now; None if it has no statistics any more."""
    context = array._context
    model = fetch_model(context.store, context.path, context.dialect)
    if not isinstance(model, ArrayModel) or STATISTICS_ATTRIBUTE not in model.attributes:
        return None
    current = ArrayState(context, model)
    current._guessed_keys = array._guessed_keys
    return current if obstacle(current) is None and storage_of(current).exists() else None


def _try_flush(pending: _Pending, *, until: float | None) -> None:
    """`_flush`; an error becomes a warning, because the elements are stored."""
    begin = time.monotonic()
    try:
        _flush(pending, until=until)
    except OmnizarrError as error:
        name = "" if pending.array is None else f" of array `{pending.array.name}`"
        warn(f"the statistics{name} could not be updated, and some are stale now: {error}")
    if not (pending.chunks or pending.all):
        pending.array = None  # keep no handle alive without need
    end = time.monotonic()
    pending.due = end + max(_INTERVAL, _SHARE * (end - begin))


def _name(array: ArrayState) -> str:
    store, path = array._context.store, array._context.path
    while isinstance(store, PrefixStore):
        path, store = store.prefix + path, store.inner
    return f"{store.full_location}\0{path.strip('/')}"


# -- the end of the process


def _flush_all() -> None:
    until = time.monotonic() + _LONGEST_WAIT
    for name in list(_pending):  # daemon threads may go on writing, and must not keep the process from ending
        pending = _pending.pop(name, None)
        if pending is not None:
            _try_flush(pending, until=until)


def _register() -> None:
    """Have `_flush_all` called at the end of this process."""
    process = os.getpid()
    if process in _ends:
        return
    if not _ends:
        atexit.register(_flush_all)
    _ends[:] = [process]
    # Children of multiprocessing end without `atexit`.
    multiprocessing: Any = sys.modules.get("multiprocessing.util")
    process_module: Any = sys.modules.get("multiprocessing.process")
    if multiprocessing is not None and process_module is not None and process_module.parent_process() is not None:
        multiprocessing.Finalize(None, _flush_all, exitpriority=10)


def _reset_in_child() -> None:
    _pending.clear()  # the parent stores them


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_child)
