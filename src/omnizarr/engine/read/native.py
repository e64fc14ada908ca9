"""Files by the compiled loop over chunks: what slices take from chunks that are uncompressed or in blosc, zstd or gzip,
and from inner chunks of shards that are so; single elements of one dimension; and whole chunks on their way to a store.

The loop does what is usual. What it leaves, because it is damaged or rare, is read once more by Python, which finds out
what is the matter; so both always agree.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.config import config
from omnizarr.dtypes.record_padding import has_padding
from omnizarr.engine.buffers import most_workers
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.pool import helped
from omnizarr.engine.read.partial import decodes_parts, part_of
from omnizarr.engine.read.shards import inner_axes
from omnizarr.errors import CodecError, StoreError
from omnizarr.indexing import Cell, Pick, Piece, Projection, only_chunk
from omnizarr.native import ABSENT, TO_DO, UNUSUAL, codec, kernel
from omnizarr.store import Buffer, Store
from omnizarr.store.local.snapshot import FileSnapshot
from omnizarr.store.snapshot import Snapshot

__all__ = ["Loop", "read_cells", "read_one", "read_shard", "usable", "write_encoded", "write_row"]

_MOST_CHUNKS = 2**16  # that are planned together
_MOST_FILES = 64  # shards that are open together
_WORTH = 100  # microseconds of work for which another thread is woken, which takes a fifth of that
_EACH = 5  # microseconds that a chunk costs beside its decoding
_SMALL_FRAME = 2**18  # bytes; up to there the Zstandard that Python encodes with, a newer one, is a sixth faster

_Pieces: TypeAlias = Sequence[Sequence[Piece]]
_Group: TypeAlias = tuple[list[str] | int, int, tuple[list[int], ...], Any]


def usable(layout: Layout, chain: Chain | None, block: npt.NDArray[Any]) -> int | None:
    """The number by which the loop knows how chunks, or inner chunks, are decoded; None if it cannot read them."""
    store = layout.store
    if chain is None or chain.native is None or not (store.files and store.holds) or layout.uniform is None:
        return None
    return codec(chain.native) if config.native and block.dtype == layout.dtype else None


class Loop:
    """What the loop has to know of chunks and block, and its calls."""

    def __init__(
        self, chain: Chain, number: int, stepped: tuple[int, ...], block: npt.NDArray[Any], grid: Sequence[int]
    ) -> None:
        """`stepped` says how far apart the elements are that are taken from a chunk, in bytes; `grid`, how many chunks
        there are along each dimension of what they are numbered in."""
        self.chain = chain
        self._number = number
        self._strides = chain.strides
        self._stepped = stepped
        self._block = block
        self._grid = grid

    def dimensions(self, pieces: _Pieces) -> tuple[list[int], ...]:
        """Pieces in the form that the loop takes."""
        found = []
        share = 1
        for dimension in range(len(pieces) - 1, -1, -1):
            here, there = self._strides[dimension], self._block.strides[dimension]
            numbers: list[int] = []
            for _, index, inner, outer, _, _ in pieces[dimension]:
                start = outer.start  # type: ignore[union-attr]
                numbers += (inner.start * here, start * there, outer.stop - start, index * share)  # type: ignore[union-attr]
            found.append(numbers)
            share *= self._grid[dimension]
        return tuple(found[::-1])

    def read(self, groups: list[_Group], flags: int, status: bytearray) -> None:
        """Reads what is to be done of all groups, and says what became of it."""
        chain, block = self.chain, self._block
        size = chain.spec.nbytes
        reach = [(length - 1) * stride for length, stride in zip(block.shape, block.strides, strict=True)]
        behind = [far for far in reach if far < 0]

        def run(helpers: int) -> None:
            kernel().read(
                groups,
                flags,
                status,
                self._number,
                size,
                chain.encoded.limit,
                block.itemsize,
                self._stepped,
                block.strides,
                block.__array_interface__["data"][0],
                sum(behind),
                sum(reach) - sum(behind) + block.itemsize,
                1 + helpers,
            )

        helped(_threads(chain, len(status), block) - 1, run)


def _threads(chain: Chain, count: int, block: npt.NDArray[Any]) -> int:
    """How many threads are worth their start, for so many chunks."""
    share = 1.0 if chain.compressed else min(1.0, block.nbytes / (count * chain.spec.nbytes))
    work = count * (_EACH + chain.microseconds * share)
    threads: int = min(1 + int(work / _WORTH), config.workers, count)
    return threads if threads < 2 else min(threads, most_workers(chain, block.nbytes))


def _stepped(chain: Chain, steps: Iterable[int]) -> tuple[int, ...]:
    """How far apart elements are that are taken from a chunk, in bytes: with a longer step than the chunk only one is,
    and nobody else sets a limit to what users write as a step."""
    return tuple(
        [
            stride * min(step, length)
            for stride, step, length in zip(chain.strides, steps, chain.spec.shape, strict=True)
        ]
    )


def read_cells(
    layout: Layout, chain: Chain, number: int, projection: Projection, block: npt.NDArray[Any]
) -> list[Cell] | None:
    """Reads all cells, and gives those that are left; None if they are not in the form that the loop takes."""
    assert layout.uniform is not None
    try:
        layout.check_size(layout.uniform)
    except CodecError:
        return None  # there the chunk is named
    pieces = projection.slice_pieces
    if pieces is None and layout.sharding is None:
        return _take_cells(layout, chain, number, projection, block)
    if not pieces or len(projection) // len(pieces[0]) > _MOST_CHUNKS:
        return None
    stepped = _stepped(chain, [some[0][2].step for some in pieces])  # type: ignore[union-attr]
    sharding = None if layout.sharding is None else sharding_of(layout.uniform)
    if sharding is not None:
        return _Shards(layout, sharding, Loop(chain, number, stepped, block, sharding.grid), block).read(projection)
    loop = Loop(chain, number, stepped, block, (1,) * len(pieces))
    left: list[Cell] = []
    together = max(1, _MOST_CHUNKS * len(pieces[0]) // len(projection))
    for first in range(0, len(pieces[0]), together):
        some = pieces if together >= len(pieces[0]) else [pieces[0][first : first + together], *pieces[1:]]
        left += _read_chunks(layout, loop, projection, some, block)
    return left


def _read_chunks(
    layout: Layout, loop: Loop, projection: Projection, pieces: _Pieces, block: npt.NDArray[Any]
) -> list[Cell]:
    status = bytearray((TO_DO,)) * prod(map(len, pieces))
    chain = loop.chain
    if decodes_parts(chain):  # of large chunks no more is decoded than is wanted
        for at, cell in enumerate(product(*pieces)):
            if not all(piece[5] for piece in cell):
                picks = tuple([piece[2] for piece in cell])
                if part_of(chain, layout.store, picks) is not None:
                    status[at] = UNUSUAL
    paths, flags = layout.store.paths(layout.rows([[piece[0] for piece in some] for some in pieces]))
    loop.read([(paths, 0, loop.dimensions(pieces), None)], flags, status)
    left: list[Cell] = []
    if any(status):
        for became, some in zip(status, product(*pieces), strict=True):
            if became == ABSENT:
                block[projection.cell_of(some).outer] = layout.fill
            elif became:
                left.append(projection.cell_of(some))
    return left


def _take_cells(
    layout: Layout, chain: Chain, number: int, projection: Projection, block: npt.NDArray[Any]
) -> list[Cell] | None:
    """The same for single elements of an array of one dimension."""
    pieces = projection.point_pieces
    if not pieces or len(pieces) > _MOST_CHUNKS:
        return None
    paths, flags = layout.store.paths(layout.rows([[piece[0] for piece in pieces]]))
    chunks = [(path, *_elements(piece)) for path, piece in zip(paths, pieces, strict=True)]
    status = bytearray((TO_DO,)) * len(chunks)

    def run(helpers: int) -> None:
        kernel().take(
            chunks,
            flags,
            status,
            number,
            chain.spec.nbytes,
            chain.encoded.limit,
            block.itemsize,
            block.strides[0],
            block.__array_interface__["data"][0],
            len(block),
            1 + helpers,
        )

    helped(_threads(chain, len(chunks), block) - 1, run)
    left: list[Cell] = []
    if any(status):
        for became, cell in zip(status, projection, strict=True):
            if became == ABSENT:
                block[cell.outer] = layout.fill
            elif became:
                left.append(cell)
    return left


def _elements(piece: Piece) -> tuple[npt.NDArray[Any] | None, int | npt.NDArray[Any], int]:
    """What is taken from a chunk, and where it goes, in the form that the loop takes."""
    pick, place = piece[2], piece[3]
    if isinstance(place, slice):
        if isinstance(pick, slice):  # a mask that takes all
            return None, place.start, place.stop - place.start
        if pick.dtype == bool:
            return np.ascontiguousarray(pick), place.start, place.stop - place.start
        return np.ascontiguousarray(pick, np.int64), place.start, -1
    return np.ascontiguousarray(pick, np.int64), np.ascontiguousarray(place, np.int64), -1


class _Shards:
    """The reading of some shards: their indexes are looked at one after the other, their inner chunks read together."""

    def __init__(self, layout: Layout, sharding: BoundSharding, loop: Loop, block: npt.NDArray[Any]) -> None:
        self._layout = layout
        self._sharding = sharding
        self._loop = loop
        self._block = block
        self._left: list[Cell] = []
        self._open: list[tuple[Cell, FileSnapshot, _Pieces]] = []
        """The shards that are waiting to be read, and what is taken of their inner chunks."""
        self._groups: list[_Group] = []
        self._count = 0
        self._known: tuple[Any, Any, tuple[_Pieces, tuple[list[int], ...]]] | None = None

    def read(self, cells: Iterable[Cell]) -> list[Cell]:
        """Reads all cells, and gives those that are left."""
        try:
            for cell in cells:
                self._add(cell)
                if self._count >= _MOST_CHUNKS or len(self._open) >= _MOST_FILES:
                    self._flush()
            self._flush()
        finally:
            for _, held, _ in self._open:
                held.close()
        return self._left

    def _add(self, cell: Cell) -> None:
        layout = self._layout
        key = layout.key(cell.names)
        held = self._held(key)
        if held is None:
            self._block[cell.outer] = layout.fill
            return
        index = planned = None
        try:
            planned = self._planned(cell) if isinstance(held, FileSnapshot) else None
            index = None if planned is None else layout.index_of(self._sharding, key, held)
        except CodecError:
            pass  # there it is told which one
        except BaseException:
            held.close()
            raise
        if planned is None or index is None or not isinstance(held, FileSnapshot):
            held.close()
            self._left.append(cell)
            return
        pieces, dimensions = planned
        start = 0
        if cell.outer is not ...:  # all of the block
            for pick, stride in zip(cell.outer, self._block.strides, strict=True):
                start += pick.start * stride
        self._open.append((cell, held, pieces))
        self._groups.append((held.file, start, dimensions, np.ascontiguousarray(index.entries, np.uint64)))
        self._count += prod(map(len, pieces))

    def _held(self, key: str) -> Snapshot | None:
        """A shard, opened; if there are too many files open, once those that wait here have been read."""
        try:
            return self._layout.store.hold(key)
        except StoreError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._open:
                raise
        self._flush()
        return self._layout.store.hold(key)

    def _planned(self, cell: Cell) -> tuple[_Pieces, tuple[list[int], ...]] | None:
        """What a cell takes of the inner chunks, in both forms."""
        clipped = self._layout.clipped(cell.chunk)
        if self._known is not None and self._known[:2] == (cell.inner, clipped):
            return self._known[2]
        pieces = Projection(cell.inner, (), inner_axes(self._sharding, clipped)).slice_pieces
        if pieces is None:
            return None
        planned = pieces, self._loop.dimensions(pieces)
        self._known = cell.inner, clipped, planned
        return planned

    def _flush(self) -> None:
        if not self._open:
            return
        status = bytearray((TO_DO,)) * self._count
        self._loop.read(self._groups, 0, status)
        first = 0
        while self._open:
            cell, held, pieces = self._open.pop(0)
            held.close()
            count = prod(map(len, pieces))
            mine = status[first : first + count]
            first += count
            if UNUSUAL in mine:
                self._left.append(cell)
            elif ABSENT in mine:
                target = self._block[cell.outer]
                for became, inside in zip(mine, product(*pieces), strict=True):
                    if became == ABSENT:
                        target[tuple(piece[3] for piece in inside)] = self._loop.chain.spec.fill
        self._groups.clear()
        self._count = 0


def read_shard(
    layout: Layout, sharding: BoundSharding, number: int, key: str, cell: Cell, block: npt.NDArray[Any]
) -> bool:
    """Reads what slices take from a single shard; False if that is left to Python."""
    axes = inner_axes(sharding, layout.clipped(cell.chunk))
    single = only_chunk(cell.inner, axes)
    if single is None:
        steps = [pick.step for pick in cell.inner]  # type: ignore[union-attr]
        loop = Loop(sharding.inner, number, _stepped(sharding.inner, steps), block, sharding.grid)
        return not _Shards(layout, sharding, loop, block).read([cell])
    held = layout.store.hold(key)
    if held is None:
        block[...] = layout.fill
        return True
    try:
        if not isinstance(held, FileSnapshot):
            return False
        place = layout.index_of(sharding, key, held)[sharding.number(single[0])]
        if place is None:
            block[...] = sharding.inner.spec.fill
            return True
        return read_one(held.file, 0, place, sharding.inner, number, single[1], block)
    except CodecError:
        return False  # there it is told what is wrong
    finally:
        held.close()


def read_one(
    file: str | int,
    flags: int,
    place: tuple[int, int],
    chain: Chain,
    number: int,
    picks: tuple[Pick, ...],
    block: npt.NDArray[Any],
) -> bool:
    """Reads what slices take from a single chunk: a file of its own, or what is at a place in one that is open. False
    if that is left to Python."""
    offset = 0
    steps: list[int] = []
    for stride, pick in zip(chain.strides, picks, strict=True):
        offset += pick.start * stride  # type: ignore[union-attr]
        steps.append(pick.step)  # type: ignore[union-attr]
    status = kernel().read_one(
        file,
        flags,
        *place,
        number,
        chain.spec.nbytes,
        chain.encoded.limit,
        block.itemsize,
        offset,
        block.shape,
        _stepped(chain, steps),
        block.strides,
        block.__array_interface__["data"][0],
    )
    if status == ABSENT:
        block[...] = chain.spec.fill
    return bool(status != UNUSUAL)


def write_row(layout: Layout, chain: Chain, keys: list[str], row: npt.NDArray[Any], keep_empty: bool) -> bytes | None:
    """Encodes and stores chunks that lie side by side in `row`, whole ones, and says what became of each: 0 if it is
    stored, 1 if it is empty, and was not, 2 if it is left to Python. None if that has to do all of it."""
    number = usable(layout, chain, row)
    if number is None or has_padding(layout.dtype) or (chain.native == "zstd" and chain.spec.nbytes <= _SMALL_FRAME):
        return None
    shape, strides = chain.spec.shape, row.strides
    along = shape[-1] * strides[-1] if shape else 0
    offsets = [place * along for place in range(len(keys))]
    address = row.__array_interface__["data"][0]
    fill = None if keep_empty else chain.spec.fill.tobytes()

    def write(paths: list[str]) -> bytes:
        found: bytes = kernel().write(
            paths, address, offsets, shape, strides, row.itemsize, fill, number, chain.native_options
        )
        return found

    return layout.store.set_files(keys, write)


def write_encoded(store: Store, keys: list[str], values: list[Buffer]) -> bool:
    """Stores values that are encoded already, as files written by the loop; False if that is not for this store."""
    if not store.takes_files or not config.native or kernel() is None:
        return False
    became = store.set_files(keys, lambda paths: kernel().write_files(paths, values))
    if became is None:
        return False
    for key, value, how in zip(keys, values, became, strict=True):
        if how:
            store.set(key, value)  # which says what is wrong
    return True
