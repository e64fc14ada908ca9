"""Writing: what covers a chunk wholly is encoded and stored; what covers a part is merged into what is there, under a
lock, so that no other writer's part is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import Chain
from omnizarr.config import config
from omnizarr.dtypes import is_fill
from omnizarr.engine.layout import Layout
from omnizarr.engine.pool import run
from omnizarr.engine.shards import updated
from omnizarr.engine.staging import Staging, rows_of, staged
from omnizarr.errors import ChunkError, CodecError
from omnizarr.indexing import Cell, Projection, Row, Selection
from omnizarr.store import Buffer

__all__ = ["write"]


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
    block = selection.spread(value)
    if selection.empty:
        return
    projection = Projection(selection.picks, selection.points, layout.axes)
    cells = len(projection)
    workers = config.workers
    most, _ = rows_of(layout.uniform, cells, workers)
    constant = _Constant() if value.ndim == 0 and fields is None else None
    run(
        projection.rows(most),
        lambda: _Worker(layout, projection, block, keep_empty, fields, constant),
        min(workers, -(-cells // most)),
    )


class _Constant:
    """One value for many chunks is encoded once for all of them."""

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
    ) -> None:
        self._layout = layout
        self._projection = projection
        self._block = block
        self._keep_empty = keep_empty
        self._fields = fields
        self._constant = constant
        self._at: Cell
        """The chunk that is being worked on, to be named in errors."""
        self._staging: Staging | None = None

    def __call__(self, row: Row) -> None:
        """Writes a row of chunks."""
        layout = self._layout
        self._at = row.cells[0]
        try:
            chain = layout.chain(self._at.chunk)
            layout.check_size(chain)
            if row.outer is not None and self._fields is None and layout.sharding is None:
                encoded = []
                for cell, chunk in zip(row.cells, self._chunks(row, chain), strict=True):
                    self._at = cell
                    encoded.append((layout.key(cell.names), self._encoded(chain, chunk)))
                for key, data in encoded:
                    with layout.store.lock([key]):  # lest a writer of a part, who read before, undoes it
                        self._store(key, data)
                return
            for cell in row.cells:
                self._at = cell
                self._merge(cell)
        except CodecError as error:
            cell = self._at
            raise ChunkError("write", layout.name, cell.chunk, layout.key(cell.names), error) from error

    def _chunks(self, row: Row, chain: Chain) -> list[npt.NDArray[Any]]:
        """The chunks of a row that is written entirely, each contiguous and of the array's type."""
        block, count = self._block, len(row.cells)
        first = block[row.cells[0].outer]
        if self._constant is not None and chain.spec.shape in self._constant.encoded:
            return [first] * count
        if first.flags.c_contiguous and first.dtype == self._layout.dtype:
            return [block[cell.outer] for cell in row.cells]
        self._staging = staged(self._staging, chain, count)
        self._staging.gather(block[row.outer], count)
        return [self._staging.chunk(number) for number in range(count)]

    def _encoded(self, chain: Chain, chunk: npt.NDArray[Any]) -> Buffer | None:
        """A chunk as it is stored; None if it is not, since it holds nothing but the fill value."""
        constant = self._constant
        if constant is not None and chain.spec.shape in constant.encoded:
            return constant.encoded[chain.spec.shape]
        data = None if not self._keep_empty and is_fill(chunk, chain.spec.fill) else chain.encode(chunk)
        if constant is not None:
            data = None if data is None else bytes(data)
            constant.encoded[chain.spec.shape] = data
        return data

    def _merge(self, cell: Cell) -> None:
        """Writes a part of a chunk, or all of it that lies in the array."""
        layout = self._layout
        store, key = layout.store, layout.key(cell.names)
        with store.lock([key]):
            self._store(key, self._updated(cell, key))

    def _updated(self, cell: Cell, key: str) -> Buffer | None:
        layout = self._layout
        return updated(
            layout.chain(cell.chunk),
            lambda: layout.store.get(key),
            cell,
            self._projection,
            np.asarray(self._block[cell.outer]),
            layout.clipped(cell.chunk),
            self._keep_empty,
            self._fields,
        )

    def _store(self, key: str, data: Buffer | None) -> None:
        if data is None:
            self._layout.store.erase(key)
        else:
            self._layout.store.set(key, data)
