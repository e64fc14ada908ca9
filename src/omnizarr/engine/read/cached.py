"""Route H: reads through a cache of decoded chunks. Each chunk is decoded as a whole and kept for later reads."""

from __future__ import annotations

from sys import getsizeof
from typing import Any

import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain, ChunkSpec
from omnizarr.engine.chunk_cache import CachedState, ChunkCache
from omnizarr.engine.layout import Layout, inner_axes, sharding_of, too_long
from omnizarr.engine.numpy_index import assign
from omnizarr.engine.place import fill_target, place, raise_for_chunk
from omnizarr.engine.read.shards import get_inner_chunks
from omnizarr.engine.row_memory import row_memory
from omnizarr.errors import CodecError, MissingDependencyError
from omnizarr.indexing import Cell, Projection, Row
from omnizarr.store import Buffer, Snapshot, Snapshots

__all__ = ["CachedReader"]


class CachedReader:
    """Reads in one thread. The store has snapshots, whose version shows whether a cached chunk is still valid."""

    def __init__(
        self,
        layout: Layout,
        cache: ChunkCache,
        snapshots: Snapshots,
        projection: Projection,
        block: npt.NDArray[Any],
    ) -> None:
        self._layout = layout
        self._snapshots = snapshots
        self._cache = cache
        self._projection = projection
        self._block = block
        # One cache may serve handles that decode the same bytes differently.
        self._decoding = layout.decoding

    def __call__(self, row: Row) -> None:
        """Read a row of chunks."""
        layout = self._layout
        for cell in row.cells:
            key = layout.key(cell.names)
            try:
                chain = layout.chain(cell.chunk)
                layout.check_size(chain)
                self._read(chain, key, cell)
            except (CodecError, MissingDependencyError) as error:
                raise_for_chunk("read", layout, cell.chunk, key, error)

    def _read(self, chain: Chain, key: str, cell: Cell) -> None:
        layout, projection, block = self._layout, self._projection, self._block
        snapshot = self._snapshots.open(key)
        if snapshot is None:
            assign(block, cell.outer, layout.fill)
            return
        try:
            sharding = None if layout.sharding is None else sharding_of(chain)
            if sharding is None:
                self._read_chunk(chain, key, snapshot, cell)
                return
            selected = Projection(cell.inner, projection.points, inner_axes(sharding, layout.clipped(cell.chunk)))

            def fill(target: npt.NDArray[Any]) -> None:
                self._read_shard(sharding, key, snapshot, selected, target)

            fill_target(block, cell, projection.points, projection.plain, layout.dtype, fill)
        finally:
            snapshot.close()

    def _state(self, spec: ChunkSpec, outer: ChunkSpec, snapshot: Snapshot) -> CachedState | None:
        """Everything that a decoded chunk depends on; None if the snapshot has no version."""
        version = snapshot.version
        if version is None or self._decoding is None:
            return None
        return CachedState(version, spec.shape, outer.shape, self._decoding)

    def _read_chunk(self, chain: Chain, key: str, snapshot: Snapshot, cell: Cell) -> None:
        value, state = (self._layout.store, key), self._state(chain.spec, chain.spec, snapshot)
        block, projection = self._block, self._projection
        if not self._place_cached(value, 0, state, block, cell, projection):
            limit = chain.encoded.limit
            if snapshot.size > limit:
                raise too_long(limit)
            place(block, cell, projection, self._decode(value, 0, state, chain, snapshot.get((0, snapshot.size))))

    def _place_cached(
        self,
        value: Any,
        number: int,
        state: CachedState | None,
        target: npt.NDArray[Any],
        cell: Cell,
        projection: Projection,
    ) -> bool:
        """Copy what `cell` takes of a chunk from the cache to its place in the target; False if it is not cached."""
        cache = self._cache
        if cache.reads_into_memory and state is not None and target.dtype == state.decoding.dtype:
            targets = None if target.dtype.hasobject else row_memory(target, cell, projection, state.shape)
            if targets is not None:
                return cache.read_into(value, number, state, targets)
        chunk = cache.get(value, number, state)
        if chunk is not None:
            place(target, cell, projection, chunk)
        return chunk is not None

    def _decode(
        self, value: Any, number: int, state: CachedState | None, chain: Chain, data: Buffer
    ) -> npt.NDArray[Any]:
        """Decode a chunk and cache it, together with the bytes that it may be a view of."""
        chunk = chain.decode(data)
        self._cache.keep(value, number, state, chunk, max(_memory_of(chunk), len(data)))
        return chunk

    def _read_shard(
        self, sharding: BoundSharding, key: str, snapshot: Snapshot, selected: Projection, target: npt.NDArray[Any]
    ) -> None:
        value = self._layout.store, key
        state = self._state(sharding.inner.spec, sharding.spec, snapshot)
        cells = list(selected)
        numbers = [sharding.number(cell.chunk) for cell in cells]
        missing: list[int] = []
        for cell, number in zip(cells, numbers, strict=True):
            if not self._place_cached(value, number, state, target, cell, selected):
                missing.append(number)
        if not missing:
            return
        extents = self._layout.index_of(sharding, key, snapshot).extents(missing)
        inner_chunks = dict(zip(missing, get_inner_chunks(snapshot, extents), strict=True))
        inner = sharding.inner
        for cell, number in zip(cells, numbers, strict=True):
            if number in inner_chunks:
                data = inner_chunks[number]
                if data is None:
                    assign(target, cell.outer, inner.spec.fill)
                else:
                    place(target, cell, selected, self._decode(value, number, state, inner, bytes(data)))


def _memory_of(chunk: npt.NDArray[Any]) -> int:
    """The approximate size of a chunk in bytes, including the objects that its elements refer to."""
    if not chunk.dtype.hasobject:
        return chunk.nbytes
    items = chunk.reshape(-1).tolist()
    return chunk.nbytes + sum(getsizeof(item) + getattr(item, "nbytes", 0) for item in items)
