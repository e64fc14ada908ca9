"""The rectilinear grid: each dimension lists the lengths of its chunks (R67–R72).

Chunk lengths ("edges") are stored as runs of equal ones, as in documents, and all arithmetic works on runs, because a
document of a few bytes can declare more chunks than fit in memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import gcd
from typing import Any, ClassVar, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, describe, is_integer
from omnizarr.errors import ArgumentError, OmnizarrError
from omnizarr.grids.contract import Axis, Grid
from omnizarr.grids.regular import RegularAxis

__all__ = ["Rectilinear", "RectilinearAxis", "Runs", "as_runs"]

Runs: TypeAlias = tuple[tuple[int, int], ...]
"""Pairs (edge, repetitions), from the first chunk of a dimension to the last. Neighbouring edges differ."""

_MOST_SHOWN = 2**20  # chunks of a dimension whose lengths are listed for users
_MOST_SHAPES = 2**8  # representative chunk shapes; a document of many dimensions could produce any number


def as_runs(edges: Iterable[tuple[int, int]]) -> Runs:
    """Pairs (edge, repetitions) with equal neighbours merged."""
    runs: list[tuple[int, int]] = []
    for edge, count in edges:
        if runs and runs[-1][0] == edge:
            count += runs.pop()[1]
        runs.append((edge, count))
    return tuple(runs)


class RectilinearAxis(Axis):
    """Chunks with the edges `runs` along a dimension of `length`. Chunks beyond the end are not counted."""

    __slots__ = ("_arrays", "_edges", "_firsts", "_starts", "count", "length")

    size = None

    def __init__(self, length: int, runs: Runs) -> None:
        self.length = length
        self._edges = [edge for edge, _ in runs]
        self._starts: list[int] = []
        """The index at which each run starts."""
        self._firsts: list[int] = []
        """The first chunk of each run. Python integers, because values beyond the array may exceed 64 bits."""
        start = first = 0
        for edge, count in runs:
            self._starts.append(start)
            self._firsts.append(first)
            start += edge * count
            first += count
        self.count = self.locate(length - 1) + 1 if length else 0
        inside = bisect_right(self._starts, length - 1)
        self._arrays = tuple(np.array(each[:inside], np.intp) for each in (self._starts, self._firsts, self._edges))

    def bounds(self, chunk: int) -> tuple[int, int]:
        run = bisect_right(self._firsts, chunk) - 1
        if run < 0:  # no edge is declared: only a stray key can name a chunk
            return 0, 0
        edge = self._edges[run]
        return self._starts[run] + (chunk - self._firsts[run]) * edge, edge

    def locate(self, index: int) -> int:
        run = bisect_right(self._starts, index) - 1
        return self._firsts[run] + (index - self._starts[run]) // self._edges[run]

    def locate_many(self, indices: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        starts, firsts, edges = self._arrays
        run = np.searchsorted(starts, indices, "right") - 1
        return firsts[run] + (indices - starts[run]) // edges[run]

    def starts(self, chunks: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        starts, firsts, edges = self._arrays
        run = np.searchsorted(firsts, chunks, "right") - 1
        return starts[run] + (chunks - firsts[run]) * edges[run]

    def touched(self, indices: range) -> int:
        total = 0
        while indices and indices.step > 1:  # count run by run, because each run is regular
            run = bisect_right(self._starts, indices[0]) - 1
            end = self._starts[run + 1] if run + 1 < len(self._starts) else self.length
            count = -(-(min(end, indices.stop) - indices.start) // indices.step)
            total += RegularAxis(self.length, self._edges[run]).touched(
                range(indices.start - self._starts[run], indices[count - 1] - self._starts[run] + 1, indices.step)
            )
            indices = indices[count:]
        return total + super().touched(indices)


@dataclass(frozen=True, slots=True)
class Rectilinear(Grid):
    """`{"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [...]}}`"""

    name: ClassVar[str] = "rectilinear"
    dimensions: tuple[int | Runs, ...]
    """For each dimension one length for all chunks, or the runs of all lengths."""

    @property
    def chunks(self) -> tuple[Any, ...]:
        return tuple(
            runs if isinstance(runs, int) else tuple(edge if count == 1 else (edge, count) for edge, count in runs)
            for runs in self.dimensions
        )

    def to_json(self) -> Json:
        return {"name": self.name, "configuration": {"kind": "inline", "chunk_shapes": _as_lists(self.chunks)}}

    def axes(self, shape: Sequence[int]) -> tuple[Axis, ...]:
        return tuple(map(_axis, shape, self.dimensions))

    def chunk_shapes(self, shape: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        edges = [[runs] if isinstance(runs, int) else _representative_edges(runs) for runs in self.dimensions]
        if not all(edges):
            return ()
        most = max(map(len, edges), default=1)
        diagonal = (tuple(axis[min(turn, len(axis) - 1)] for axis in edges) for turn in range(most))
        # Combinations too, because a codec may restrict the product of all lengths, for example to multiples of six.
        return tuple(dict.fromkeys([*diagonal, *islice(product(*edges), _MOST_SHAPES)]))

    def edges(self, shape: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        axes = self.axes(shape)
        if any(axis.count > _MOST_SHOWN for axis in axes):
            raise OmnizarrError(
                f"a dimension has more than {_MOST_SHOWN} chunks, too many to list their lengths",
                hint="`array.metadata.grid.chunks` has them in the short form of the document",
            )
        return tuple(map(_clipped_lengths, axes))

    def fitting(self, shape: Sequence[int]) -> Rectilinear:
        """A dimension that grows beyond its edges gets more chunks of the last length. (A single new edge for the whole
        growth could be one row long for each append, or have a length that no inner chunk divides.)"""
        return Rectilinear(tuple(_extend(runs, length) for runs, length in zip(self.dimensions, shape, strict=True)))

    @classmethod
    def parse(
        cls, configuration: dict[str, Json], shape: Sequence[int] | None, path: str, problems: Problems
    ) -> Rectilinear | None:
        before = len(problems.found)
        where = f"{path}.configuration"
        check_members(configuration, ("kind", "chunk_shapes"), where, problems, rule="R67")
        if configuration.get("kind") != "inline":
            problems.expected(f"{where}.kind", '"inline"', configuration.get("kind"), rule="R67")
        entries, place = configuration.get("chunk_shapes"), f"{where}.chunk_shapes"
        if not isinstance(entries, list):
            problems.expected(place, "a list with the chunk lengths of each dimension", entries, rule="R67")
            return None
        if shape is not None and len(entries) != len(shape):
            problems.add(place, f"has {len(entries)} entries, but `shape` has {len(shape)} dimensions", rule="R25")
            return None
        dimensions = [cls._parse_dimension(item, f"{place}[{axis}]", problems) for axis, item in enumerate(entries)]
        for axis, runs in enumerate(dimensions):
            if shape is not None and runs is not None:
                _check_sum(runs, shape[axis], f"{place}[{axis}]", problems)
        return cls(tuple(runs for runs in dimensions if runs is not None)) if len(problems.found) == before else None

    @staticmethod
    def _parse_dimension(value: Json, place: str, problems: Problems) -> int | Runs | None:
        """One length, or a list of lengths and of pairs [length, repetitions]."""
        if _is_length(value):
            return value
        if not isinstance(value, list):
            problems.expected(place, "an integer from 1 to 2^63-1, or a list of such", value, rule="R68")
            return None
        for index, item in enumerate(value):
            if not _is_length(item) and not (isinstance(item, list) and len(item) == 2 and all(map(_is_length, item))):
                problems.add(  # report one problem only, because a list may be long
                    f"{place}[{index}]",
                    f"expected an integer from 1 to 2^63-1, or a pair [length, count] of such, found {describe(item)}",
                    rule="R68",
                )
                return None
        return as_runs((item[0], item[1]) if isinstance(item, list) else (item, 1) for item in value)


def _check_sum(runs: int | Runs, length: int, place: str, problems: Problems) -> None:
    """Add a problem if the edges do not reach the end of a dimension."""
    total = length if isinstance(runs, int) else _sum(runs)
    if total < length:
        problems.add(place, f"the sum of the edges is {total}, less than the dimension's length {length}", rule="R69")


def _as_lists(chunks: Any) -> Json:
    return [*map(_as_lists, chunks)] if isinstance(chunks, tuple) else chunks


def _is_length(value: Json) -> TypeGuard[int]:
    return is_integer(value) and 1 <= value < 2**63  # indices have 64 bits


def _sum(runs: Runs) -> int:
    return sum(edge * count for edge, count in runs)


def _axis(length: int, runs: int | Runs) -> Axis:
    """The axis of a dimension: a regular one if all chunks inside the array have one length."""
    if isinstance(runs, int):
        return RegularAxis(length, runs)
    if runs and runs[0][0] * runs[0][1] >= length:
        return RegularAxis(length, runs[0][0])
    return RectilinearAxis(length, runs)


def _representative_edges(runs: Runs) -> list[int]:
    """The smallest edge, the largest, and each edge that lowers the greatest common divisor of the edges before it.
    Each of the latter at least halves the divisor, so there are at most 64."""
    edges = dict.fromkeys(edge for edge, _ in runs)
    if not edges:
        return []
    lowering, common = [], 0
    for edge in edges:
        if gcd(common, edge) != common:
            common = gcd(common, edge)
            lowering.append(edge)
    return list(dict.fromkeys([min(edges), max(edges), *lowering]))


def _clipped_lengths(axis: Axis) -> tuple[int, ...]:
    """The lengths of all chunks, clipped to the array."""
    bounds = map(axis.bounds, range(axis.count))
    return tuple(min(size, axis.length - start) for start, size in bounds)


def _extend(runs: int | Runs, length: int) -> int | Runs:
    missing = 0 if isinstance(runs, int) else length - _sum(runs)
    if isinstance(runs, int) or missing <= 0:
        return runs
    if not runs:
        raise ArgumentError("the array cannot grow: its grid declares no chunk length in this dimension")
    edge = runs[-1][0]
    return as_runs([*runs, (edge, -(-missing // edge))])
