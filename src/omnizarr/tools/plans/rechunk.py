"""`rechunk`: a plan that copies arrays into other chunks, in one pass or several, within a limit of memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, ClassVar

import numpy as np

from omnizarr.api.create_nodes import create_array
from omnizarr.api.location import StoreLike
from omnizarr.display.texts import human_bytes
from omnizarr.engine.chunk_cache import as_byte_count
from omnizarr.errors import ArgumentError
from omnizarr.grids import Rectilinear, Regular
from omnizarr.grids.rectilinear import as_runs
from omnizarr.nodes import Array, Group
from omnizarr.store import MemoryStore
from omnizarr.tools.plans.copy import plan_copy
from omnizarr.tools.plans.journal import PlanJournal
from omnizarr.tools.plans.passes import Lengths, count_common, find_passes, intermediate_edges
from omnizarr.tools.plans.plan import Plan
from omnizarr.tools.plans.regions import (
    CopyRegions,
    chunk_bytes,
    clipped,
    copy_region,
    group_chunks,
    without_attributes,
)
from omnizarr.tools.plans.stage import PlanCost, Stage

__all__ = ["RechunkRegions", "rechunk"]

_MAX_MEMORY = 10**9
_COPIES = 3.0  # of a region, while its objects are encoded and written, with what the allocator keeps (measured)
_DECODED = 3.2  # times the size of a chunk: decoded and as it is stored, in two threads at least
_MOST_IN_DIRECTORY = 100_000  # chunks of an intermediate array; a directory for each takes longer (measured)
_FIXED_BYTES = 2**25  # for threads, tables and what codecs keep (measured); less if the limit is below 64 MiB


def rechunk(
    source: Array | Group | str,
    target: StoreLike,
    *,
    chunks: Any = None,
    shards: Any = None,
    max_memory: int | str = _MAX_MEMORY,
    force: bool = False,
    resume: bool = False,
    verify: bool = False,
    storage_options: dict[str, Any] | None = None,
    **options: Any,
) -> Plan:
    """A plan that copies an array, or all arrays of a group, into other chunks.

    Elements are written to the target in one pass, if memory is large enough that chunks of the source are read about
    once; otherwise they pass through temporary arrays, which lie in the store of the target and are erased in the end.

    Args:
        source: a handle, or a location.
        target: where the copy goes: a path, a URL or a store.
        chunks: the new chunk lengths, of all dimensions, or as a dict by dimension name or number; -1 is the whole
            dimension. Arrays of a group that have none of these dimensions are copied as they are.
        shards: the new shard lengths, in the same form; None stores each chunk in an object of its own, and `"keep"`
            keeps the shards.
        max_memory: bytes that the elements in memory may take, per process, or text such as `"4 GB"`.
        force: replace a node at the target.
        resume: continue an earlier run.
        verify: read each region back after it is written, and compare.
        storage_options: options of the target's store.
        **options: other options of the new arrays, as for `create_array`.
    """
    max_memory = as_byte_count(max_memory, "max_memory")
    changes: dict[str, Any] = dict(options)
    changes |= {} if chunks is None else {"chunks": chunks}
    changes |= {} if shards == "keep" else {"shards": shards}
    if chunks is None and shards in (None, "keep"):
        raise ArgumentError("`chunks`: expected the new chunk lengths, found none", argument="chunks")
    if isinstance(chunks, dict) and shards is None:
        changes["shards"] = {}  # applies to the arrays that have one of the dimensions
    plan = plan_copy(
        "rechunk",
        source,
        target,
        partial(_passes, max_memory),
        force=force,
        resume=resume,
        verify=verify,
        storage_options=storage_options,
        options=changes,
        max_memory=max_memory,
    )
    return replace(plan, max_memory=max_memory - _fixed_bytes(max_memory))  # what all threads may hold together


def _fixed_bytes(max_memory: int) -> int:
    """What a process holds besides the elements of its tasks."""
    return min(_FIXED_BYTES, max_memory // 2)


def region_bytes(source: Array, target: Array, max_memory: int) -> int:
    """The size of the largest region that a task may hold. Raises ArgumentError if the objects are too large."""
    chunk = chunk_bytes(source, source.chunks)
    written = chunk_bytes(target, target.shards or target.chunks)
    fixed = _fixed_bytes(max_memory) + int(_DECODED * chunk)
    least = int(_DECODED * chunk + _COPIES * written) * 2
    room = int((max_memory - fixed) / _COPIES)
    if room < written or room <= 0:
        raise ArgumentError(
            f"`max_memory`: array `{source.name}` needs at least {human_bytes(least)} for a chunk of "
            f"{human_bytes(chunk)} and a new object of {human_bytes(written)}, found {human_bytes(max_memory)}",
            argument="max_memory",
            hint="allow more memory, or choose smaller chunks or shards",
        )
    return room


def _passes(max_memory: int, source: Array, target: Array, journal: PlanJournal, verify: bool) -> list[Stage]:
    """The stages of one array."""
    most = region_bytes(source, target, max_memory)
    objects = target.shards or target.chunks
    if not source.shape or not all(isinstance(length, int) for length in objects):
        return [CopyRegions(source, target, group_chunks(target, most), verify)]
    itemsize = max(source.itemsize, target.itemsize)
    whole = clipped(objects, source.shape)
    passes = find_passes(source.shape, itemsize, clipped(source.chunks, source.shape), whole, most)
    stages: list[Stage] = []
    before = source
    for number, (lengths, following) in enumerate(zip(passes.regions, (*passes.regions[1:], None), strict=True)):
        after = target if following is None else _intermediate(source, target, journal, number, lengths, following)
        stages.append(RechunkRegions(before, after, lengths, verify, following is not None, number > 0, target.path))
        before = after
    return stages


def _intermediate(
    source: Array, target: Array, journal: PlanJournal, number: int, lengths: Lengths, following: Lengths
) -> Array:
    """The handle of an intermediate array, which lies beside the journal. It needs no documents: tasks hold handles."""
    if journal.store is None:
        raise ArgumentError(
            "the target cannot hold the intermediate arrays of this plan",
            argument="target",
            hint="allow more memory, or rechunk into a directory and copy that",
        )
    edges = [intermediate_edges(*each) for each in zip(lengths, following, source.shape, strict=True)]
    regular = all(len(set(each[:-1])) <= 1 and each[-1] <= each[0] for each in edges)
    array = create_array(
        MemoryStore(),
        shape=source.shape,
        dtype=source.dtype,
        chunks=Regular(tuple(each[0] for each in edges))
        if regular
        else Rectilinear(tuple(as_runs((edge, 1) for edge in each) for each in edges)),
        fill_value=source.fill_value,
        compressors=None,  # read once, soon
        chunk_key_encoding="." if prod(map(len, edges)) <= _MOST_IN_DIRECTORY else "/",
        zarr_format=3,
    )
    path = f"{journal.prefix}temporary/{target.path or 'root'}/{number}"
    return without_attributes(type(array)(array._context._replace(store=journal.store, path=path), array.metadata))


@dataclass(frozen=True)
class RechunkRegions(Stage):
    """Task i copies region i of the array, divided into regions of equal lengths."""

    name: ClassVar[str] = "rechunk"
    source: Array
    target: Array
    lengths: Lengths
    verify: bool = False
    temporary: bool = False
    """Whether the target is an intermediate array."""
    from_temporary: bool = False
    """Whether the source is one. Its chunks lie in the regions and are not compressed."""
    path: str = ""
    """The path of the array that the last pass writes."""

    @property
    def array(self) -> str:
        return self.path

    @property
    def counts(self) -> Lengths:
        """The number of regions along each dimension."""
        return tuple(-(-size // length) for size, length in zip(self.target.shape, self.lengths, strict=True))

    @property
    def count(self) -> int:  # type: ignore[override]
        return prod(self.counts)

    @property
    def cost(self) -> PlanCost:
        chunks = clipped(self.source.chunks, self.source.shape)
        reads = prod(map(count_common, chunks, self.lengths, self.source.shape))
        read = max(self.source.nbytes, reads * prod(chunks) * self.source.itemsize)
        nbytes = self.target.nbytes
        files = prod(axis.count for axis in self.target.metadata.grid.axes(self.target.shape))
        itemsize = max(self.target.itemsize, self.source.itemsize)
        memory = int(_COPIES * prod(self.lengths) * itemsize)
        if not self.from_temporary:
            memory += int(_DECODED * chunk_bytes(self.source, self.source.chunks))
        return PlanCost(read, nbytes, nbytes * self.temporary, 0 if self.temporary else files, memory)

    def region(self, index: int) -> tuple[slice, ...]:
        """The elements of a task."""
        corner = np.unravel_index(index, self.counts)
        return tuple(
            slice(int(position) * length, min((int(position) + 1) * length, size))
            for position, length, size in zip(corner, self.lengths, self.target.shape, strict=True)
        )

    def run(self, index: int) -> int:
        return copy_region(self.source, self.target, self.region(index), verify=self.verify)
