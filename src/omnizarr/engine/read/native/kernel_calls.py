"""`KernelCalls`: what the routes A, B, C and `ReceivedChunks` share. It describes chunks to the kernel, has the kernel
read them, and fills in absent chunks."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias
from weakref import ref

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.engine.layout import Layout
from omnizarr.engine.pool import run_native
from omnizarr.engine.schedule import native_threads
from omnizarr.indexing import Pick, Piece
from omnizarr.native import ABSENT, DECODING_NUMBERS, kernel
from omnizarr.store import Buffer

__all__ = ["ChunkGroup", "Dimensions", "Gather", "KernelCalls", "Pieces"]

Pieces: TypeAlias = Sequence[Sequence[Piece]]
Dimensions: TypeAlias = tuple[list[int], ...]
"""The pieces of each dimension as the kernel takes them: four integers per piece."""
ChunkGroup: TypeAlias = tuple[list[str] | int | Buffer, int, Dimensions, Any]
"""Chunks for the kernel: paths, or a shard, as an open file or its bytes, with the positions of its inner chunks."""


_MAX_GAP = 8192  # bytes


class Gather:
    """What indices take along one dimension of several chunks, as the kernel takes it: the offset of each element in
    its chunk and in the block."""

    def __init__(self, axis: int) -> None:
        self.axis = axis
        self._sources: list[Any] = []
        self._targets: list[Any] = []
        self._strides = (0, 0)
        self._count = 0

    def add(self, pieces: Sequence[Piece], inside: int, outside: int) -> Iterator[tuple[int, int, int]]:
        """Add the indices of the pieces of the dimension, whose strides are `inside` in the chunk and `outside` in the
        block. Yields for each piece the number of its first index, how many there are, and the number of its chunk."""
        self._strides = inside, outside
        count = self._count
        for _, index, inner, outer, _, _ in pieces:
            self._sources.append(inner)
            self._targets.append(np.arange(outer.start, outer.stop) if isinstance(outer, slice) else outer)
            length = len(self._targets[-1])
            yield count, length, index
            count += length
        self._count = count

    def offsets(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The offsets in the chunks and in the block."""
        inside, outside = self._strides
        return (
            np.multiply(np.concatenate(self._sources), inside, dtype=np.int64),
            np.multiply(np.concatenate(self._targets), outside, dtype=np.int64),
        )


class KernelCalls:
    """Calls of the kernel for the chunks of one array."""

    def __init__(self, layout: Layout, chain: Chain, sharding: BoundSharding | None, codec: int) -> None:
        """`codec` is the kernel's number for the codec of the chunks, or of the inner chunks of shards."""
        self._layout = ref(layout)
        self.sharding = sharding
        self.chain = inner = chain if sharding is None else sharding.inner
        """The codecs of the chunks, or of the inner chunks of shards."""
        assert layout.snapshots is not None
        self.snapshots = layout.snapshots
        self.grid = (1,) * len(layout.axes) if sharding is None else sharding.grid
        self.decoding = (codec, inner.spec.nbytes, inner.encoded.limit, layout.dtype.itemsize)
        self.packed_decoding = struct.pack(f"={DECODING_NUMBERS}q", *self.decoding)

    @property
    def layout(self) -> Layout:
        """The layout, which refers to this object: a reference in return would leave both to the garbage collector."""
        layout = self._layout()
        assert layout is not None  # a caller reads with it
        return layout

    def strides_of(self, picks: Iterable[Pick]) -> tuple[int, ...]:
        """The distance in bytes between the elements that slices take from a chunk. A step longer than the chunk takes
        one element only; it is limited here, because a user's step may be too large for the kernel."""
        chain = self.chain
        return tuple(
            [
                stride * min(pick.step, length) if isinstance(pick, slice) else stride
                for stride, pick, length in zip(chain.strides, picks, chain.spec.shape, strict=True)
            ]
        )

    def dimensions(self, pieces: Pieces, block: npt.NDArray[Any], gather: Gather | None = None) -> Dimensions:
        """Pieces as the kernel takes them: offset in the chunk, offset in the block, elements, and share in the number
        of the inner chunk. Pieces with indices are added to `gather`."""
        dimensions = []
        share = 1
        for dimension in range(len(pieces) - 1, -1, -1):
            inside, outside = self.chain.strides[dimension], block.strides[dimension]
            numbers: list[int] = []
            if gather is not None and dimension == gather.axis:
                for first, count, index in gather.add(pieces[dimension], inside, outside):
                    numbers += (first, 0, count, index * share)
                dimensions.append(numbers)
                share *= self.grid[dimension]
                continue
            for _, index, inner, outer, _, _ in pieces[dimension]:
                start = outer.start  # type: ignore[union-attr]
                numbers += (inner.start * inside, start * outside, outer.stop - start, index * share)  # type: ignore[union-attr]
            dimensions.append(numbers)
            share *= self.grid[dimension]
        return tuple(dimensions[::-1])

    def read_groups(
        self,
        groups: list[ChunkGroup],
        flags: int,
        strides: tuple[int, ...],
        block: npt.NDArray[Any],
        status: bytearray,
        gather: Gather | None = None,
    ) -> None:
        """Have the kernel read each chunk whose status is TO_DO, and set its status."""
        axis, offsets = (-1, (b"", b"")) if gather is None else (gather.axis, gather.offsets())
        itemsize = block.itemsize
        reach = [(length - 1) * stride for length, stride in zip(block.shape, block.strides, strict=True)]
        low = sum([far for far in reach if far < 0])
        address = block.__array_interface__["data"][0]

        def read(helpers: int) -> None:
            kernel().read(
                groups,
                flags,
                status,
                *self.decoding,
                strides,
                block.strides,
                address,
                low,
                sum(reach) - low + itemsize,
                1 + helpers,
                axis,
                *offsets,
            )

        reads = 1 if self.chain.compressed else self._reads_per_chunk(strides, block.shape)
        run_native(native_threads(self.chain, len(status), block.nbytes, reads) - 1, read)

    def _reads_per_chunk(self, strides: tuple[int, ...], shape: tuple[int, ...]) -> int:
        """About how many reads the kernel needs for the part `shape` of an uncompressed chunk: one per element of the
        first dimension, if the bytes between them are too many to read as well (MAX_GAP in `read.c`)."""
        if not shape or shape[0] == 1:
            return 1
        counts = [min(pair) for pair in zip(shape, self.chain.spec.shape, strict=True)]
        slab = sum([(count - 1) * stride for count, stride in zip(counts[1:], strides[1:], strict=True)])
        return counts[0] if strides[0] - slab > _MAX_GAP else 1

    def fill_absent(self, status: bytes | bytearray, places: Sequence[Sequence[Any]], block: npt.NDArray[Any]) -> None:
        """Write the fill value where a chunk is ABSENT; `places` has the slices of the block for each dimension."""
        if ABSENT in status:
            for result, place in zip(status, product(*places), strict=True):
                if result == ABSENT:
                    block[place] = self.chain.spec.fill
