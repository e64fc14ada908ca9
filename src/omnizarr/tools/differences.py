"""`diff`: what distinguishes two hierarchies or arrays. Chunks, codecs and the generation do not count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, describe
from omnizarr.dtypes import same_bits
from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array, Group
from omnizarr.nodes.unreadable import UnreadableNode
from omnizarr.tools.checksums import content_attributes
from omnizarr.tools.regions import regions
from omnizarr.tools.results import Progress
from omnizarr.tools.stored_differences import pair_batches, same_encoding

__all__ = ["DataDifference", "Diff", "MetadataDifference", "diff"]

# Bytes of each array that are in memory at once; a block has at least one chunk of both.
_BLOCK = 2**24  # two blocks fit into the cache of the processor: 1.5 times as fast as 64 MiB (measured)
_REMOTE_BLOCK = 2**26  # more requests at once
_MOST_BLOCK = 2**28  # bytes of a block whose sides are common multiples of both chunk shapes


@dataclass(frozen=True, slots=True)
class MetadataDifference:
    """One difference between the metadata of two nodes."""

    path: str
    place: str
    """What differs: `shape`, `attributes.units`, …"""
    first: Any
    second: Any


@dataclass(frozen=True, slots=True)
class DataDifference:
    """The differences between the elements of two arrays."""

    path: str
    count: int
    """The number of elements that differ."""
    size: int
    """The number of elements."""
    index: tuple[int, ...]
    """The first element that differs, in C order of blocks, and its two values."""
    first: Any
    second: Any
    largest: float | None = None
    """The largest absolute difference of numbers."""


@dataclass(frozen=True, slots=True)
class Diff:
    """What distinguishes two nodes."""

    equal: bool
    metadata: tuple[MetadataDifference, ...]
    data: tuple[DataDifference, ...]
    arrays: int
    """The number of arrays whose elements were compared."""
    compared_bytes: int
    """The logical size of the elements that were compared."""
    identical_bytes: int
    """The part of it whose stored bytes are identical, so that they were not decoded."""


@dataclass(frozen=True, slots=True)
class _Tolerance:
    rtol: float
    atol: float
    equal_nan: bool


def diff(
    first: Array | Group,
    second: Array | Group,
    *,
    data_only: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    equal_nan: bool = False,
    progress: Progress | None = None,
) -> Diff:
    """Compares two arrays, or two groups with all nodes below them: first the metadata, then the elements.

    Chunks, codecs, the store and the generation do not count. Elements of equal bits are equal, NaN included.

    Args:
        first, second: the nodes.
        data_only: whether to compare only the elements, and the names, shapes and types that they need.
        rtol, atol: numbers are equal if they differ by at most `atol + rtol * abs(second)`.
        equal_nan: whether NaNs of different bits are equal.
        progress: called with the number of compared bytes and their total.
    """
    if not (rtol >= 0 and atol >= 0):  # NaN, too
        raise ArgumentError("`rtol` and `atol`: expected numbers of at least 0", argument="rtol")
    comparison = _Comparison(_Tolerance(rtol, atol, equal_nan), data_only, progress)
    comparison.nodes(first, second)
    return comparison.result()


class _Comparison:
    def __init__(self, tolerance: _Tolerance, data_only: bool, progress: Progress | None) -> None:
        self._tolerance = tolerance
        self._data_only = data_only
        self._progress = progress
        self._metadata: list[MetadataDifference] = []
        self._data: list[DataDifference] = []
        self._pairs: list[tuple[str, Array, Array]] = []
        self._done = self._total = self._identical = 0

    def result(self) -> Diff:
        self._total = sum(first.nbytes for _, first, _ in self._pairs)
        for path, first, second in self._pairs:
            difference = self._elements(path, first, second)
            if difference is not None:
                self._data.append(difference)
        return Diff(
            equal=not self._metadata and not self._data,
            metadata=tuple(self._metadata),
            data=tuple(self._data),
            arrays=len(self._pairs),
            compared_bytes=self._total,
            identical_bytes=self._identical,
        )

    # -- metadata

    def _differs(self, path: str, place: str, first: Any, second: Any) -> None:
        self._metadata.append(MetadataDifference(path, place, first, second))

    def nodes(self, first: Array | Group, second: Array | Group) -> None:
        if isinstance(first, Array) != isinstance(second, Array):
            self._differs("/", "node", _kind(first), _kind(second))
            return
        below_first, below_second = _members(first), _members(second)
        for path in sorted(below_first.keys() | below_second.keys()):
            a, b = below_first.get(path), below_second.get(path)
            if a is None or b is None or isinstance(a, UnreadableNode) or isinstance(b, UnreadableNode):
                self._differs(path, "node", _kind(a), _kind(b))
            else:
                self._node(path, a, b)

    def _node(self, path: str, first: Array | Group, second: Array | Group) -> None:
        if isinstance(first, Array) != isinstance(second, Array):
            self._differs(path, "node", _kind(first), _kind(second))
            return
        if not self._data_only:
            self._json(path, "attributes", content_attributes(first), content_attributes(second))
        if not isinstance(first, Array) or not isinstance(second, Array):
            return
        comparable = True
        if first.shape != second.shape:
            self._differs(path, "shape", list(first.shape), list(second.shape))
            comparable = False
        if first.dtype != second.dtype:
            self._differs(path, "data_type", str(first.dtype), str(second.dtype))
            numbers = first.dtype.kind in "biufc" and second.dtype.kind in "biufc"
            comparable = comparable and numbers
        if not self._data_only:
            names = first.dimension_names, second.dimension_names
            if names[0] != names[1] and any(name for pair in names for name in pair or ()):
                self._differs(path, "dimension_names", *names)
            fills = first._model.filler, second._model.filler
            if first.dtype == second.dtype and not same_bits(*fills):
                self._differs(path, "fill_value", *(_plain(fill[()]) for fill in fills))
        if comparable:
            self._pairs.append((path, first, second))

    def _json(self, path: str, place: str, first: Json, second: Json) -> None:
        """Compares two JSON values, member by member."""
        if isinstance(first, dict) and isinstance(second, dict):
            for name in sorted(first.keys() | second.keys()):
                if name not in first or name not in second:
                    self._differs(path, f"{place}.{name}", first.get(name), second.get(name))
                else:
                    self._json(path, f"{place}.{name}", first[name], second[name])
        elif describe(first) != describe(second) or (first != second and first == first):
            self._differs(path, place, first, second)

    # -- elements

    def _elements(self, path: str, first: Array, second: Array) -> DataDifference | None:
        differences = _Differences(path, prod(first.shape))
        itemsize = first.dtype.itemsize
        if same_encoding(first, second):
            for batch in pair_batches(first, second):
                self._identical += batch.identical * itemsize
                self._advance(batch.identical * itemsize)
                for region in batch.different:
                    self._block(differences, region, first.read(region), second.read(region))
        else:
            readers = _BlockReader(first), _BlockReader(second)
            for region in _blocks(first, second):
                self._block(differences, region, *(reader.read(region) for reader in readers))
        return differences.result()

    def _advance(self, size: int) -> None:
        self._done += size
        if self._progress is not None:
            self._progress(self._done, self._total)

    def _block(
        self, differences: _Differences, region: tuple[slice, ...], a: npt.NDArray[Any], b: npt.NDArray[Any]
    ) -> None:
        if a.dtype != b.dtype or a.dtype.hasobject or not _same_bytes(a, b):
            different = _different(a, b, self._tolerance)
            if different.any():
                differences.add(region, a, b, different)
        self._advance(a.nbytes)


class _BlockReader:
    """Reads blocks of an array into the same memory, because new memory of the system costs as much as reading it."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self._memory: npt.NDArray[Any] | None = None

    def read(self, region: tuple[slice, ...]) -> npt.NDArray[Any]:
        """The elements of a region, until the next call."""
        shape = tuple(part.stop - part.start for part in region)
        if self._memory is None or self._memory.shape != shape:
            self._memory = self._array.read(region)
        else:
            self._array.read(region, out=self._memory)
        return self._memory


