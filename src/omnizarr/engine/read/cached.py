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
                place(block, cell, projection, self._chunk(chain, key, snapshot))
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

    def _chunk(self, chain: Chain, key: str, snapshot: Snapshot) -> npt.NDArray[Any]:
        value, state = (self._layout.store, key), self._state(chain.spec, chain.spec, snapshot)
        chunk = self._cache.get(value, 0, state)
        if chunk is None:
            limit = chain.encoded.limit
            if snapshot.size > limit:
                raise too_long(limit)
            chunk = self._decode(value, 0, state, chain, snapshot.get((0, snapshot.size)))
        return chunk

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
        cache, value = self._cache, (self._layout.store, key)
        state = self._state(sharding.inner.spec, sharding.spec, snapshot)
        cells = list(selected)
        numbers = [sharding.number(cell.chunk) for cell in cells]
        missing: list[int] = []
        for cell, number in zip(cells, numbers, strict=True):
            chunk = cache.get(value, number, state)
            if chunk is None:
                missing.append(number)
            else:
                place(target, cell, selected, chunk)
        if not missing:
            return
        spans = self._layout.index_of(sharding, key, snapshot).spans(missing)
        inner_chunks = dict(zip(missing, get_inner_chunks(snapshot, spans), strict=True))
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
