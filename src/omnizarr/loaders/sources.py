"""What a sample is: the contract of the ways to cut arrays into samples, and the arrays that they cut."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.errors import ArgumentError
from omnizarr.indexing import numpy_selection
from omnizarr.loaders.memory import GroupMemory

__all__ = ["BlockRuns", "SampleSource", "check_arrays", "chunk_length", "is_remote", "read_part"]


class BlockRuns(NamedTuple):
    """Successive samples of some blocks: of each block in `blocks`, those from `starts` to before `stops`."""

    blocks: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]


class SampleSource(ABC):
    """Samples of several arrays, in blocks: samples of one block lie in the same chunks."""

    def __init__(self, arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> None:
        self.arrays = arrays
        self.shapes = shapes
        """The shape of a sample of each array."""
        self.sample_bytes = sum(
            max(1, prod(shape) * array.dtype.itemsize) for array, shape in zip(arrays, shapes, strict=True)
        )
        self.memory = GroupMemory()
        self.remote = any(is_remote(array) for array in arrays)

    @abstractmethod
    def block_sizes(self, seed: int, epoch: int) -> npt.NDArray[np.int64]:
        """How many samples each block has."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many samples an epoch has."""

    @abstractmethod
    def read(self, runs: BlockRuns, order: npt.NDArray[np.int64] | None, epoch: tuple[int, int]) -> list[Any]:
        """The samples of `runs`, one after the other, or only those that `order` names in its order, of an epoch (its
        seed and number). The result has an array for each array, whose first axis is that of the samples."""

    @abstractmethod
    def read_numbers(self, numbers: npt.NDArray[np.int64], epoch: tuple[int, int]) -> list[Any]:
        """The samples with these numbers, for access by number; those of a loader have another order."""

    def start(self) -> None:  # noqa: B027
        """Forget what was read in an earlier epoch."""


def check_arrays(arrays: Sequence[Any], names: Sequence[str]) -> None:
    """Raise ArgumentError unless there are arrays, and all have dimensions."""
    if not arrays:
        raise ArgumentError("`arrays`: expected at least one array", argument="arrays")
    for array, name in zip(arrays, names, strict=True):
        if not array.ndim:
            raise ArgumentError(f"`arrays`: {name} has no dimensions, so it has no samples", argument="arrays")


def is_remote(array: Any) -> bool:
    """Whether requests for the array take long. A view asks its source; a concatenation, its first part."""
    while not hasattr(array, "_context"):
        array = array._parts[0] if hasattr(array, "_parts") else array._source
    return bool(array.store.remote)


def chunk_length(array: Any, axis: int) -> int:
    """The length of the chunks of an array along an axis; the longest if they differ."""
    size = array.chunks[axis]
    return max(1, max(size, default=1) if isinstance(size, tuple) else size)


def read_part(
    array: Any, key: tuple[Any, ...], memory: GroupMemory, out: npt.NDArray[Any] | None = None
) -> npt.NDArray[Any]:
    """`array[key]` of an array or a lazy view, read into `out` if given."""
    selection = numpy_selection(key, array.shape)
    if out is None and not hasattr(array, "_source"):  # a view would read into memory of its own and copy
        out = memory.new_array(selection.shape, array.dtype)
    elements: npt.NDArray[Any] = array._read(selection, out)
    return elements