class _Differences:
    """Collects the differing elements of one array."""

    def __init__(self, path: str, size: int) -> None:
        self._path, self._size = path, size
        self._count = 0
        self._index: tuple[int, ...] = ()
        self._values: tuple[Any, Any] = (None, None)
        self._largest: float | None = None

    def add(
        self, region: tuple[slice, ...], a: npt.NDArray[Any], b: npt.NDArray[Any], different: npt.NDArray[np.bool_]
    ) -> None:
        if not self._count:
            inner = np.unravel_index(int(different.argmax()), different.shape)
            self._index = tuple(part.start + int(index) for part, index in zip(region, inner, strict=True))
            self._values = _plain(a[inner]), _plain(b[inner])
        self._count += int(np.count_nonzero(different))
        if a.dtype.kind in "iufc" and b.dtype.kind in "iufc":
            with np.errstate(all="ignore"):
                wide = np.result_type(a.dtype, b.dtype, np.float64)
                distances = np.abs(a[different].astype(wide) - b[different].astype(wide))
            distances = distances[~np.isnan(distances)]
            if distances.size:
                self._largest = max(self._largest or 0.0, float(distances.max()))

    def result(self) -> DataDifference | None:
        if not self._count:
            return None
        return DataDifference(self._path, self._count, self._size, self._index, *self._values, self._largest)


