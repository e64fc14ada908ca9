"""`CopyRegions`: a stage that reads regions of an array and writes them to another one, whole objects at a time."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import Any, ClassVar

import numpy as np

from omnizarr.errors import StoreError
from omnizarr.nodes import Array
from omnizarr.tools.plans.stage import PlanCost, Stage

__all__ = [
    "CopyRegions",
    "chunk_bytes",
    "clipped",
    "copy_region",
    "group_chunks",
    "keep_memory",
    "with_known_keys",
    "without_attributes",
]

_MAPPED_BYTES = 2**20  # below, a system call per region costs more than it saves
_HUGE_PAGE = 2**21  # on x86-64 and most of ARM; other sizes only make the hint to the system useless
_REGION_BYTES = 2**26  # of a task, unless one object is larger: larger tasks repeat more after a crash


def without_attributes(array: Array) -> Array:
    """A handle of the same array for reading and writing elements. Its pickle is small, whatever the attributes."""
    model = replace(array.metadata, attributes={}, extra={})
    return type(array)(array._context._replace(consolidated=None), model, write_empty_chunks=array._write_empty_chunks)


def with_known_keys(array: Array) -> Array:
    """A handle whose model has the chunk keys of the stored chunks, if the document does not tell them."""
    if not array.metadata.guessed_keys:
        return array
    array._guess_keys()
    known = replace(array.metadata, chunk_keys=array._layout.model.chunk_keys, guessed_keys=False)
    return type(array)(array._context, known, write_empty_chunks=array._write_empty_chunks)


def chunk_bytes(array: Array, chunks: Sequence[Any]) -> int:
    """The size of the largest chunk or shard."""
    return prod(clipped(chunks, array.shape)) * array.itemsize


def clipped(chunks: Sequence[Any], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths of the largest chunk or shard: at least 1, and at most those of the array."""
    longest = (chunk if isinstance(chunk, int) else max(chunk, default=1) for chunk in chunks)
    return tuple(max(1, min(chunk, length)) for chunk, length in zip(longest, shape, strict=True))


def group_chunks(array: Array, most: int = _REGION_BYTES) -> tuple[int, ...]:
    """How many neighbouring chunks (shards, if the array is sharded) of each dimension make a task of at most `most`
    bytes; at least one."""
    axes = array.metadata.grid.axes(array.shape)
    lengths = [
        max((axis.bounds(chunk)[1] for chunk in (0, axis.count - 1)), default=1) if axis.count else 1 for axis in axes
    ]
    room = most // max(1, prod(lengths) * array.itemsize)
    groups = [1] * len(axes)
    for dimension in reversed(range(len(axes))):
        groups[dimension] = max(1, min(axes[dimension].count, room))
        room //= groups[dimension]
        if groups[dimension] < axes[dimension].count:
            break
    return tuple(groups)


@dataclass(frozen=True)
class CopyRegions(Stage):
    """Task i copies one group of neighbouring chunks of the target. `groups` is the number of chunks per dimension."""

    name: ClassVar[str] = "copy elements"
    source: Array
    target: Array
    groups: tuple[int, ...]
    verify: bool = False

    @property
    def array(self) -> str:
        return self.target.path

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of tasks along each dimension."""
        axes = self.target.metadata.grid.axes(self.target.shape)
        return tuple(ceil(axis.count / group) for axis, group in zip(axes, self.groups, strict=True))

    @property
    def count(self) -> int:  # type: ignore[override]
        return prod(self.counts)

    @property
    def cost(self) -> PlanCost:
        nbytes = self.target.nbytes
        files = prod(axis.count for axis in self.target.metadata.grid.axes(self.target.shape))
        region = prod(min(size, length) for size, length in zip(self._largest(), self.target.shape, strict=True))
        memory = 2 * region * max(self.target.itemsize, self.source.itemsize)
        return PlanCost(self.source.nbytes, nbytes, 0, files, memory)

    def _largest(self) -> Sequence[int]:
        axes = self.target.metadata.grid.axes(self.target.shape)
        return [
            max((axis.bounds(chunk)[1] for chunk in {0, axis.count - 1}), default=1) * group if axis.count else 1
            for axis, group in zip(axes, self.groups, strict=True)
        ]

    def region(self, index: int) -> tuple[slice, ...]:
        """The elements of a task."""
        axes = self.target.metadata.grid.axes(self.target.shape)
        corner = np.unravel_index(index, self.counts) if self.counts else ()
        region = []
        for axis, group, position in zip(axes, self.groups, corner, strict=True):
            first = int(position) * group
            start = axis.bounds(first)[0]
            last, length = axis.bounds(min(first + group, axis.count) - 1)
            region.append(slice(start, min(last + length, axis.length)))
        return tuple(region)

    def run(self, index: int) -> int:
        return copy_region(self.source, self.target, self.region(index), verify=self.verify)


def copy_region(source: Array, target: Array, region: tuple[slice, ...], *, verify: bool = False) -> int:
    """Copies the elements of a region, and returns their size in bytes."""
    values = source.read(region or ..., out=_mapped(source, region))
    target[region or ...] = values
    if verify and not _equal(target.read(region or ...), values.astype(target.dtype, copy=False)):
        raise StoreError(f"the copy of `{source.name}` differs in {region}", store=repr(target.store))
    return int(values.size) * target.itemsize


def _mapped(source: Array, region: tuple[slice, ...]) -> np.ndarray | None:
    """Memory for a region that the system takes back when it is freed. The allocator keeps some of what it frees, which
    would add up to several regions. None if that does not matter, or if the elements are objects."""
    shape = tuple(each.stop - each.start for each in region)
    nbytes = prod(shape) * source.itemsize
    if source.dtype.hasobject or nbytes < _MAPPED_BYTES or source.dtype.kind == "T":
        return None
    return np.frombuffer(_region_memory.map(nbytes), dtype=source.dtype, count=prod(shape)).reshape(shape)


class _RegionMemory(threading.local):
    """The memory for regions of the current thread."""

    _memory: mmap.mmap | None = None
    keeps: bool = False

    def map(self, nbytes: int) -> mmap.mmap:
        """Memory of at least `nbytes` bytes: that of the last region, if the thread keeps it."""
        if self._memory is not None and len(self._memory) >= nbytes:
            return self._memory
        self._memory = None  # before there is a second one
        memory = _map(nbytes)
        if self.keeps:
            self._memory = memory
        return memory


_region_memory = _RegionMemory()


def keep_memory() -> None:
    """Lets the current thread use the same memory for all its regions, until it ends: the system takes a sixth of the
    time of a plan to clear new memory (measured)."""
    _region_memory.keeps = True


def _map(nbytes: int) -> mmap.mmap:
    """New memory of at least `nbytes` bytes, in huge pages where the system has them: with pages of 4 KiB, the system
    takes as long to provide the memory as the copy takes (measured)."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, nbytes)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # shared memory, the default, has no huge pages
    if nbytes < 2 * _HUGE_PAGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return mmap.mmap(-1, nbytes, flags=flags)
    memory = mmap.mmap(-1, -(-nbytes // _HUGE_PAGE) * _HUGE_PAGE, flags=flags)
    with suppress(OSError):  # a kernel without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _equal(left: np.ndarray, right: np.ndarray) -> bool:
    if left.dtype.kind in "fcmM":
        return bool(np.array_equal(left, right, equal_nan=True))
    return bool(np.array_equal(left, right))
