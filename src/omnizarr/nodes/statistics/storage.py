"""Where the statistics of an array are stored: a group of Zarr v3 below the prefix of its chunks, with one array for
each number and one for the digests. Their elements lie on the chunk grid of the array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.engine import route
from omnizarr.engine.pool import run
from omnizarr.errors import NodeNotFoundError, OmnizarrError, TimedOutError
from omnizarr.formats import dialect_for
from omnizarr.formats.document_keys import STATISTICS_PREFIX
from omnizarr.indexing import coordinate_selection, numpy_selection
from omnizarr.model import ArrayModel
from omnizarr.nodes.array_state import ArrayState, with_shape
from omnizarr.nodes.create.node import create_node
from omnizarr.nodes.create.options import array_model
from omnizarr.nodes.metadata.fetch import fetch_model
from omnizarr.nodes.node import NodeContext
from omnizarr.nodes.statistics.measure import FIELDS
from omnizarr.store import PrefixStore

__all__ = ["StatisticsStorage"]

_DIGEST = "digest"
_FORMAT = 3  # whatever the generation of the array: its readers then take the statistics for no node of theirs
_MOST_ENTRIES = 2**12  # per chunk: small enough to be written again after each change of one of them


class StatisticsStorage:
    """The stored statistics of one array."""

    def __init__(self, array: ArrayState, entry_type: np.dtype[Any], counts: tuple[int, ...]) -> None:
        context = array._context
        prefix = context.dialect.chunk_prefix(context.path) + STATISTICS_PREFIX
        self._store = PrefixStore(context.store, prefix)
        self._context = NodeContext(self._store, "", dialect_for(_FORMAT))
        self._entry_type = entry_type
        self._counts = counts
        """The number of chunks of the array along each dimension."""
        self.sound = True
        """Whether the last `load` could read all entries, and more can be stored."""

    # -- as a whole

    def exists(self) -> bool:
        """Whether there are statistics that can be read. Those that are damaged, or that this process has no right to
        read, must not keep a reader from the elements."""
        try:
            return fetch_model(self._store, "", self._context.dialect) is not None
        except TimedOutError:
            raise
        except OmnizarrError:
            return False

    def create(self, source: str) -> None:
        """Creates empty statistics, in place of damaged ones. `source` describes the array."""
        dialect = self._context.dialect
        with self._store.task_lock(dialect.keys("")[0]):  # another process may do the same
            if self.exists():
                self.load()
                if self.sound:
                    return
            self._create(source)

    def _create(self, source: str) -> None:
        dialect = self._context.dialect
        self.remove()
        attributes: dict[str, Any] = {
            "description": f"statistics of the chunks of {source}: use an entry only if omnizarr finds it up to date"
        }
        for name in (*FIELDS, _DIGEST):
            dtype = np.dtype("u8") if name == _DIGEST else self._entry_type[name]
            fill: Any = np.zeros((), dtype)[()]
            model, _ = array_model(
                dialect, shape=self._counts, dtype=dtype, chunks=_chunk_lengths(self._counts), fill_value=fill
            )
            create_node(self._context.at(name), model, overwrite=True, known_group="")
        # The group comes last: without it, there are no statistics.
        create_node(self._context, dialect.new_group(attributes))

    def remove(self) -> None:
        """Erases the statistics, the group first."""
        for key in self._context.dialect.keys(""):
            self._store.erase(key)
        self._store.erase_prefix("")

    # -- entries

    def load(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint64]]:
        """All stored entries and their digests, in C order. What is not stored, or cannot be read, is zero."""
        entries = np.zeros(self._counts, self._entry_type)
        digests = np.zeros(self._counts, np.uint64)
        self.sound = True

        def load_array(name: str) -> None:
            target = digests if name == _DIGEST else entries[name]
            try:
                array = self._array(name)
                if array is None or array.ndim != len(self._counts) or array.dtype != target.dtype:
                    self.sound = False
                    return
                inside = tuple(slice(min(lengths)) for lengths in zip(self._counts, array._model.shape, strict=True))
                selection = numpy_selection(inside, array._model.shape)
                part = np.empty(selection.shape, target.dtype)
                route.read(array._layout, selection, part)
                target[inside] = part
            except TimedOutError:
                raise
            except OmnizarrError:  # damaged, or not readable: the digests will not fit
                self.sound = False

        self._for_each_array(load_array)
        return entries.reshape(-1), digests.reshape(-1)

    def store(
        self, chunks: Sequence[tuple[int, ...]], entries: npt.NDArray[Any], digests: npt.NDArray[np.uint64]
    ) -> None:
        """Stores the entries of chunks, given by their coordinates. Raises NodeNotFoundError if there are no
        statistics any more."""
        if not chunks:
            return
        points = tuple(np.array(axis, np.intp) for axis in zip(*chunks, strict=True))

        def store_array(name: str) -> None:
            array = self._array(name)
            if array is None or array.ndim != len(self._counts):
                raise NodeNotFoundError(f"the statistics in {self._store!r} are incomplete", path=name)
            if any(have < need for have, need in zip(array._model.shape, self._counts, strict=True)):
                self._grow(array)
            values = digests if name == _DIGEST else entries[name]
            # Without dimensions there are no points, and one chunk.
            selection = coordinate_selection(points, array._model.shape) if points else numpy_selection((), ())
            value = np.ascontiguousarray(values, array.dtype) if points else np.asarray(values[0], array.dtype)
            route.write(array._layout, selection, value, keep_empty=False)

        self._for_each_array(store_array)

    def _for_each_array(self, act: Callable[[str], None]) -> None:
        """Call `act` for each array, in threads if requests take long."""
        names = (*FIELDS, _DIGEST)
        run(names, lambda: act, len(names) if self._store.remote else 1)

    def _array(self, name: str) -> ArrayState | None:
        context = self._context.at(name)
        model = fetch_model(self._store, name, context.dialect)
        return ArrayState(context, model) if isinstance(model, ArrayModel) else None

    def _grow(self, array: ArrayState) -> None:
        def grown(model: ArrayModel) -> ArrayModel:
            return with_shape(model, tuple(map(max, model.shape, self._counts)))

        array._change(grown)


def _chunk_lengths(counts: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths of a chunk of the statistics. The first axis, along which arrays grow, gets what is left."""
    lengths = [1] * len(counts)
    for axis in reversed(range(len(counts))):
        most = _MOST_ENTRIES // prod(lengths)
        lengths[axis] = most if axis == 0 else max(1, min(most, 1 << max(0, counts[axis] - 1).bit_length()))
    return tuple(lengths)
