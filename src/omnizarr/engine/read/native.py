"""Routes A, B and C: the kernel reads chunks in local files, uncompressed or in blosc, zstd or gzip, and inner
chunks of shards that are encoded so.

The kernel handles the common cases only. It reports each chunk as DONE, ABSENT or UNUSUAL; an UNUSUAL chunk, which is
damaged or in a form that the kernel does not handle, is read again by the Python routes, which report what is wrong. So
both always give the same result.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise, product, starmap
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.config import config
from omnizarr.engine.layout import Layout, inner_axes
from omnizarr.engine.pool import run_native
from omnizarr.engine.schedule import native_threads
from omnizarr.errors import CodecError, StoreError
from omnizarr.indexing import Cell, Pick, Piece, Projection, only_chunk
from omnizarr.native import (
    ABSENT,
    AXIS_NUMBERS,
    DECODING_NUMBERS,
    DONE,
    MAX_DIMENSIONS,
    PIECE_NUMBERS,
    TO_DO,
    UNUSUAL,
    kernel,
)
from omnizarr.store import Snapshot
from omnizarr.store.local.snapshot import FileSnapshot

__all__ = ["NativeReader"]

_BATCH_CHUNKS = 2**16  # chunks per kernel call
_BATCH_FILES = 64  # shards that are open at once
_KEY_CHUNKS = 256  # chunks up to which `read_key` is faster than planning a selection

_Pieces: TypeAlias = Sequence[Sequence[Piece]]
_Dimensions: TypeAlias = tuple[list[int], ...]
"""The pieces of each dimension as the kernel takes them: four integers per piece."""
_Group: TypeAlias = tuple[list[str] | int, int, _Dimensions, Any]
"""Chunks for the kernel: paths, or an open file with the positions of its inner chunks."""


class NativeReader:
    """Reads one array. Made once per `Layout`."""

    def __init__(
        self, layout: Layout, chain: Chain, sharding: BoundSharding | None, codec: int, *, by_key: bool
    ) -> None:
        """`codec` is the kernel's number for the codec of the chunks, or of the inner chunks of shards. Without
        `by_key`, `read_key` reads nothing."""
        self._layout = layout
        self._sharding = sharding
        self._chain = inner = chain if sharding is None else sharding.inner
        assert layout.local_files is not None
        assert layout.snapshots is not None
        self._files = layout.local_files
        self.snapshots = layout.snapshots
        self._all_strides = inner.strides
        self._dtype = layout.dtype
        self._grid = (1,) * len(layout.axes) if sharding is None else sharding.grid
        self.nbytes = max(chain.spec.nbytes, 0 if sharding is None else sharding.index_size)
        """The largest allocation for a chunk or index, which `max_chunk_bytes` limits (see `Layout.check_size`)."""
        self._decoding = (codec, inner.spec.nbytes, inner.encoded.limit, layout.dtype.itemsize)
        self._packed_decoding = struct.pack(f"={DECODING_NUMBERS}q", *self._decoding)
        self._axes = self._packed_axes(chain) if by_key else None
        # A shard with one inner chunk has the shape of a chunk, so that `locate` would take its file for a chunk.
        self._several = sharding is None

    def _packed_axes(self, chain: Chain) -> bytes | None:
        """The dimensions of the array as `kernel.locate` takes them; None if it cannot spell the keys or the result."""
        layout, rank = self._layout, len(self._layout.axes)
        if layout.separator is None or layout.dtype.kind not in "biufc" or rank > MAX_DIMENSIONS:
            return None
        self._separator = layout.separator
        self._prefix = layout.key(("0",) * rank).removesuffix(layout.separator.join(["0"] * rank))
        shares = [1]
        for count in reversed(self._grid[1:]):
            shares.append(shares[-1] * count)
        return b"".join(
            map(
                struct.Struct(f"={AXIS_NUMBERS}q").pack,
                [axis.length for axis in layout.axes],
                chain.spec.shape,
                self._chain.spec.shape,
                self._chain.strides,
                reversed(shares),  # has one item even if there are no dimensions
            )
        )

    # -- from a key

    def read_key(self, key: tuple[Any, ...]) -> Any:
        """`array[key]` for integers and slices with step 1, by route A or B, without a selection or projection; None if
        the key or a chunk is unusual."""
        if self._axes is None:
            return None
        dtype = self._dtype
        location = kernel().locate(key, self._axes, dtype.itemsize, self._separator, _KEY_CHUNKS)
        settings = config.current
        if location is None or not settings.native or self.nbytes > settings.max_chunk_bytes:
            return None
        if len(location) == 5:
            counts, shape, name, offset, number = location
            out = np.empty(shape, dtype)
            status = self._read_one(self._prefix + name, number, offset, counts, self._all_strides, out)
            if status == ABSENT:
                out[...] = self._chain.spec.fill
            elif status != DONE:
                return None
            return out if shape else out[()]
        if not self._several:
            return None
        counts, shape, names, dimensions = location
        out = np.empty(shape, dtype)
        block = out.reshape(counts)
        results = bytearray((TO_DO,)) * prod(map(len, names))
        self._read_files(names, dimensions, self._all_strides, block, results)
        if UNUSUAL in results:
            self._several = False  # from now on read several chunks by their selection, or each would be read twice
            return None
        if ABSENT in results:
            edges = [list(accumulate(numbers[2::PIECE_NUMBERS], initial=0)) for numbers in dimensions]
            self._fill_absent(results, [list(starmap(slice, pairwise(starts))) for starts in edges], block)
        return out

    # -- route A: one chunk or inner chunk

    def read_chunk(self, cell: Cell, block: npt.NDArray[Any]) -> bool:
        """Fill the block with what slices take from the one chunk that they touch; False if a chunk is unusual. For
        several inner chunks of a shard, this is route B."""
        picks, number = cell.inner, 0
        sharding = self._sharding
        if sharding is not None:
            single = only_chunk(picks, inner_axes(sharding, self._layout.clipped(cell.chunk)))
            if single is None:
                return not self._read_shards([cell], self._strides(picks), block)
            number, picks = sharding.number(single[0]), single[1]
        offset = 0
        for stride, pick in zip(self._chain.strides, picks, strict=True):
            offset += pick.start * stride  # type: ignore[union-attr]
        key = self._layout.key(cell.names)
        status = self._read_one(key, number, offset, block.shape, self._strides(picks), block)
        if status == ABSENT:
            block[...] = self._chain.spec.fill
        return status != UNUSUAL

    def _read_one(
        self,
        key: str,
        number: int,
        offset: int,
        counts: tuple[int, ...],
        strides: tuple[int, ...],
        out: npt.NDArray[Any],
    ) -> int:
        """Fill `out` from the chunk under `key`, or from inner chunk `number` of the shard there, and return the
        status. The elements start at `offset` and are `strides` bytes apart."""
        sharding, layout = self._sharding, self._layout
        status: int
        if sharding is None:
            path, flags = self._files.path(key)
            status = kernel().read_one(out, path, flags, 0, -1, self._packed_decoding, strides, offset, counts)
            return status
        snapshot = self.snapshots.open(key)
        if snapshot is None:
            return ABSENT
        try:
            span = layout.index_of(sharding, key, snapshot)[number]
            if span is None:
                return ABSENT
            if not isinstance(snapshot, FileSnapshot):
                return UNUSUAL
            start, length = span
            decoding = self._packed_decoding
            status = kernel().read_one(out, snapshot.file, 0, start, length, decoding, strides, offset, counts)
            return status
        except CodecError:
            return UNUSUAL
        finally:
            snapshot.close()

    # -- route B: many chunks

    def read_slices(
        self, projection: Projection, block: npt.NDArray[Any], skip: Callable[[tuple[Pick, ...]], bool] | None
    ) -> list[Cell] | None:
        """Read the cells of slices, and return the unusual ones; None if there are too many to list. Cells whose picks
        satisfy `skip` are not read and count as unusual."""
        pieces = projection.slice_pieces
        if not pieces:
            return None
        columns = len(projection) // len(pieces[0])
        if columns > _BATCH_CHUNKS:
            return None
        strides = self._strides([dimension[0][2] for dimension in pieces])
        if self._sharding is not None:
            return self._read_shards(projection, strides, block)
        unusual: list[Cell] = []
        step = _BATCH_CHUNKS // columns
        for first in range(0, len(pieces[0]), step):
            batch = pieces if step >= len(pieces[0]) else [pieces[0][first : first + step], *pieces[1:]]
            status = bytearray((TO_DO,)) * prod(map(len, batch))
            if skip is not None:
                for number, cell in enumerate(product(*batch)):
                    if not all(piece[5] for piece in cell) and skip(tuple([piece[2] for piece in cell])):
                        status[number] = UNUSUAL
            names = [[piece[0] for piece in dimension] for dimension in batch]
            self._read_files(names, self._dimensions(batch, block), strides, block, status)
            if any(status):
                self._fill_absent(status, [[piece[3] for piece in dimension] for dimension in batch], block)
                cells = zip(status, product(*batch), strict=True)
                unusual += [projection.cell_of(cell) for result, cell in cells if result == UNUSUAL]
        return unusual

    def _strides(self, picks: Iterable[Pick]) -> tuple[int, ...]:
        """The distance in bytes between the elements that slices take from a chunk. A step longer than the chunk takes
        one element only; it is limited here, because a user's step may be too large for the kernel."""
        chain = self._chain
        return tuple(
            [
                stride * min(pick.step, length)  # type: ignore[union-attr]
                for stride, pick, length in zip(chain.strides, picks, chain.spec.shape, strict=True)
            ]
        )

    def _dimensions(self, pieces: _Pieces, block: npt.NDArray[Any]) -> _Dimensions:
        """Pieces as the kernel takes them: offset in the chunk, offset in the block, elements, and share in the number
        of the inner chunk."""
        dimensions = []
        share = 1
        for dimension in range(len(pieces) - 1, -1, -1):
            inside, outside = self._chain.strides[dimension], block.strides[dimension]
            numbers: list[int] = []
            for _, index, inner, outer, _, _ in pieces[dimension]:
                start = outer.start  # type: ignore[union-attr]
                numbers += (inner.start * inside, start * outside, outer.stop - start, index * share)  # type: ignore[union-attr]
            dimensions.append(numbers)
            share *= self._grid[dimension]
        return tuple(dimensions[::-1])

    def _read_files(
        self,
        names: Sequence[Sequence[str]],
        dimensions: _Dimensions,
        strides: tuple[int, ...],
        block: npt.NDArray[Any],
        status: bytearray,
    ) -> None:
        """Read chunks that are files of their own: all combinations of `names`."""
        paths, flags = self._files.paths(self._layout.rows(names))
        self._read_groups([(paths, 0, dimensions, None)], flags, strides, block, status)

    def _read_groups(
        self, groups: list[_Group], flags: int, strides: tuple[int, ...], block: npt.NDArray[Any], status: bytearray
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
                *self._decoding,
                strides,
                block.strides,
                address,
                low,
                sum(reach) - low + itemsize,
                1 + helpers,
            )

        run_native(native_threads(self._chain, len(status), block.nbytes) - 1, read)

    def _fill_absent(self, status: bytes | bytearray, places: Sequence[Sequence[Any]], block: npt.NDArray[Any]) -> None:
        """Write the fill value where a chunk is ABSENT; `places` has the slices of the block for each dimension."""
        if ABSENT in status:
            for result, place in zip(status, product(*places), strict=True):
                if result == ABSENT:
                    block[place] = self._chain.spec.fill

    def _read_shards(self, cells: Iterable[Cell], strides: tuple[int, ...], block: npt.NDArray[Any]) -> list[Cell]:
        return _ShardBatches(self, strides, block).read(cells)

    # -- route C: single elements of one dimension

    def read_points(self, projection: Projection, block: npt.NDArray[Any]) -> list[Cell] | None:
        """Read the elements that indices or a mask take from an array of one dimension, and return the unusual cells;
        None if the selection is another, or has too many chunks."""
        pieces = projection.point_pieces if self._sharding is None else None
        if not pieces or len(pieces) > _BATCH_CHUNKS:
            return None
        layout = self._layout
        paths, flags = self._files.paths(layout.rows([[piece[0] for piece in pieces]]))
        chunks = [(path, *_elements(piece)) for path, piece in zip(paths, pieces, strict=True)]
        status = bytearray((TO_DO,)) * len(chunks)
        address = block.__array_interface__["data"][0]

        def read(helpers: int) -> None:
            kernel().take(chunks, flags, status, *self._decoding, block.strides[0], address, len(block), 1 + helpers)

        run_native(native_threads(self._chain, len(chunks), block.nbytes) - 1, read)
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


