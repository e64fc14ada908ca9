"""Reading: chunks are fetched, decoded and placed, row by row, by as many threads as there are cores."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.engine.buffers import Stage
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.numpy_index import put, taken
from omnizarr.engine.read.partial import elements_of, part_of, read_part
from omnizarr.engine.read.shards import ShardReader
from omnizarr.engine.schedule import decode_row
from omnizarr.errors import ChunkError, CodecError, MissingDependencyError
from omnizarr.indexing import Cell, Projection, Row
from omnizarr.store import Buffer

if TYPE_CHECKING:
    from omnizarr.engine.read.remote import Fetched

__all__ = ["Worker"]

_SLOW = 200e-6  # seconds: a store that takes longer for a chunk is worth waiting for in several threads
_LEISURELY = 2e-9  # seconds that it may take for each byte beside


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
        put(block, cell.outer, layout.fill)
        return
    chunk = chain.decode(data, out)
    if projection.order is not None:
        chunk = chunk.transpose(projection.order)
    put(block, cell.outer, taken(chunk, projection.expression(cell.inner)))


class Worker:
    """One thread's part in a read."""

    def __init__(self, layout: Layout, projection: Projection, block: npt.NDArray[Any], stage: Stage) -> None:
        self._layout = layout
        self._projection = projection
        self._block = block
        self._at: Cell
        """The chunk that is being worked on, to be named in errors."""
        self._chain: Chain | None = None
        self._sharding: BoundSharding | None = None
        self._shards = ShardReader(layout, projection.points, projection.plain, block, stage)
        self._stage = stage

    def __call__(self, row: Row) -> bool:
        """Reads a row of chunks; whether that took so long that the store must have kept it waiting."""
        layout = self._layout
        self._at = row.first
        try:
            chain = self._bound(self._at)
            if row.outer is not None and chain.direct and self._block.dtype == layout.dtype:
                return self._read_row(row, chain)
            waited = self._read_cells(row)
            return waited > len(row) * _SLOW + len(row) * chain.spec.nbytes * _LEISURELY
        except CodecError as error:
            raise self._named(error) from error
        except MissingDependencyError as error:
            raise error.add_context(f"cannot read array `{self._layout.name}`") from None

    def take(self, fetched: Fetched) -> None:
        """Takes what was fetched already."""
        self._at = cell = fetched.cell
        try:
            chain = self._bound(cell)
            if fetched.wanted is not None:
                assert self._sharding is not None
                parts = fetched.parts if fetched.data is None else self._sharding.split(fetched.data)
                self._shards.place(self._sharding, cell, fetched.wanted, parts)
            elif fetched.part is not None and fetched.data is not None:
                put(self._block, cell.outer, elements_of(chain, fetched.part, fetched.data))
            else:
                self._placed(cell, fetched.data)
        except CodecError as error:
            raise self._named(error) from error
        except MissingDependencyError as error:
            raise error.add_context(f"cannot read array `{self._layout.name}`") from None

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

    def _placed(self, cell: Cell, data: Buffer | None) -> None:
        """Puts one chunk where it belongs."""
        chain = self._chain
        assert chain is not None
        out = self._stage.room_for(chain, 1).chunks[0] if chain.direct and chain.compressed else None
        _place(self._layout, chain, self._projection, self._block, cell, data, out)

    def _read_cells(self, row: Row) -> float:
        """Reads chunks of which parts are taken; how many seconds the store took."""
        layout, plain = self._layout, self._projection.plain
        waited = 0.0
        together: list[Cell] = []
        for self._at in row.cells:
            chain = self._bound(self._at)
            if self._sharding is not None:
                waited += self._shards.read(self._sharding, layout.key(self._at.names), self._at)
                continue
            part = part_of(chain, layout.store, self._at.inner) if plain else None
            if part is None and chain.direct and layout.uniform is not None:
                together.append(self._at)
                continue
            before = perf_counter()
            key = layout.key(self._at.names)
            if part is not None:
                target = self._block[self._at.outer]
                if not read_part(chain, layout.store, key, part, target):
                    target[...] = layout.fill
                waited += perf_counter() - before
            else:
                data = layout.get(key, chain.encoded.limit)
                waited += perf_counter() - before
                self._placed(self._at, data)
        if together:
            waited += self._read_together(Row.of(together), chain)
        return waited

    def _read_together(self, row: Row, chain: Chain) -> float:
        """The same for chunks that are decoded in one go."""
        layout, block, projection = self._layout, self._block, self._projection
        before = perf_counter()
        values = self._fetched(row, [layout.key(names) for names in row.names()], chain)
        waited = perf_counter() - before
        cells: list[Cell] = []
        stored: list[Buffer] = []
        chunks: list[npt.NDArray[Any]] = []
        for self._at, data in zip(row.cells, values, strict=True):
            if data is None:
                put(block, self._at.outer, layout.fill)
                continue
            cells.append(self._at)
            stored.append(data)
            if not chain.compressed:
                chunks.append(chain.decode(data))  # a view
        if chain.compressed and cells:
            staging = self._stage.room_for(chain, len(cells))
            self._decode(Row.of(cells), chain, stored, staging.chunks, staging.memories, staging.memory)
            chunks = staging.chunks
        for cell, chunk in zip(cells, chunks, strict=False):
            if projection.order is not None:
                chunk = chunk.transpose(projection.order)
            put(block, cell.outer, taken(chunk, projection.expression(cell.inner)))
        return waited

    def _read_row(self, row: Row, chain: Chain) -> bool:
        """Reads chunks that lie side by side and are taken entirely: decoded where they belong, if each is contiguous
        there; else in a row that is placed at once."""
        layout, block, count = self._layout, self._block, len(row)
        contiguous = block[self._at.outer].flags.c_contiguous
        staging = None if contiguous else self._stage.room_for(chain, count)
        keys = [layout.key(names) for names in row.names()]
        before = perf_counter()
        if staging is not None and not chain.compressed:
            get_into, size = layout.store.get_into, chain.spec.nbytes
            for number, key in enumerate(keys):
                found = get_into(key, 0, staging.bytes(number))
                if found is None:
                    staging.chunks[number][...] = layout.fill
                elif found != size:
                    self._at = row.cells[number]
                    chain.decode(bytes(staging.bytes(number)[:found]))  # says what is wrong
            waited = perf_counter() - before
        else:
            values = self._fetched(row, keys, chain)
            waited = perf_counter() - before
            if staging is not None:
                chunks, memories, room = staging.chunks, staging.memories, staging.memory
            else:
                chunks = [block[cell.outer] for cell in row.cells]
                memories = [chunk.reshape(-1).view(np.uint8).data for chunk in chunks]
                all_of_it = block[row.outer]
                room = all_of_it.reshape(-1).view(np.uint8).data if all_of_it.flags.c_contiguous else None
            self._decode(row, chain, values, chunks, memories, room)
        if staging is not None:
            self._stage.place(block[row.outer], count)
        return waited > count * _SLOW

    def _decode(
        self,
        row: Row,
        chain: Chain,
        values: Sequence[Buffer | None],
        chunks: list[npt.NDArray[Any]],
        memories: list[memoryview],
        room: memoryview | None,
    ) -> None:
        try:
            decode_row(chain, values, chunks, memories, room)
        except CodecError:
            for number, self._at in enumerate(row.cells):  # which one is it?
                data = values[number]
                if data is not None:
                    chain.decode_into(data, chunks[number], memories[number])
            raise

    def _fetched(self, row: Row, keys: list[str], chain: Chain) -> list[Buffer | None]:
        """The stored bytes of chunks. Those of files are read into memory that is used again."""
        layout, store = self._layout, self._layout.store
        if store.in_memory:
            return [store.get(key) for key in keys]
        staging = self._stage.room_for(chain, len(keys))
        values: list[Buffer | None] = []
        for number, key in enumerate(keys):
            room = staging.encoded(number)
            found = store.get_into(key, 0, room)
            if found is None:
                values.append(None)
            elif found < len(room):
                values.append(room[:found])
            else:  # what fills the room may be longer than it
                self._at = row.cells[number]
                values.append(layout.get(key, chain.encoded.limit))
        return values
