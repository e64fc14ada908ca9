"""The regular grid: all chunks have one shape. The last chunk of a dimension may overhang (R62–R66)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, is_integer
from omnizarr.grids.contract import Axis, Grid

__all__ = ["Regular", "RegularAxis"]


@dataclass(frozen=True, slots=True)
class RegularAxis(Axis):
    """Chunks of `size` along a dimension of `length`."""

    length: int
    size: int

    @property
    def count(self) -> int:  # type: ignore[override]
        return -(-self.length // self.size)

    def bounds(self, chunk: int) -> tuple[int, int]:
        return chunk * self.size, self.size

    def locate(self, index: int) -> int:
        return index // self.size

    def locate_many(self, indices: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        return indices // self.size

    def starts(self, chunks: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        return chunks * self.size


@dataclass(frozen=True, slots=True)
class Regular(Grid):
    """`{"name": "regular", "configuration": {"chunk_shape": [...]}}`"""

    name: ClassVar[str] = "regular"
    chunk_shape: tuple[int, ...]

    @property
    def chunks(self) -> tuple[int, ...]:
        return self.chunk_shape

    def edges(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.chunk_shape

    def axes(self, shape: Sequence[int]) -> tuple[Axis, ...]:
        return tuple(RegularAxis(length, size) for length, size in zip(shape, self.chunk_shape, strict=True))

    def chunk_shapes(self, shape: Sequence[int]) -> tuple[tuple[int, ...]]:
        return (self.chunk_shape,)

    def to_json(self) -> Json:
        return {"name": self.name, "configuration": {"chunk_shape": list(self.chunk_shape)}}

    @classmethod
    def parse(
        cls, configuration: dict[str, Json], shape: Sequence[int] | None, path: str, problems: Problems
    ) -> Regular | None:
        check_members(configuration, ("chunk_shape",), f"{path}.configuration", problems, rule="R62")
        lengths = configuration.get("chunk_shape")
        sizes = cls.parse_lengths(lengths, shape, f"{path}.configuration.chunk_shape", problems)
        return None if sizes is None or len(configuration) > 1 else cls(sizes)

    @staticmethod
    def parse_lengths(
        lengths: Json, shape: Sequence[int] | None, place: str, problems: Problems, member: str = "shape"
    ) -> tuple[int, ...] | None:
        """The chunk lengths at `place`; `member` is the name of the shape in the document. A length of 0 is read as 1
        if the dimension's length is 0 (A35)."""
        before = len(problems.found)
        if not isinstance(lengths, list) or not all(is_integer(size) for size in lengths):
            problems.expected(place, "a list of integers", lengths, rule="R62")
            return None
        if shape is not None and len(lengths) != len(shape):
            problems.add(place, f"has {len(lengths)} lengths, but `{member}` has {len(shape)} dimensions", rule="R25")
            return None
        sizes = []
        for axis, size in enumerate(lengths):
            if size == 0 and shape is not None and shape[axis] == 0:
                problems.warn(f"{place}[{axis}]", "a chunk length of 0 is read as 1", rule="A35")
                size = 1
            if not 1 <= size < 2**63:  # indices have 64 bits
                problems.expected(f"{place}[{axis}]", "an integer from 1 to 2^63-1", size, rule="R62")
            sizes.append(size)
        return tuple(sizes) if len(problems.found) == before else None
