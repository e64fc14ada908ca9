"""The `transpose` codec: the dimensions of an array in another order, as a view (R88)."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.config_fields import check, read, rule
from omnizarr.codecs.contract import ArrayCodec, BoundArrayCodec, ChunkSpec, codecs

__all__ = ["BoundTranspose", "Transpose"]


def _is_order(value: Json) -> bool:
    if isinstance(value, str):
        return value in ("C", "F")
    return isinstance(value, (list, tuple)) and all(map(is_integer, value)) and sorted(value) == list(range(len(value)))


@dataclass(frozen=True, slots=True)
class Transpose(ArrayCodec):
    """`{"name": "transpose", "configuration": {"order": [2, 0, 1]}}`: dimension i of what is stored is dimension
    `order[i]` of the array.

    `"C"` (as it is) and `"F"` (all dimensions reversed) may be given before the number of dimensions is known;
    documents held them until October 2023. `resolved` makes a permutation of them, which is what a new array records.
    """

    name: ClassVar[str] = "transpose"
    order: Sequence[int] | Literal["C", "F"] = field(
        metadata=rule("a permutation of 0, 1, … (every number once)", _is_order)
    )

    def __post_init__(self) -> None:
        if isinstance(self.order, (list, tuple, np.ndarray)):
            # a tuple of Python's integers, so that equal codecs are equal; what is no integer is left for the check
            numbers = [operator.index(item) if isinstance(item, np.integer) else item for item in self.order]
            object.__setattr__(self, "order", tuple(numbers))
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Transpose | None:
        found = read(cls, configuration, path, problems)
        if found is None:
            return None
        if isinstance(found["order"], str):
            problems.warn(f"{path}.configuration.order", f"`{found['order']}` is how drafts spelt a permutation")
        return cls(**found)

    def configuration(self) -> dict[str, Json]:
        return {"order": self.order if isinstance(self.order, str) else list(self.order)}

    def resolved(self, ndim: int) -> Transpose:
        """The same codec with `"C"` and `"F"` spelt out."""
        return Transpose(self.permutation(ndim))

    def permutation(self, ndim: int) -> tuple[int, ...]:
        """The order, spelt out."""
        if isinstance(self.order, str):
            return tuple(range(ndim)) if self.order == "C" else tuple(reversed(range(ndim)))
        return tuple(self.order)

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundTranspose | None:
        order = self.permutation(len(spec.shape))
        if len(order) != len(spec.shape):
            problems.add(
                f"{path}.configuration.order", f"has {len(order)} dimensions, but the array has {len(spec.shape)}"
            )
            return None
        return BoundTranspose(spec, order)


class BoundTranspose(BoundArrayCodec):
    """Views in both directions; no element is copied."""

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
