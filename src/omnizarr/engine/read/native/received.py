"""`ReceivedChunks`: the kernel decodes values that remote stores have returned, straight into the block, in calls that
do not hold the lock of the interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.config import config
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.read.native.kernel_calls import KernelCalls
from omnizarr.indexing import Cell, Pick, Projection
from omnizarr.native import ABSENT, DONE, MAX_CHUNK_BYTES, MAX_DIMENSIONS, TO_DO, UNUSUAL, codec, kernel
from omnizarr.store import Buffer

__all__ = ["ReceivedChunks"]


class ReceivedChunks(KernelCalls):
    """Decodes and places the chunks or shards of one read. A method returns False if Python has to do it, for example
    because a chunk is damaged or has an unusual form."""

    def __init__(
        self, layout: Layout, chain: Chain, sharding: BoundSharding | None, number: int, block: npt.NDArray[Any]
    ) -> None:
        """`number` is the kernel's number for the codec of the chunks, or of the inner chunks of shards."""
        super().__init__(layout, chain, sharding, number)
        self._block = block
        self._read_one = kernel().read_one

    @classmethod
    def of(cls, layout: Layout, projection: Projection, block: npt.NDArray[Any]) -> ReceivedChunks | None:
        """For a read; None if the kernel cannot decode its chunks."""
        chain = layout.uniform
        if chain is None or layout.snapshots is None or not projection.plain or block.dtype != layout.dtype:
            return None
        sharding = None if layout.sharding is None else sharding_of(chain)
        inner = chain if sharding is None else sharding.inner
        if inner.native is None or not config.current.native or len(inner.spec.shape) > MAX_DIMENSIONS:
            return None
        if max(inner.spec.nbytes, inner.encoded.limit) > MAX_CHUNK_BYTES:
            return None
        number = codec(inner.native)
        return None if number is None else cls(layout, chain, sharding, number, block)

    def place_chunk(self, cell: Cell, data: Buffer) -> bool:
        """Place what a cell takes from a stored chunk."""
        return self._place(self._block[cell.outer], cell.inner, data)

    def _place(self, target: npt.NDArray[Any], picks: tuple[Pick, ...], data: Buffer) -> bool:
        offset = 0
        for pick, stride in zip(picks, self.chain.strides, strict=True):
            offset += pick.start * stride  # type: ignore[union-attr]
        strides = self.strides_of(picks)
        status = self._read_one(target, data, 0, 0, len(data), self.packed_decoding, strides, offset, target.shape)
        return bool(status == DONE)

    def place_shard(
        self,
        cell: Cell,
        selected: Projection,
        data: Buffer | None,
        inner_chunks: Sequence[Buffer | None] | Mapping[int, Any] | None,
    ) -> bool:
        """Place what a cell takes from a stored shard, or from inner chunks of it by their number. `selected` is the
        projection of its picks on the inner chunks."""
        if data is not None:
            return self._place_whole(cell, selected, data)
        if inner_chunks is None:
            return False
        sharding, target = self.sharding, self._block[cell.outer]
        assert sharding is not None
        for inner in selected:
            stored = inner_chunks[sharding.number(inner.chunk)]
            assert not isinstance(stored, Mapping)  # the kernel decodes no shards within shards
            if stored is None:
                target[inner.outer] = sharding.inner.spec.fill
            elif not self._place(target[inner.outer], inner.inner, stored):
                return False
        return True

    def _place_whole(self, cell: Cell, selected: Projection, data: Buffer) -> bool:
        sharding, pieces = self.sharding, selected.slice_pieces
        assert sharding is not None
        if pieces is None:
            return False
        view, block = memoryview(data), self._block
        start, length = sharding.index_range
        index = sharding.decode_index(view[start:] if length is None else view[:length], len(view))
        offset = 0
        if cell.outer is not ...:  # `...` is all of the block
            for pick, stride in zip(cell.outer, block.strides, strict=True):
                offset += pick.start * stride
        entries = np.ascontiguousarray(index.entries, np.uint64)
        strides = self.strides_of([dimension[0][2] for dimension in pieces])
        status = bytearray((TO_DO,)) * prod(map(len, pieces))
        self.read_groups([(view, offset, self.dimensions(pieces, block), entries)], 0, strides, block, status)
        if UNUSUAL in status:
            return False
        if ABSENT in status:
            self.fill_absent(status, [[piece[3] for piece in dimension] for dimension in pieces], block[cell.outer])
        return True
