"""What a chunk grid is: one axis of chunk edges per dimension, without gaps or overlaps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems

__all__ = ["Axis", "Grid"]


class Axis(ABC):
    """How one dimension is divided: chunks 0 … count-1 cover 0 … length, the last one may overhang."""

    length: int
    count: int
    size: int | None
    """The length of every chunk, if all are equally long."""

    @abstractmethod
    def bounds(self, chunk: int) -> tuple[int, int]:
        """Where a chunk starts, and its full length (which may overhang)."""

    @abstractmethod
    def locate(self, index: int) -> int:
        """The chunk that holds an index of 0 … length-1."""

    @abstractmethod
    def locate_many(self, indices: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """`locate` for many."""

    @abstractmethod
    def starts(self, chunks: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Where each of `chunks` starts."""

    def touched(self, taken: range) -> int:
        """How many chunks hold at least one of these indices, which ascend. Whose `size` is None must say it."""
        if not taken or (self.size is not None and taken.step > self.size):  # at most one in a chunk
            return len(taken)
        return self.locate(taken[-1]) - self.locate(taken[0]) + 1


class Grid(ABC):
    """A kind of chunk grid with its configuration: a value that compares equal, hashes and never changes."""

    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def parse(
        cls, configuration: dict[str, Json], shape: Sequence[int] | None, path: str, problems: Problems
    ) -> Grid | None:
        """Reads the configuration of the grid at `path`; adds to `problems` and gives None if it is wrong. Without a
        shape, because that is wrong too, everything else is checked all the same."""

    @abstractmethod
    def to_json(self) -> Json:
        """The `chunk_grid` member of a v3 document."""

    @abstractmethod
    def axes(self, shape: Sequence[int]) -> tuple[Axis, ...]:
        """One axis per dimension of an array of this shape."""

    @abstractmethod
    def chunk_shapes(self, shape: Sequence[int]) -> Iterable[tuple[int, ...]]:
        """Shapes of chunks that answer for all others: the smallest and the largest are among them, and what divides
        all of these, or all their sizes, divides every chunk. One, if there is no chunk yet; none, if there can be
        none."""

    @property
    @abstractmethod
    def chunks(self) -> tuple[Any, ...]:
        """What the document says of each dimension, which is short however many chunks there are: their length; or, if
        that may differ, a tuple of lengths and of pairs of a length and how often it is repeated."""

    @abstractmethod
    def edges(self, shape: Sequence[int]) -> tuple[int, ...] | tuple[tuple[int, ...], ...]:
        """As users see it: a length per dimension; or, if that may differ, the lengths of all chunks per dimension,
        which sum up to that of the array."""

    def fitting(self, shape: Sequence[int]) -> Grid:
        """The grid of the same array once it is given another shape: the same chunks, and more if they are needed."""
        return self
