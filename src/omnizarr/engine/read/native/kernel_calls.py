"""`KernelCalls`: what the routes A, B and C share. It describes chunks to the kernel, has the kernel read them, and
fills in absent chunks."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.engine.layout import Layout
from omnizarr.engine.pool import run_native
from omnizarr.engine.schedule import native_threads
from omnizarr.indexing import Piece
from omnizarr.native import ABSENT, DECODING_NUMBERS, kernel

__all__ = ["ChunkGroup", "Dimensions", "KernelCalls", "Pieces"]

Pieces: TypeAlias = Sequence[Sequence[Piece]]
Dimensions: TypeAlias = tuple[list[int], ...]
"""The pieces of each dimension as the kernel takes them: four integers per piece."""
ChunkGroup: TypeAlias = tuple[list[str] | int, int, Dimensions, Any]
"""Chunks for the kernel: paths, or an open file with the positions of its inner chunks."""


class KernelCalls:
    """Calls of the kernel for the chunks of one array."""

    def __init__(self, layout: Layout, chain: Chain, sharding: BoundSharding | None, codec: int) -> None:
        """`codec` is the kernel's number for the codec of the chunks, or of the inner chunks of shards."""
        self.layout = layout
        self.sharding = sharding
        self.chain = inner = chain if sharding is None else sharding.inner
        """The codecs of the chunks, or of the inner chunks of shards."""
        assert layout.snapshots is not None
        self.snapshots = layout.snapshots
        self.grid = (1,) * len(layout.axes) if sharding is None else sharding.grid
        self.decoding = (codec, inner.spec.nbytes, inner.encoded.limit, layout.dtype.itemsize)
        self.packed_decoding = struct.pack(f"={DECODING_NUMBERS}q", *self.decoding)

    def dimensions(self, pieces: Pieces, block: npt.NDArray[Any]) -> Dimensions:
        """Pieces as the kernel takes them: offset in the chunk, offset in the block, elements, and share in the number
        of the inner chunk."""
        dimensions = []
        share = 1
        for dimension in range(len(pieces) - 1, -1, -1):
            inside, outside = self.chain.strides[dimension], block.strides[dimension]
            numbers: list[int] = []
            for _, index, inner, outer, _, _ in pieces[dimension]:
                start = outer.start  # type: ignore[union-attr]
                numbers += (inner.start * inside, start * outside, outer.stop - start, index * share)  # type: ignore[union-attr]
            dimensions.append(numbers)
            share *= self.grid[dimension]
        return tuple(dimensions[::-1])

    def read_groups(
        self, groups: list[ChunkGroup], flags: int, strides: tuple[int, ...], block: npt.NDArray[Any], status: bytearray
    ) -> None:
        """Have the kernel read each chunk whose status is TO_DO, and set its status."""
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
            )

        run_native(native_threads(self.chain, len(status), block.nbytes) - 1, read)

    def fill_absent(self, status: bytes | bytearray, places: Sequence[Sequence[Any]], block: npt.NDArray[Any]) -> None:
        """Write the fill value where a chunk is ABSENT; `places` has the slices of the block for each dimension."""
        if ABSENT in status:
            for result, place in zip(status, product(*places), strict=True):
                if result == ABSENT:
                    block[place] = self.chain.spec.fill
