"""`Writer`: writes rows of chunks, each by the first route that fits (see `engine/route`). Whole chunks are encoded and
set. `update_chunk` merges a part of a chunk into the stored value, so that no change of another writer is lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import Chain
from omnizarr.engine.buffers import WorkerBuffer
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.numpy_index import take
from omnizarr.engine.place import raise_for_chunk
from omnizarr.engine.write.encode import encode_chunk, encode_row, encode_update
from omnizarr.engine.write.update import Change, StoredValue, set_or_erase, update_chunk
from omnizarr.errors import CodecError, MissingDependencyError
from omnizarr.indexing import Cell, Projection, Row
from omnizarr.native import ABSENT
from omnizarr.store import Buffer, LocalFiles, Splicing
from omnizarr.store.update import LockedAccess

if TYPE_CHECKING:
    from omnizarr.store.requests.writes import ConcurrentWrites

__all__ = ["Constant", "WriteOptions", "Writer"]

_MAX_SHAPES = 16  # chunk shapes for which the encoded constant is kept


class Constant:
    """One value for many chunks. It is encoded once per chunk shape."""

    def __init__(self) -> None:
        self.encoded: dict[tuple[int, ...], Buffer | None] = {}


class WriteOptions(NamedTuple):
    """How a selection is written; `engine/route` decides the routes."""

    keep_empty: bool
    """Store chunks that hold nothing but the fill value."""
    fields: str | list[str] | None
    """Write only these fields."""
    constant: Constant | None
    """Set if the value is a single element."""
    files: LocalFiles | None
    """Set if the kernel stores whole chunks."""
    codec: int | None
    """Set if the kernel also encodes them: its number of the codec."""
    splicing: Splicing | None
    """Set if parts of shards may be spliced."""
    sending: ConcurrentWrites | None
    """Sends many writes to a remote store at once."""


class Writer:
    """Writes in one thread."""

    def __init__(self, layout: Layout, projection: Projection, block: npt.NDArray[Any], options: WriteOptions) -> None:
        self._layout = layout
        self._projection = projection
        self._block = block
        self._options = options
        self._cell: Cell
        """The current chunk, for errors."""
        self._buffer = WorkerBuffer()

    def __call__(self, row: Row) -> None:
        """Write a row of chunks."""
        layout = self._layout
        self._cell = row.first
        try:
            chain = layout.chain(self._cell.chunk)
            layout.check_size(chain)
            if row.outer is not None and self._options.fields is None and layout.sharding is None:
                keys = list(map(layout.key, row.names()))
                if not self._write_native(row, chain, keys):
                    self._store_row(keys, self._encode_row(row, chain))
                return
            for self._cell in row.cells:
                if layout.uniform is None:
                    layout.check_size(layout.chain(self._cell.chunk))
                self._update(self._cell)
        except (CodecError, MissingDependencyError) as error:
            raise_for_chunk("write", layout, self._cell.chunk, layout.key(self._cell.names), error)

    # -- whole chunks

    def _write_native(self, row: Row, chain: Chain, keys: list[str]) -> bool:
        """Have the kernel encode and store a row; Python handles the chunks that are unusual. False if the kernel
        cannot do it."""
        options, layout, block = self._options, self._layout, self._block[row.outer]
        if options.codec is None or options.files is None or block.dtype != layout.dtype:
            return False
        from omnizarr.engine.write.native import write_row  # lazy import: local files only

        statuses = write_row(options.files, chain, options.codec, keys, block, options.keep_empty)
        if statuses is None:
            return False
        for number, status in enumerate(statuses):
            if status == ABSENT:
                layout.store.erase(keys[number])
            elif status:
                self._cell = row.cells[number]
                chunk = np.asarray(self._block[self._cell.outer], layout.dtype, order="C")
                self._store_row([keys[number]], [encode_chunk(chain, chunk, options.keep_empty)])
        return True

    def _encode_row(self, row: Row, chain: Chain) -> list[Buffer | None]:
        """The stored forms of the chunks of a row; None for a chunk that is not stored."""
        block, dtype, options = self._block, self._layout.dtype, self._options
        first = block[self._cell.outer]
        if options.constant is not None:
            return [self._encode_constant(options.constant, chain, first)] * len(row)
        contiguous = first.flags.c_contiguous and first.dtype == dtype
        if not contiguous and not dtype.hasobject:  # a row buffer cannot hold references to objects
            try:
                return encode_row(chain, block[row.outer], len(row), self._buffer, options.keep_empty)
            except CodecError:
                pass  # encode one by one, to find the chunk that fails
        values: list[Buffer | None] = []
        for self._cell in row.cells:
            chunk = np.asarray(block[self._cell.outer], dtype, order="C")
            values.append(encode_chunk(chain, chunk, options.keep_empty))
        return values

    def _encode_constant(self, constant: Constant, chain: Chain, chunk: npt.NDArray[Any]) -> Buffer | None:
        shape = chain.spec.shape
        if shape in constant.encoded:
            return constant.encoded[shape]
        data = encode_chunk(chain, np.asarray(chunk, self._layout.dtype, order="C"), self._options.keep_empty)
        data = None if data is None else bytes(data)
        if len(constant.encoded) < _MAX_SHAPES:
            constant.encoded[shape] = data
        return data

    def _store_row(self, keys: list[str], values: list[Buffer | None]) -> None:
        """Store whole chunks; None erases one."""
        store, sending = self._layout.store, self._options.sending
        if sending is not None:
            for key, data in zip(keys, values, strict=True):
                self._send(sending, key, data)
            return
        if store.updates is None:
            for key, data in zip(keys, values, strict=True):
                with store.lock([key]):  # an update that has read the old value must not overwrite the new one
                    set_or_erase(store, key, data)
            return
        stored = [(key, data) for key, data in zip(keys, values, strict=True) if data is not None]
        if len(stored) > 1:
            if not self._store_native(stored):
                store.set_each(stored)
        elif stored:
            store.set(*stored[0])
        if len(stored) < len(keys):
            for key, data in zip(keys, values, strict=True):
                if data is None:
                    store.erase(key)

    def _store_native(self, stored: list[tuple[str, Buffer]]) -> bool:
        """Have the kernel write encoded values; False if it cannot."""
        files = self._options.files
        if files is None:
            return False
        from omnizarr.engine.write.native import write_values  # lazy import: local files only

        return write_values(self._layout.store, files, [key for key, _ in stored], [value for _, value in stored])

    def _send(self, sending: ConcurrentWrites, key: str, data: Buffer | None) -> None:
        """Have a whole chunk stored, in the background."""
        if data is not None and type(data) is not bytes:
            data = bytes(data)  # it may be a view of the row buffer, which the next row overwrites
        store = self._layout.store

        def act() -> None:
            if store.updates is not None:
                set_or_erase(store, key, data)
                return
            with store.lock([key]):  # as in `_store_row`
                set_or_erase(store, key, data)

        sending.send(act, 0 if data is None else len(data))

    # -- parts of chunks, and shards

    def _update(self, cell: Cell) -> None:
        """Write a part of a chunk, or the part of it that is inside the array."""
        layout, options = self._layout, self._options
        keep_empty, fields, sending = options.keep_empty, options.fields, options.sending
        key = layout.key(cell.names)
        chain = layout.chain(cell.chunk)
        value = np.asarray(take(self._block, cell.outer))
        clipped = layout.clipped(cell.chunk)
        buffer = self._buffer if sending is None else WorkerBuffer()  # the update may run in another thread

        def change(stored: StoredValue, *, keep_empty: bool) -> Buffer | None:
            return encode_update(chain, stored, cell, self._projection, value, clipped, keep_empty, fields, buffer)

        limit = chain.encoded.limit
        layout.indexes.forget(key)
        replaces = cell.whole and fields is None and clipped == chain.spec.shape  # the old value does not matter
        # A write of all that is inside the array is usually the first one to this chunk, and a request to a remote
        # store takes longer than encoding a chunk twice.
        absent_first = layout.store.remote and cell.whole and fields is None and not replaces
        if sending is None:
            splice = self._splice(chain, key, cell, value)
            update_chunk(
                layout.store, key, limit, change, keep_empty=keep_empty, splice=splice, absent_first=absent_first
            )
        elif replaces:
            stored = StoredValue(layout.store.updates or LockedAccess(layout.store, [key]), key, limit)
            self._send(sending, key, change(stored, keep_empty=keep_empty))
        else:
            sending.send(partial(self._send_update, cell, key, limit, change, absent_first), 3 * chain.spec.nbytes)

    def _send_update(self, cell: Cell, key: str, limit: int, change: Change, absent_first: bool) -> None:
        try:
            update_chunk(
                self._layout.store,
                key,
                limit,
                change,
                keep_empty=self._options.keep_empty,
                absent_first=absent_first,
            )
        except CodecError as error:
            raise_for_chunk("write", self._layout, cell.chunk, key, error)

    def _splice(self, chain: Chain, key: str, cell: Cell, value: npt.NDArray[Any]) -> Callable[[], bool | None] | None:
        options = self._options
        sharding = None if options.splicing is None else sharding_of(chain)
        if sharding is None or options.splicing is None:
            return None
        from omnizarr.engine.write.splice import splice  # lazy import: shards only

        return partial(
            splice,
            self._layout,
            options.splicing,
            sharding,
            key,
            cell,
            self._projection,
            value,
            options.fields,
            self._buffer,
            keep_empty=options.keep_empty,
        )