def _members(node: Array | Group) -> dict[str, Array | Group | UnreadableNode]:
    """The node itself under the path `/`, and the nodes below it."""
    members: dict[str, Any] = {"/": node}
    if isinstance(node, Group):
        members |= {f"/{path}": member for path, member in node.members(max_depth=None)}
    return members


def _kind(node: object) -> str:
    if node is None:
        return "missing"
    if isinstance(node, UnreadableNode):
        return f"unreadable: {node.reason}"
    return "array" if isinstance(node, Array) else "group"


def _plain(value: Any) -> Any:
    """A value of Python; of float16 and float32, the number with the fewest digits."""
    dtype = getattr(value, "dtype", np.dtype("O"))
    if not hasattr(value, "item") or dtype.kind in "mM":
        return str(value)
    return float(str(value)) if dtype.kind == "f" and dtype.itemsize < 8 else value.item()


def _same_bytes(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """Whether two arrays have equal bits; in words of eight bytes, which is the fastest comparison of NumPy."""
    flat_a, flat_b = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (a, b))
    words = len(flat_a) // 8 * 8
    return bool(
        (flat_a[:words].view(np.uint64) == flat_b[:words].view(np.uint64)).all()
        and (flat_a[words:] == flat_b[words:]).all()
    )


def _different(a: npt.NDArray[Any], b: npt.NDArray[Any], tolerance: _Tolerance) -> npt.NDArray[np.bool_]:
    """Which elements differ."""
    different = np.asarray(a != b)
    if different.ndim < a.ndim or not different.any():
        different = np.broadcast_to(different, a.shape)
    if a.dtype.kind in "fc" and a.dtype == b.dtype:
        both = np.isnan(a) & np.isnan(b)
        if both.any():
            different = different & ~(both if tolerance.equal_nan else both & _equal_bits(a, b))
    elif a.dtype.kind in "mM":
        different = different & ~(np.isnat(a) & np.isnat(b))
    if (tolerance.rtol or tolerance.atol) and a.dtype.kind in "iufc" and b.dtype.kind in "iufc":
        with np.errstate(all="ignore"):
            wide = np.result_type(a.dtype, b.dtype, np.float64)
            close = np.isclose(a.astype(wide), b.astype(wide), tolerance.rtol, tolerance.atol)
        different = different & ~close
    return different


def _equal_bits(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    size = a.dtype.itemsize
    bits = [np.ascontiguousarray(array).view(np.uint8).reshape(*array.shape, size) for array in (a, b)]
    return np.asarray((bits[0] == bits[1]).all(axis=-1))


# -- blocks


def _blocks(first: Array, second: Array) -> Iterator[tuple[slice, ...]]:
    """Regions that cover the arrays, of whole chunks of both if these fit into memory."""
    a, b = (array.shards or array.chunks for array in (first, second))
    itemsize = first.dtype.itemsize
    lengths = [x * y // gcd(x, y) if x and y else max(x, y, 1) for x, y in zip(_edges(a), _edges(b), strict=True)]
    lengths = [min(length, max(1, size)) for length, size in zip(lengths, first.shape, strict=True)]
    if prod(lengths) * itemsize > _MOST_BLOCK:
        lengths = [max(x, y) for x, y in zip(_edges(a), _edges(b), strict=True)]
    block = _REMOTE_BLOCK if first.store.remote or second.store.remote else _BLOCK
    return regions(first.shape, lengths, block // max(1, itemsize))


def _edges(chunks: Any) -> list[int]:
    """One length per dimension; the longest, if chunks differ in length."""
    return [max(edge) if isinstance(edge, (tuple, list)) else int(edge) for edge in chunks]
