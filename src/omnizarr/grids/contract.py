"""The contract of a chunk grid: one axis per dimension, divided into chunks without gaps or overlaps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems

__all__ = ["Axis", "Grid"]


class Axis(ABC):
    """The chunks of one dimension: chunks 0 … count-1 cover the indices 0 … length-1. The last one may overhang."""

    length: int
    count: int
    size: int | None
    """The length of every chunk, if all have the same; otherwise None."""

    @abstractmethod
    def bounds(self, chunk: int) -> tuple[int, int]:
        """The start of a chunk, and its full length including any overhang."""

    @abstractmethod
    def locate(self, index: int) -> int:
        """The chunk that contains an index of 0 … length-1."""

    @abstractmethod
    def locate_many(self, indices: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """`locate` for an array of indices."""

    @abstractmethod
    def starts(self, chunks: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """The start of each of `chunks`."""

    def touched(self, indices: range) -> int:
        """The number of chunks that contain at least one of `indices`, which ascend.

        An axis whose `size` is None must override it, because this fallback also counts chunks that a step skips."""
        if not indices or (self.size is not None and indices.step > self.size):  # at most one index per chunk
            return len(indices)
        return self.locate(indices[-1]) - self.locate(indices[0]) + 1


class Grid(ABC):
    """A chunk grid and its configuration: an immutable value with equality and a hash."""

    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def parse(
        cls, configuration: dict[str, Json], shape: Sequence[int] | None, path: str, problems: Problems
    ) -> Grid | None:
        """The grid with the configuration at `path`; adds to `problems` and returns None if that is invalid. `shape` is
        None if the document's shape is invalid; then everything else is checked."""

    @abstractmethod
    def to_json(self) -> Json:
        """The `chunk_grid` member of a v3 document."""

    @abstractmethod
    def axes(self, shape: Sequence[int]) -> tuple[Axis, ...]:
        """One axis per dimension of an array of this shape."""

    @abstractmethod
    def chunk_shapes(self, shape: Sequence[int]) -> Iterable[tuple[int, ...]]:
        """A few chunk shapes that represent all others, for checking codecs: the smallest, the largest, and enough
        shapes that every divisor of their lengths or sizes divides those of every chunk. One shape if the array has no
        chunks yet; none if it can have none."""

    @property
    @abstractmethod
    def chunks(self) -> tuple[Any, ...]:
        """The chunk lengths of each dimension in the short form of a document: one length or, if lengths differ, a
        tuple of lengths and of pairs (length, repetitions)."""

    @abstractmethod
    def edges(self, shape: Sequence[int]) -> tuple[int, ...] | tuple[tuple[int, ...], ...]:
        """The chunk lengths for users: one length per dimension or, if lengths differ, the lengths of all chunks per
        dimension, whose sum is the array's length."""

    def fitting(self, shape: Sequence[int]) -> Grid:
        """The grid for another shape of the array: the same chunks, and more if they are needed."""
        return self
