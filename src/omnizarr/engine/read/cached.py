"""Reading through a cache of decoded chunks: each chunk is decoded as a whole, and kept for whoever reads it next."""

from __future__ import annotations

from sys import getsizeof
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain, ChunkSpec
from omnizarr.engine.chunk_cache import ChunkCache
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.numpy_index import put, taken
from omnizarr.engine.read.shards import block_shape, inner_axes, parts_at
from omnizarr.errors import ChunkError, CodecError, MissingDependencyError
from omnizarr.indexing import Cell, Projection, Row
from omnizarr.store import Buffer, Snapshot

__all__ = ["CachedReader"]


class CachedReader:
    """One thread's part in a read. The store holds values: it can tell whether one is still what was decoded."""

    def __init__(self, layout: Layout, cache: ChunkCache, projection: Projection, block: npt.NDArray[Any]) -> None:
        self._layout = layout
        self._cache = cache
        self._projection = projection
        self._block = block
        model = layout.model
        # One cache may serve handles that make different things of the same bytes.
        self._decoding = model.data_type, model.codecs, repr(layout.fill.tolist())

    def __call__(self, row: Row) -> None:
        """Reads a row of chunks."""
        layout = self._layout
        for cell in row.cells:
            key = layout.key(cell.names)
            try:
                chain = layout.chain(cell.chunk)
                layout.check_size(chain)
                self._read(chain, key, cell)
            except CodecError as error:
                raise ChunkError("read", layout.name, cell.chunk, key, error) from error
            except MissingDependencyError as error:
                raise error.add_context(f"cannot read array `{layout.name}`") from None

    def _read(self, chain: Chain, key: str, cell: Cell) -> None:
        layout, projection, block = self._layout, self._projection, self._block
        held = layout.store.hold(key)
        if held is None:
            put(block, cell.outer, layout.fill)
            return
        try:
            sharding = None if layout.sharding is None else sharding_of(chain)
            if sharding is None:
                _put(block, cell, projection, self._chunk(chain, key, held))
                return
            inner = Projection(cell.inner, projection.points, inner_axes(sharding, layout.clipped(cell.chunk)))
            if projection.plain:
                self._read_shard(sharding, key, held, inner, block[cell.outer])
            else:
                some = np.empty(block_shape(cell.inner, projection.points), layout.dtype)
                self._read_shard(sharding, key, held, inner, some)
                put(block, cell.outer, some)
        finally:
            held.close()

    def _state(self, spec: ChunkSpec, held: Snapshot) -> object:
        """What a decoded chunk of the value depends on; None if that cannot be told."""
        version = held.version
        return None if version is None else (version, spec.shape, self._decoding)

    def _chunk(self, chain: Chain, key: str, held: Snapshot) -> npt.NDArray[Any]:
        value, state = (self._layout.store, key), self._state(chain.spec, held)
        chunk = self._cache.get(value, 0, state)
        if chunk is None:
            limit = chain.encoded.limit
            if held.size > limit:
                raise CodecError("chunk", f"what is stored has {held.size} bytes, more than the {limit} of a chunk")
            chunk = self._kept(value, 0, state, chain, held.get((0, held.size)))
        return chunk

    def _kept(self, value: Any, number: int, state: object, chain: Chain, data: Buffer) -> npt.NDArray[Any]:
        """A chunk, decoded; and kept, with the bytes that it may be a view of."""
        chunk = chain.decode(data)
        self._cache.keep(value, number, state, chunk, max(_memory_of(chunk), len(data)))
        return chunk

    def _read_shard(
        self, sharding: BoundSharding, key: str, held: Snapshot, wanted: Projection, target: npt.NDArray[Any]
    ) -> None:
        cache, value, state = self._cache, (self._layout.store, key), self._state(sharding.spec, held)
        cells = list(wanted)
        numbers = [sharding.number(cell.chunk) for cell in cells]
        missing: list[int] = []
        for cell, number in zip(cells, numbers, strict=True):
            chunk = cache.get(value, number, state)
            if chunk is None:
                missing.append(number)
            else:
                _put(target, cell, wanted, chunk)
        if not missing:
            return
        places = self._layout.index_of(sharding, key, held).spans(missing)
        parts = dict(zip(missing, parts_at(held, places), strict=True))
        inner = sharding.inner
        for cell, number in zip(cells, numbers, strict=True):
            if number in parts:
                part = parts[number]
                if part is None:
                    put(target, cell.outer, inner.spec.fill)
                else:
                    _put(target, cell, wanted, self._kept(value, number, state, inner, bytes(part)))


def _memory_of(chunk: npt.NDArray[Any]) -> int:
    """How many bytes a chunk takes, with what its elements point to, roughly."""
    if not chunk.dtype.hasobject:
        return chunk.nbytes
    items = chunk.reshape(-1).tolist()
    return chunk.nbytes + sum(getsizeof(item) + getattr(item, "nbytes", 0) for item in items)


def _put(block: npt.NDArray[Any], cell: Cell, projection: Projection, chunk: npt.NDArray[Any]) -> None:
    if projection.order is not None:
        chunk = chunk.transpose(projection.order)
    put(block, cell.outer, taken(chunk, projection.expression(cell.inner)))
