"""Reading: chunks are fetched, decoded and placed, row by row, by as many threads as there are cores."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.config import config
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.pool import run
from omnizarr.engine.shards import read_shard
from omnizarr.engine.staging import Staging, rows_of, staged
from omnizarr.errors import ChunkError, CodecError
from omnizarr.indexing import Cell, Projection, Row, Selection
from omnizarr.store import Buffer

__all__ = ["read"]

_SLOW = 200e-6  # seconds: a store that takes longer for a chunk is worth waiting for in several threads
_REMOTE_WINDOW = 1024  # requests that are given to a remote store at once


def read(layout: Layout, selection: Selection, out: npt.NDArray[Any]) -> None:
    """Fills `out`, which has the selection's shape, with what the selection picks."""
    if selection.empty:
        return
    if not out.flags.c_contiguous and selection.folded != selection.shape:
        whole = np.empty(selection.shape, out.dtype)  # folding the axes of `out` itself would make a copy
        read(layout, selection, whole)
        out[...] = whole
        return
    block = selection.block(out)
    projection = Projection(selection.picks, selection.points, layout.axes)
    cells = len(projection)
    if cells == 1 and not layout.store.remote:
        _read_one(layout, projection, block)
        return
    workers = config.workers

    def start() -> _Worker:
        return _Worker(layout, projection, block)

    if layout.store.remote and layout.sharding is None:
        run(_answers(layout, projection), lambda: start().answered, min(workers, cells))
        return
    most, alone = rows_of(layout.uniform, cells, workers)
    run(projection.rows(most), start, min(workers, -(-cells // most)), alone=alone)


def _read_one(layout: Layout, projection: Projection, block: npt.NDArray[Any]) -> None:
    """Reads the only chunk there is: no threads, no rows, nothing that is made for the next one."""
    cell = next(iter(projection))
    chain = layout.chain(cell.chunk)
    if layout.sharding is not None or (cell.whole and block.shape == chain.spec.shape):
        _Worker(layout, projection, block)(next(projection.rows(1)))
        return
    key = layout.key(cell.names)
    try:
        layout.check_size(chain)
        _place(layout, chain, projection, block, cell, layout.get(key), None)
    except CodecError as error:
        raise ChunkError("read", layout.name, cell.chunk, key, error) from error


def _place(
    layout: Layout,
    chain: Chain,
    projection: Projection,
    block: npt.NDArray[Any],
    cell: Cell,
    data: Buffer | None,
    out: npt.NDArray[Any] | None,
) -> None:
    """Puts what a cell takes from its chunk, whose bytes `data` are, where it belongs; decoded in `out`, if given."""
    if data is None:
        block[cell.outer] = layout.fill
        return
    chunk = chain.decode(data, out)
    if projection.order is not None:
        chunk = chunk.transpose(projection.order)
    block[cell.outer] = chunk[projection.expression(cell.inner)]


def _answers(layout: Layout, projection: Projection) -> Iterator[tuple[Cell, Buffer | None]]:
    """Cells with their bytes, in the order in which a remote store answers."""
    cells = iter(projection)
    while window := list(islice(cells, _REMOTE_WINDOW)):
        for index, data in layout.store.get_each([(layout.key(cell.names), None) for cell in window]):
            yield window[index], data


class _Worker:
    """One thread's part in a read."""

    def __init__(self, layout: Layout, projection: Projection, block: npt.NDArray[Any]) -> None:
        self._layout = layout
        self._projection = projection
        self._block = block
        self._at: Cell
        """The chunk that is being worked on, to be named in errors."""
        self._chain: Chain | None = None
        self._sharding: BoundSharding | None = None
        self._staging: Staging | None = None

    def __call__(self, row: Row) -> bool:
        """Reads a row of chunks; whether that took so long that the store must have kept it waiting."""
        layout = self._layout
        self._at = row.cells[0]
        try:
            chain = self._bound(row.cells[0])
            if row.outer is not None and chain.direct and self._block.dtype == layout.dtype:
                return self._read_row(row, chain)
            before = perf_counter()
            for self._at in row.cells:
                key = layout.key(self._at.names)
                if self._sharding is None:
                    self._placed(self._at, layout.get(key))
                else:
                    read_shard(layout, self._sharding, layout.store, key, self._at, self._projection, self._block)
            return perf_counter() - before > len(row.cells) * _SLOW
        except CodecError as error:
            raise self._named(error) from error

    def answered(self, answer: tuple[Cell, Buffer | None]) -> None:
        """Takes a chunk that was fetched already."""
        self._at, data = answer
        try:
            self._bound(self._at)
            self._placed(self._at, data)
        except CodecError as error:
            raise self._named(error) from error

    def _named(self, error: CodecError) -> ChunkError:
        layout, cell = self._layout, self._at
        return ChunkError("read", layout.name, cell.chunk, layout.key(cell.names), error)

    def _bound(self, cell: Cell) -> Chain:
        chain = self._layout.chain(cell.chunk)
        if chain is not self._chain:
            self._layout.check_size(chain)
            self._chain = chain
            self._sharding = sharding_of(chain)
        return chain

    def _room_for(self, chain: Chain, count: int) -> Staging:
        self._staging = staged(self._staging, chain, count)
        return self._staging

    def _placed(self, cell: Cell, data: Buffer | None) -> None:
        """Puts one chunk where it belongs."""
        chain = self._chain
        assert chain is not None
        out = self._room_for(chain, 1).chunk(0) if chain.direct and chain.compressed else None
        _place(self._layout, chain, self._projection, self._block, cell, data, out)

    def _read_row(self, row: Row, chain: Chain) -> bool:
        """Reads chunks that lie side by side and are taken entirely: decoded where they belong, if each is contiguous
        there; else in a row that is placed at once."""
        layout, block, cells = self._layout, self._block, row.cells
        store, count = layout.store, len(cells)
        contiguous = block[cells[0].outer].flags.c_contiguous
        staging = None if contiguous else self._room_for(chain, count)
        before = perf_counter()
        if staging is not None and not chain.compressed:
            size = chain.spec.nbytes
            for number, self._at in enumerate(cells):
                found = store.get_into(layout.key(self._at.names), 0, staging.bytes(number))
                if found is None:
                    staging.chunk(number)[...] = layout.fill
                elif found != size:
                    chain.decode(bytes(staging.bytes(number)[:found]))  # says what is wrong
            waited = perf_counter() - before
        else:
            values = self._fetched(cells, chain)
            waited = perf_counter() - before
            for number, data in enumerate(values):
                self._at = cells[number]
                if staging is None:
                    chunk = block[self._at.outer]
                    memory = chunk.reshape(-1).view(np.uint8).data
                else:
                    chunk, memory = staging.chunk(number), staging.memory(number)
                if data is None:
                    chunk[...] = layout.fill
                else:
                    chain.decode_into(data, chunk, memory)
        if staging is not None:
            staging.place(block[row.outer], count)
        return waited > count * _SLOW

    def _fetched(self, cells: list[Cell], chain: Chain) -> list[Buffer | None]:
        """The stored bytes of chunks. Those of files are read into memory that is used again."""
        layout, store = self._layout, self._layout.store
        keys = [layout.key(cell.names) for cell in cells]
        if store.in_memory:
            return [store.get(key) for key in keys]
        staging = self._room_for(chain, len(cells))
        values: list[Buffer | None] = []
        for number, key in enumerate(keys):
            room = staging.encoded(number)
            found = store.get_into(key, 0, room)
            if found is None:
                values.append(None)
            else:  # what fills the room may be longer than it
                values.append(room[:found] if found < len(room) else layout.get(key))
        return values
