"""`NativeReader`: routes A, B and C for one array."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise, product, starmap
from math import prod
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.config import config
from omnizarr.engine.cancel import KERNEL_BYTES, current_token
from omnizarr.engine.layout import Layout, inner_axes
from omnizarr.engine.pool import run_native
from omnizarr.engine.read.native.kernel_calls import Dimensions, Gather, KernelCalls, Pieces
from omnizarr.engine.schedule import native_threads
from omnizarr.errors import CodecError
from omnizarr.indexing import Cell, Pick, Piece, Projection, only_chunk
from omnizarr.native import (
    ABSENT,
    AXIS_NUMBERS,
    DONE,
    MAX_DIMENSIONS,
    PIECE_NUMBERS,
    TO_DO,
    UNUSUAL,
    kernel,
)
from omnizarr.store.local.snapshot import FileSnapshot

__all__ = ["NativeReader"]

_BATCH_CHUNKS = 2**16  # chunks per kernel call
_KEY_CHUNKS = 256  # chunks up to which `read_key` is faster than planning a selection


class NativeReader(KernelCalls):
    """Reads one array. Made once per `Layout`."""

    def __init__(
        self, layout: Layout, chain: Chain, sharding: BoundSharding | None, codec: int, *, by_key: bool
    ) -> None:
        """`codec` is the kernel's number for the codec of the chunks, or of the inner chunks of shards. Without
        `by_key`, `read_key` reads nothing."""
        super().__init__(layout, chain, sharding, codec)
        assert layout.local_files is not None
        self._files = layout.local_files
        self._separator = self._stem = ""
        self._all_strides = self.chain.strides
        self._dtype = layout.dtype
        self.nbytes = max(chain.spec.nbytes, 0 if sharding is None else sharding.index_size)
        """The largest allocation for a chunk or index, which `max_chunk_bytes` limits (see `Layout.check_size`)."""
        self._axes = self._packed_axes(chain) if by_key else None
        self._prefix = layout.prefix + self._stem
        # A shard with one inner chunk has the shape of a chunk, so that `locate` would take its file for a chunk.
        self._several = sharding is None

    @classmethod
    def like(cls, members: dict[str, Any], layout: Layout) -> NativeReader:
        """A reader with the `shared_members` of a reader for another layout of the same model."""
        reader = cls.__new__(cls)
        reader.__dict__ = {  # faster than setting one attribute after the other
            **members,
            "_layout": ref(layout),
            "snapshots": layout.snapshots,
            "_files": layout.local_files,
            "_prefix": layout.prefix + members["_stem"],
        }
        return reader

    def shared_members(self) -> dict[str, Any]:
        """The attributes that depend on the model only."""
        own = ("_layout", "snapshots", "_files", "_prefix")
        return {name: value for name, value in vars(self).items() if name not in own}

    def _packed_axes(self, chain: Chain) -> bytes | None:
        """The dimensions of the array as `kernel.locate` takes them; None if it cannot spell the keys or the result."""
        layout, rank = self.layout, len(self.layout.axes)
        if layout.separator is None or layout.dtype.kind not in "biufc" or rank > MAX_DIMENSIONS:
            return None
        self._separator = layout.separator
        self._stem = layout.key(("0",) * rank).removeprefix(layout.prefix)
        self._stem = self._stem.removesuffix(layout.separator.join(["0"] * rank))
        shares = [1]
        for count in reversed(self.grid[1:]):
            shares.append(shares[-1] * count)
        return b"".join(
            map(
                struct.Struct(f"={AXIS_NUMBERS}q").pack,
                [axis.length for axis in layout.axes],
                chain.spec.shape,
                self.chain.spec.shape,
                self.chain.strides,
                reversed(shares),  # has one item even if there are no dimensions
            )
        )

    # -- from a key

    def read_key(self, key: tuple[Any, ...]) -> Any:
        """`array[key]` for integers and slices with step 1, by route A or B, without a selection or projection; None if
        the key or a chunk is unusual."""
        if self._axes is None:
            return None
        dtype, module = self._dtype, kernel()
        location = module.locate(key, self._axes, dtype.itemsize, self._separator, _KEY_CHUNKS)
        settings = config.current
        if location is None or not settings.native or self.nbytes > settings.max_chunk_bytes:
            return None
        if len(location) == 5:
            counts, shape, name, offset, number = location
            out = np.empty(shape, dtype)
            chunk_key = self._prefix + name
            if self.sharding is None:
                path, flags = self._files.path(chunk_key)
                status = module.read_one(
                    out, path, flags, 0, -1, self.packed_decoding, self._all_strides, offset, counts
                )
            else:
                status = self._read_inner(self.sharding, chunk_key, number, offset, counts, self._all_strides, out)
            if status == ABSENT:
                out[...] = self.chain.spec.fill
            elif status != DONE:
                return None
            return out if shape else out[()]
        if not self._several:
            return None
        counts, shape, names, dimensions = location
        if current_token.get() is not None and prod(shape) * dtype.itemsize > KERNEL_BYTES:
            return None  # `read_slices` can stop between batches
        out = np.empty(shape, dtype)
        block = out.reshape(counts)
        results = bytearray((TO_DO,)) * prod(map(len, names))
        self._read_files(names, dimensions, self._all_strides, block, results)
        if UNUSUAL in results:
            self._several = False  # from now on read several chunks by their selection, or each would be read twice
            return None
        if ABSENT in results:
            edges = [list(accumulate(numbers[2::PIECE_NUMBERS], initial=0)) for numbers in dimensions]
            self.fill_absent(results, [list(starmap(slice, pairwise(starts))) for starts in edges], block)
        return out

    # -- route A: one chunk or inner chunk

    def read_chunk(self, cell: Cell, block: npt.NDArray[Any]) -> bool:
        """Fill the block with what slices take from the one chunk that they touch; False if a chunk is unusual. For
        several inner chunks of a shard, this is route B."""
        picks, number = cell.inner, 0
        sharding = self.sharding
        if sharding is not None:
            single = only_chunk(picks, inner_axes(sharding, self.layout.clipped(cell.chunk)))
            if single is None:
                return not self._read_shards([cell], self.strides_of(picks), block)
            number, picks = sharding.number(single[0]), single[1]
        offset = 0
        for stride, pick in zip(self.chain.strides, picks, strict=True):
            offset += pick.start * stride  # type: ignore[union-attr]
        key, strides = self.layout.key(cell.names), self.strides_of(picks)
        status: int
        if sharding is None:
            path, flags = self._files.path(key)
            status = kernel().read_one(block, path, flags, 0, -1, self.packed_decoding, strides, offset, block.shape)
        else:
            status = self._read_inner(sharding, key, number, offset, block.shape, strides, block)
        if status == ABSENT:
            block[...] = self.chain.spec.fill
        return status != UNUSUAL

    def _read_inner(
        self,
        sharding: BoundSharding,
        key: str,
        number: int,
        offset: int,
        counts: tuple[int, ...],
        strides: tuple[int, ...],
        out: npt.NDArray[Any],
    ) -> int:
        """Fill `out` from inner chunk `number` of the shard under `key`, and return the status. The elements start at
        `offset` and are `strides` bytes apart."""
        status: int
        snapshot = self.snapshots.open(key)
        if snapshot is None:
            return ABSENT
        try:
            extent = self.layout.index_of(sharding, key, snapshot)[number]
            if extent is None:
                return ABSENT
            if not isinstance(snapshot, FileSnapshot):
                return UNUSUAL
            start, length = extent
            decoding = self.packed_decoding
            status = kernel().read_one(out, snapshot.file, 0, start, length, decoding, strides, offset, counts)
            return status
        except CodecError:
            return UNUSUAL
        finally:
            snapshot.close()

    # -- route B: many chunks; route C: indices along one dimension of many chunks

    def read_slices(
        self, projection: Projection, block: npt.NDArray[Any], skip: Callable[[tuple[Pick, ...]], bool] | None
    ) -> list[Cell] | None:
        """Read the cells of slices, and return the unusual ones; None if there are too many to list. Cells whose picks
        satisfy `skip` are not read and count as unusual."""
        pieces = projection.slice_pieces
        return None if not pieces else self._read_pieces(projection, pieces, None, block, skip)

    def read_gathered(self, projection: Projection, block: npt.NDArray[Any]) -> list[Cell] | None:
        """Read the cells of indices along one dimension and slices along all others, each chunk once, and return the
        unusual ones; None if the selection is another, or has too many cells."""
        gathered = projection.gathered
        return None if gathered is None else self._read_pieces(projection, gathered[1], gathered[0], block, None)

    def _read_pieces(
        self,
        projection: Projection,
        pieces: Pieces,
        axis: int | None,
        block: npt.NDArray[Any],
        skip: Callable[[tuple[Pick, ...]], bool] | None,
    ) -> list[Cell] | None:
        """Read all combinations of pieces. Those of dimension `axis`, if it is not None, have indices."""
        columns = len(projection) // len(pieces[0])
        if columns > _BATCH_CHUNKS:
            return None
        strides = self.strides_of([dimension[0][2] for dimension in pieces])
        if self.sharding is not None:
            return self._read_shards(projection, strides, block, axis)
        unusual: list[Cell] = []
        most, token = _BATCH_CHUNKS, current_token.get()
        if token is not None:
            most = min(most, KERNEL_BYTES // max(1, self.nbytes))
        step = max(1, most // columns)
        for first in range(0, len(pieces[0]), step):
            if token is not None:
                token.check()
            batch = pieces if step >= len(pieces[0]) else [pieces[0][first : first + step], *pieces[1:]]
            status = bytearray((TO_DO,)) * prod(map(len, batch))
            if skip is not None:
                for number, cell in enumerate(product(*batch)):
                    if not all(piece[5] for piece in cell) and skip(tuple([piece[2] for piece in cell])):
                        status[number] = UNUSUAL
            names = [[piece[0] for piece in dimension] for dimension in batch]
            gather = None if axis is None else Gather(axis)
            self._read_files(names, self.dimensions(batch, block, gather), strides, block, status, gather)
            if any(status):
                self.fill_absent(status, [[piece[3] for piece in dimension] for dimension in batch], block)
                cells = zip(status, product(*batch), strict=True)
                unusual += [projection.cell_of(cell) for result, cell in cells if result == UNUSUAL]
        return unusual

    def _read_files(
        self,
        names: Sequence[Sequence[str]],
        dimensions: Dimensions,
        strides: tuple[int, ...],
        block: npt.NDArray[Any],
        status: bytearray,
        gather: Gather | None = None,
    ) -> None:
        """Read chunks that are files of their own: all combinations of `names`."""
        paths, flags = self._files.paths(self.layout.rows(names))
        self.read_groups([(paths, 0, dimensions, None)], flags, strides, block, status, gather)

    def _read_shards(
        self, cells: Iterable[Cell], strides: tuple[int, ...], block: npt.NDArray[Any], axis: int | None = None
    ) -> list[Cell]:
        from omnizarr.engine.read.native.shards import ShardBatches  # lazy import: sharded arrays only

        return ShardBatches(self, strides, block, axis).read(cells)

    # -- route C: single elements of one dimension

    def read_points(self, projection: Projection, block: npt.NDArray[Any]) -> list[Cell] | None:
        """Read the elements that indices or a mask take from an array of one dimension, and return the unusual cells;
        None if the selection is another, or has too many chunks."""
        pieces = projection.point_pieces if self.sharding is None else None
        if not pieces or len(pieces) > _BATCH_CHUNKS:
            return None
        layout = self.layout
        paths, flags = self._files.paths(layout.rows([[piece[0] for piece in pieces]]))
        chunks = [(path, *_elements(piece)) for path, piece in zip(paths, pieces, strict=True)]
        status = bytearray((TO_DO,)) * len(chunks)
        address = block.__array_interface__["data"][0]

        def read(helpers: int) -> None:
            kernel().take(chunks, flags, status, *self.decoding, block.strides[0], address, len(block), 1 + helpers)

        run_native(native_threads(self.chain, len(chunks), block.nbytes) - 1, read)
        unusual: list[Cell] = []
        if any(status):
            for result, cell in zip(status, projection, strict=True):
                if result == ABSENT:
                    block[cell.outer] = layout.fill
                elif result == UNUSUAL:
                    unusual.append(cell)
        return unusual


def _elements(piece: Piece) -> tuple[npt.NDArray[Any] | None, int | npt.NDArray[Any], int]:
    """A piece as `kernel.take` expects it: indices, places and -1; a mask, first place and count; or None, first place
    and count for all elements."""
    pick, place = piece[2], piece[3]
    if isinstance(place, slice):
        if isinstance(pick, slice):  # a mask that is true everywhere
            return None, place.start, place.stop - place.start
        if pick.dtype == bool:
            return np.ascontiguousarray(pick), place.start, place.stop - place.start
        return np.ascontiguousarray(pick, np.int64), place.start, -1
    return np.ascontiguousarray(pick, np.int64), np.ascontiguousarray(place, np.int64), -1
