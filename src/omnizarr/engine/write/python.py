"""Writing: what covers a chunk wholly is encoded and stored; what covers a part is merged into what is there, so that
no other writer's part is lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import Chain
from omnizarr.config import config
from omnizarr.engine.buffers import Stage, rows_of
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.numpy_index import taken
from omnizarr.engine.pool import run
from omnizarr.engine.write.encode import encoded, encoded_row, updated
from omnizarr.engine.write.update import How, Old, merge, put
from omnizarr.errors import ChunkError, CodecError, MissingDependencyError
from omnizarr.indexing import Cell, Projection, Row, Selection
from omnizarr.native import ABSENT
from omnizarr.store import Buffer

if TYPE_CHECKING:
    from omnizarr.store.requests.writes import Sending

__all__ = ["write"]

_MOST_CONSTANTS = 16  # chunk shapes for which one value is kept encoded
_FEW = 32  # writes to a remote store that does not say how many it bears


def write(
    layout: Layout,
    selection: Selection,
    value: npt.NDArray[Any],
    *,
    keep_empty: bool,
    fields: str | list[str] | None = None,
) -> None:
    """Stores `value`, broadcast to the selection's shape, where the selection says: whole elements, or only `fields` of
    them. Chunks that hold nothing but the fill value are erased, unless `keep_empty`."""
    block = selection.broadcast(value)
    if selection.empty:
        return
    projection = Projection(selection.picks, selection.points, layout.axes)
    cells = len(projection)
    workers = config.workers
    most, _ = rows_of(layout.largest, cells, workers, block.nbytes)
    constant = _Constant() if value.ndim == 0 and fields is None else None
    sending = _sending(layout) if layout.store.remote and cells > 1 else None
    try:
        run(
            projection.rows(most),
            lambda: _Worker(layout, projection, block, keep_empty, fields, constant, sending),
            min(workers, -(-cells // most)),
        )
    finally:
        if sending is not None:
            sending.finish()


def _sending(layout: Layout) -> Sending:
    from omnizarr.store.requests.window import Window
    from omnizarr.store.requests.writes import Sending  # only those wait for it who wait for a network

    # A window of its own: to write takes another time than to read.
    window = layout.store.window
    return Sending(Window(_FEW if window is None else window.most_requests))


class _Constant:
    """One value for many chunks is encoded once for all of them that have the same shape."""

    def __init__(self) -> None:
        self.encoded: dict[tuple[int, ...], Buffer | None] = {}


class _Worker:
    """One thread's part in a write."""

    def __init__(
        self,
        layout: Layout,
        projection: Projection,
        block: npt.NDArray[Any],
        keep_empty: bool,
        fields: str | list[str] | None,
        constant: _Constant | None,
        sending: Sending | None,
    ) -> None:
        self._layout = layout
        self._projection = projection
        self._block = block
        self._keep_empty = keep_empty
        self._fields = fields
        self._constant = constant
        self._sending = sending
        """Takes what is to be stored far away, so that many writes are under way together."""
        self._at: Cell
        """The chunk that is being worked on, to be named in errors."""
        self._stage = Stage()

    def __call__(self, row: Row) -> None:
        """Writes a row of chunks."""
        layout = self._layout
        self._at = row.first
        try:
            chain = layout.chain(self._at.chunk)
            layout.check_size(chain)
            if row.outer is not None and self._fields is None and layout.sharding is None:
                keys = list(map(layout.key, row.names()))
                if not self._write_compiled(row, chain, keys):
                    self._store_row(keys, self._encoded_row(row, chain))
                return
            for cell in row.cells:
                self._at = cell
                if layout.uniform is None:
                    layout.check_size(layout.chain(cell.chunk))
                self._merge(cell)
        except CodecError as error:
            cell = self._at
            raise ChunkError("write", layout.name, cell.chunk, layout.key(cell.names), error) from error
        except MissingDependencyError as error:
            raise error.add_context(f"cannot write array `{layout.name}`") from None

    def _write_compiled(self, row: Row, chain: Chain, keys: list[str]) -> bool:
        """Has the compiled loop write a row of chunks, and does what that leaves; False if it cannot do so."""
        store = self._layout.store
        if self._constant is not None or not (store.takes_files and store.files and store.conditional):
            return False
        from omnizarr.engine.read.native import write_row  # only for files

        became = write_row(self._layout, chain, keys, self._block[row.outer], self._keep_empty)
        if became is None:
            return False
        for place, how in enumerate(became):
            if how == ABSENT:
                store.erase(keys[place])
            elif how:
                self._at = row.cells[place]
                chunk = np.asarray(self._block[self._at.outer], self._layout.dtype, order="C")
                self._store_row([keys[place]], [encoded(chain, chunk, self._keep_empty)])
        return True

    def _encoded_row(self, row: Row, chain: Chain) -> list[Buffer | None]:
        """The chunks of a row that is written entirely, as they are stored; None for those that are not."""
        block, dtype = self._block, self._layout.dtype
        first = block[self._at.outer]
        if self._constant is not None:
            return [self._encoded_once(self._constant, chain, first)] * len(row)
        contiguous = first.flags.c_contiguous and first.dtype == dtype
        if not contiguous and not dtype.hasobject:  # elements that are not plain memory cannot be staged
            try:
                return encoded_row(chain, block[row.outer], len(row), self._stage, self._keep_empty)
            except CodecError:
                pass  # which one is it? That is found below
        found: list[Buffer | None] = []
        for self._at in row.cells:
            chunk = np.asarray(block[self._at.outer], dtype, order="C")
            found.append(encoded(chain, chunk, self._keep_empty))
        return found

    def _encoded_once(self, constant: _Constant, chain: Chain, chunk: npt.NDArray[Any]) -> Buffer | None:
        shape = chain.spec.shape
        if shape in constant.encoded:
            return constant.encoded[shape]
        data = encoded(chain, np.asarray(chunk, self._layout.dtype, order="C"), self._keep_empty)
        data = None if data is None else bytes(data)
        if len(constant.encoded) < _MOST_CONSTANTS:
            constant.encoded[shape] = data
        return data

    def _store_row(self, keys: list[str], row: list[Buffer | None]) -> None:
        """Stores chunks that are replaced wholly."""
        store = self._layout.store
        if self._sending is not None:
            for key, data in zip(keys, row, strict=True):
                self._send(self._sending, key, data)
            return
        if not store.conditional:
            for key, data in zip(keys, row, strict=True):
                with store.lock([key]):  # lest a writer of a part, who read before, undoes it
                    put(store, key, data)
            return
        full = [(key, data) for key, data in zip(keys, row, strict=True) if data is not None]
        if len(full) > 1:
            if not self._store_compiled(full):
                store.set_each(full)
        elif full:
            store.set(*full[0])
        if len(full) < len(keys):
            for key, data in zip(keys, row, strict=True):
                if data is None:
                    store.erase(key)

    def _store_compiled(self, full: list[tuple[str, Buffer]]) -> bool:
        """Has the compiled loop write values that Python encoded; False if it cannot do so."""
        store = self._layout.store
        if not (store.takes_files and store.files):
            return False
        from omnizarr.engine.read.native import write_encoded  # only for files

        return write_encoded(store, [key for key, _ in full], [value for _, value in full])

    def _merge(self, cell: Cell) -> None:
        """Writes a part of a chunk, or all of it that lies in the array."""
        layout, sending = self._layout, self._sending
        key = layout.key(cell.names)
        chain = layout.chain(cell.chunk)
        value = np.asarray(taken(self._block, cell.outer))
        clipped = layout.clipped(cell.chunk)
        stage = self._stage if sending is None else Stage()  # others work meanwhile

        def how(old: Old, *, keep_empty: bool) -> Buffer | None:
            return updated(chain, old, cell, self._projection, value, clipped, keep_empty, self._fields, stage)

        limit = chain.encoded.limit
        layout.indexes.forget(key)
        if sending is None:
            spliced = self._splice(chain, key, cell, value)
            merge(layout.store, key, limit, how, keep_empty=self._keep_empty, splice=spliced)
        elif cell.whole and self._fields is None:  # what was there does not matter
            self._send(sending, key, how(Old(layout.store, key, limit), keep_empty=self._keep_empty))
        else:
            sending.send(partial(self._merged, cell, key, limit, how), 3 * chain.spec.nbytes)

    def _merged(self, cell: Cell, key: str, limit: int, how: How) -> None:
        try:
            merge(self._layout.store, key, limit, how, keep_empty=self._keep_empty)
        except CodecError as error:
            raise ChunkError("write", self._layout.name, cell.chunk, key, error) from error

    def _send(self, sending: Sending, key: str, data: Buffer | None) -> None:
        """Has a chunk stored that is replaced wholly."""
        if data is not None and type(data) is not bytes:
            data = bytes(data)  # it may lie in the stage, which is used for the next
        store = self._layout.store

        def act() -> None:
            if store.conditional:
                put(store, key, data)
                return
            with store.lock([key]):  # lest a writer of a part, who read before, undoes it
                put(store, key, data)

        sending.send(act, 0 if data is None else len(data))

    def _splice(self, chain: Chain, key: str, cell: Cell, value: npt.NDArray[Any]) -> Callable[[], bool | None] | None:
        layout = self._layout
        sharding = sharding_of(chain) if layout.store.splices and layout.sharding is not None else None
        if sharding is None:
            return None
        from omnizarr.engine.write.splice import splice  # only for shards

        return partial(
            splice,
            layout,
            sharding,
            key,
            cell,
            self._projection,
            value,
            self._fields,
            self._stage,
            keep_empty=self._keep_empty,
        )
