"""Route B for shards: the kernel reads inner chunks of many shards at once."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.engine.cancel import KERNEL_BYTES, current_token
from omnizarr.engine.layout import inner_axes
from omnizarr.engine.read.native.kernel_calls import ChunkGroup, Dimensions, Gather, KernelCalls, Pieces
from omnizarr.errors import CodecError, StoreError
from omnizarr.indexing import Cell, Projection
from omnizarr.native import ABSENT, TO_DO, UNUSUAL
from omnizarr.store import Snapshot
from omnizarr.store.local.snapshot import FileSnapshot

__all__ = ["ShardBatches"]

_BATCH_CHUNKS = 2**16  # inner chunks per kernel call
_BATCH_FILES = 64  # shards that are open at once


class ShardBatches:
    """Route B for shards: opens shards and looks up their indexes one by one, and has the kernel read the inner chunks
    of many shards at once."""

    def __init__(self, calls: KernelCalls, strides: tuple[int, ...], block: npt.NDArray[Any], axis: int | None) -> None:
        """Indices select from dimension `axis`, if it is not None, and slices from all others."""
        assert calls.sharding is not None
        self._calls = calls
        self._layout = calls.layout
        self._sharding = calls.sharding
        self._strides = strides
        self._block = block
        self._axis = axis
        self._gather = None if axis is None else Gather(axis)
        self._unusual: list[Cell] = []
        self._open: list[tuple[Cell, FileSnapshot, Pieces]] = []
        """The shards of the current batch, and the pieces to read from each."""
        self._groups: list[ChunkGroup] = []
        self._count = 0
        self._last_plan: tuple[Any, Any, tuple[Pieces, Dimensions]] | None = None

    def read(self, cells: Iterable[Cell]) -> list[Cell]:
        """Read all cells, and return the unusual ones."""
        most, token = _BATCH_CHUNKS, current_token.get()
        if token is not None:
            most = min(most, KERNEL_BYTES // max(1, self._calls.chain.spec.nbytes))
        try:
            for cell in cells:
                if token is not None:
                    token.check()
                self._add(cell)
                if self._count >= most or len(self._open) >= _BATCH_FILES:
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
            for dimension, (pick, stride) in enumerate(zip(cell.outer, self._block.strides, strict=True)):
                if dimension != self._axis:  # the offsets of `_gather` are those in the whole block
                    start += pick.start * stride
        self._open.append((cell, snapshot, pieces))
        self._groups.append((snapshot.file, start, dimensions, np.ascontiguousarray(index.entries, np.uint64)))
        self._count += prod(map(len, pieces))

    def _snapshot(self, key: str) -> Snapshot | None:
        """A snapshot of a shard. If too many files are open, it reads the current batch first, which closes files."""
        try:
            return self._calls.snapshots.open(key)
        except StoreError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._open:
                raise
        self._flush()
        return self._calls.snapshots.open(key)

    def _plan(self, cell: Cell) -> tuple[Pieces, Dimensions] | None:
        """What a cell takes from the inner chunks, in both forms. Neighbouring shards often have the same plan."""
        clipped = self._layout.clipped(cell.chunk)
        if self._axis is not None:
            return self._gather_plan(cell, self._axis, clipped)
        if self._last_plan is not None and self._last_plan[:2] == (cell.inner, clipped):
            return self._last_plan[2]
        pieces = Projection(cell.inner, (), inner_axes(self._sharding, clipped)).slice_pieces
        if pieces is None:
            return None
        plan = pieces, self._calls.dimensions(pieces, self._block)
        self._last_plan = cell.inner, clipped, plan
        return plan

    def _gather_plan(self, cell: Cell, axis: int, clipped: tuple[int, ...]) -> tuple[Pieces, Dimensions] | None:
        gathered = Projection(cell.inner, (), inner_axes(self._sharding, clipped)).gathered
        if gathered is None:
            return None
        pieces, outer = list(gathered[1]), cell.outer[axis]
        places = np.arange(outer.start, outer.stop) if isinstance(outer, slice) else outer
        pieces[axis] = [(*piece[:3], places[piece[3]], *piece[4:]) for piece in pieces[axis]]  # in the whole block
        return pieces, self._calls.dimensions(pieces, self._block, self._gather)

    def _view(self, outer: Any) -> npt.NDArray[Any]:
        """The part of the block for a cell: all of dimension `_axis`, because the pieces have places in all of it."""
        if self._axis is not None:
            outer = (*outer[: self._axis], slice(None), *outer[self._axis + 1 :])
        part: npt.NDArray[Any] = self._block[outer]
        return part

    def _flush(self) -> None:
        if not self._open:
            return
        status = bytearray((TO_DO,)) * self._count
        self._calls.read_groups(self._groups, 0, self._strides, self._block, status, self._gather)
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
                self._calls.fill_absent(results, places, self._view(cell.outer))
        self._groups.clear()
        self._count = 0
        self._gather = None if self._axis is None else Gather(self._axis)