class _ShardBatches:
    """Route B for shards: opens shards and looks up their indexes one by one, and has the kernel read the inner chunks
    of many shards at once."""

    def __init__(self, reader: NativeReader, strides: tuple[int, ...], block: npt.NDArray[Any]) -> None:
        assert reader._sharding is not None
        self._reader = reader
        self._layout = reader._layout
        self._sharding = reader._sharding
        self._strides = strides
        self._block = block
        self._unusual: list[Cell] = []
        self._open: list[tuple[Cell, FileSnapshot, _Pieces]] = []
        """The shards of the current batch, and the pieces to read from each."""
        self._groups: list[_Group] = []
        self._count = 0
        self._last_plan: tuple[Any, Any, tuple[_Pieces, _Dimensions]] | None = None

    def read(self, cells: Iterable[Cell]) -> list[Cell]:
        """Read all cells, and return the unusual ones."""
        try:
            for cell in cells:
                self._add(cell)
                if self._count >= _BATCH_CHUNKS or len(self._open) >= _BATCH_FILES:
                    self._flush()
            self._flush()
        finally:
            for _, snapshot, _ in self._open:
                snapshot.close()
        return self._unusual

    def _add(self, cell: Cell) -> None:
        layout = self._layout
        key = layout.key(cell.names)
        snapshot = self._snapshot(key)
        if snapshot is None:
            self._block[cell.outer] = layout.fill
            return
        index = plan = None
        try:
            plan = self._plan(cell) if isinstance(snapshot, FileSnapshot) else None
            index = None if plan is None else layout.index_of(self._sharding, key, snapshot)
        except CodecError:
            pass  # route F reports it
        except BaseException:
            snapshot.close()
            raise
        if plan is None or index is None or not isinstance(snapshot, FileSnapshot):
            snapshot.close()
            self._unusual.append(cell)
            return
        pieces, dimensions = plan
        start = 0
        if cell.outer is not ...:  # `...` is all of the block
            for pick, stride in zip(cell.outer, self._block.strides, strict=True):
                start += pick.start * stride
        self._open.append((cell, snapshot, pieces))
        self._groups.append((snapshot.file, start, dimensions, np.ascontiguousarray(index.entries, np.uint64)))
        self._count += prod(map(len, pieces))

    def _snapshot(self, key: str) -> Snapshot | None:
        """A snapshot of a shard. If too many files are open, it reads the current batch first, which closes files."""
        try:
            return self._reader.snapshots.open(key)
        except StoreError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._open:
                raise
        self._flush()
        return self._reader.snapshots.open(key)

    def _plan(self, cell: Cell) -> tuple[_Pieces, _Dimensions] | None:
        """What a cell takes from the inner chunks, in both forms. Neighbouring shards often have the same plan."""
        clipped = self._layout.clipped(cell.chunk)
        if self._last_plan is not None and self._last_plan[:2] == (cell.inner, clipped):
            return self._last_plan[2]
        pieces = Projection(cell.inner, (), inner_axes(self._sharding, clipped)).slice_pieces
        if pieces is None:
            return None
        plan = pieces, self._reader._dimensions(pieces, self._block)
        self._last_plan = cell.inner, clipped, plan
        return plan

    def _flush(self) -> None:
        if not self._open:
            return
        status = bytearray((TO_DO,)) * self._count
        self._reader._read_groups(self._groups, 0, self._strides, self._block, status)
        first = 0
        while self._open:
            cell, snapshot, pieces = self._open.pop(0)
            snapshot.close()
            count = prod(map(len, pieces))
            results = status[first : first + count]
            first += count
            if UNUSUAL in results:
                self._unusual.append(cell)
            elif ABSENT in results:
                places = [[piece[3] for piece in dimension] for dimension in pieces]
                self._reader._fill_absent(results, places, self._block[cell.outer])
        self._groups.clear()
        self._count = 0
