"""Writing: what covers a chunk wholly is encoded and stored; what covers a part is merged into what is there, under a
lock, so that no other writer's part is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import Chain
from omnizarr.config import config
from omnizarr.dtypes import is_fill
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.pool import Feed, run
from omnizarr.engine.shards import updated
from omnizarr.errors import ChunkError, CodecError
from omnizarr.indexing import Cell, Projection, Selection
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
    writer = _Writer(layout, projection, block, keep_empty, fields, constant=value.ndim == 0)
    cells = len(projection)
    workers = min(config.workers, cells)
    run(Feed(projection, max(1, min(16, cells // (4 * workers)))), writer.work, workers)


class _Writer:
    """What all threads of one write share."""

    def __init__(
        self,
        layout: Layout,
        projection: Projection,
        block: npt.NDArray[Any],
        keep_empty: bool,
        fields: str | list[str] | None,
        *,
        constant: bool,
    ) -> None:
        self._layout = layout
        self._projection = projection
        self._block = block
        self._keep_empty = keep_empty
        self._fields = fields
        self._constant = constant
        self._encoded: dict[int, Buffer | None] = {}

    def work(self, cells: list[Cell]) -> None:
        layout, store = self._layout, self._layout.store
        scratch: npt.NDArray[Any] | None = None
        for cell in cells:
            key = layout.key(cell.names)
            try:
                chain = layout.chain(cell.chunk)
                layout.check_size(chain)
                value = self._block[cell.outer]
                whole = cell.whole and self._fields is None
                if whole and value.shape == chain.spec.shape and sharding_of(chain) is None:
                    if scratch is None or scratch.shape != value.shape:
                        scratch = np.empty(value.shape, layout.dtype)
                    self._store(key, self._whole(chain, value, scratch))
                elif whole:
                    self._store(key, self._updated(chain, cell, key, value))
                else:
                    with store.lock([key]):
                        self._store(key, self._updated(chain, cell, key, value))
            except CodecError as error:
                raise ChunkError("write", layout.path, cell.chunk, key, error) from error

    def _updated(self, chain: Chain, cell: Cell, key: str, value: npt.NDArray[Any]) -> Buffer | None:
        layout = self._layout
        return updated(
            chain,
            lambda: layout.store.get(key),
            cell,
            self._projection,
            value,
            layout.clipped(cell.chunk),
            self._keep_empty,
            self._fields,
        )

    def _whole(self, chain: Chain, value: npt.NDArray[Any], scratch: npt.NDArray[Any]) -> Buffer | None:
        """A chunk that is covered wholly. One value for all chunks is encoded only once."""
        if self._constant and id(chain) in self._encoded:
            return self._encoded[id(chain)]
        if value.dtype != scratch.dtype or not value.flags.c_contiguous:
            scratch[...] = value  # memory that is used again is warm; a new copy each time would be paged in anew
            value = scratch
        encoded = None if not self._keep_empty and is_fill(value, chain.spec.fill) else chain.encode(value)
        if self._constant:
            encoded = None if encoded is None else bytes(encoded)
            self._encoded[id(chain)] = encoded
        return encoded

    def _store(self, key: str, data: Buffer | None) -> None:
        if data is None:
            self._layout.store.erase(key)
        else:
            self._layout.store.set(key, data)
