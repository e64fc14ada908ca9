"""The `transpose` codec: permutes the dimensions of a chunk without copying (R88)."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.config_members import check, read, rule
from omnizarr.codecs.contract import ArrayCodec, BoundArrayCodec, ChunkSpec, codecs

__all__ = ["BoundTranspose", "Transpose"]


def _is_order(value: Json) -> bool:
    if isinstance(value, str):
        return value in ("C", "F")
    return isinstance(value, (list, tuple)) and all(map(is_integer, value)) and sorted(value) == list(range(len(value)))


@dataclass(frozen=True, slots=True)
class Transpose(ArrayCodec):
    """`{"name": "transpose", "configuration": {"order": [2, 0, 1]}}`: dimension i of the stored chunk is dimension
    `order[i]` of the array.

    `order` may also be `"C"` (unchanged) or `"F"` (reversed), which needs no number of dimensions. Documents contained
    these letters until October 2023. `resolved` replaces them by a permutation, which a new array records.
    """

    name: ClassVar[str] = "transpose"
    spec_rule: ClassVar[str | None] = "R88"
    shares_bound: ClassVar[bool] = True
    order: Sequence[int] | Literal["C", "F"] = field(
        metadata=rule("a permutation of 0, 1, … (every number once)", _is_order)
    )

    def __post_init__(self) -> None:
        if isinstance(self.order, (list, tuple, np.ndarray)):
            # Plain integers in a tuple make equal codecs compare equal. `check` rejects other items.
            numbers = [operator.index(item) if isinstance(item, np.integer) else item for item in self.order]
            object.__setattr__(self, "order", tuple(numbers))
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Transpose | None:
        arguments = read(cls, configuration, path, problems)
        if arguments is None:
            return None
        if isinstance(arguments["order"], str):
            problems.warn(
                f"{path}.configuration.order",
                f"`{arguments['order']}` is obsolete: expected a list of dimensions",
                rule="§1.7",
            )
        return cls(**arguments)

    def configuration(self) -> dict[str, Json]:
        return {"order": self.order if isinstance(self.order, str) else list(self.order)}

    def resolved(self, ndim: int) -> Transpose:
        """The codec with a list of dimensions in place of `"C"` or `"F"`."""
        return Transpose(self.permutation(ndim))

    def permutation(self, ndim: int) -> tuple[int, ...]:
        """The order as a tuple of dimensions."""
        if isinstance(self.order, str):
            return tuple(range(ndim)) if self.order == "C" else tuple(reversed(range(ndim)))
        return tuple(self.order)

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundTranspose | None:
        order = self.permutation(len(spec.shape))
        if len(order) != len(spec.shape):
            problems.add(
                f"{path}.configuration.order",
                f"has {len(order)} dimensions, but the array has {len(spec.shape)}",
                rule="R88",
            )
            return None
        return BoundTranspose(spec, order)


class BoundTranspose(BoundArrayCodec):
    """A bound `Transpose`; both directions return views."""

    __slots__ = ("_inverse", "encoded", "order")

    order: tuple[int, ...]

    def __init__(self, spec: ChunkSpec, order: tuple[int, ...]) -> None:
        self.order = order
        self._inverse = tuple(order.index(axis) for axis in range(len(order)))
        self.encoded = ChunkSpec(tuple(spec.shape[axis] for axis in order), spec.dtype, spec.fill)

    def encode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return array.transpose(self.order)

    def decode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return array.transpose(self._inverse)


codecs.register(Transpose.name, Transpose)
