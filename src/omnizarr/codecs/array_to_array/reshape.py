"""The `reshape` codec: gives a chunk another shape without reordering its elements (R135)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.config_members import check, read, rule
from omnizarr.codecs.contract import ArrayCodec, BoundArrayCodec, ChunkSpec

__all__ = ["BoundReshape", "Reshape"]

_MAX_DIMENSIONS = 63  # NumPy's limit is 64, and the index of a following sharding codec needs one more dimension


def _is_shape(value: Json) -> bool:
    if not isinstance(value, (list, tuple)) or len(value) > _MAX_DIMENSIONS:
        return False
    lists = [item for item in value if isinstance(item, (list, tuple))]
    sizes = [item for item in value if not isinstance(item, (list, tuple))]
    dimensions = [dimension for item in lists for dimension in item]
    return (
        all(is_integer(size) and (size == -1 or 0 < size < 2**63) for size in sizes)
        and sizes.count(-1) <= 1
        and all(is_integer(dimension) and dimension >= 0 for dimension in dimensions)
        and all(one < next for one, next in pairwise(dimensions))
    )


@dataclass(frozen=True, slots=True)
class Reshape(ArrayCodec):
    """`{"name": "reshape", "configuration": {"shape": [[0, 1], 10, -1]}}`: the stored shape. Each length is a number, a
    list of input dimensions (the product of their lengths), or −1 for the rest (at most once)."""

    name: ClassVar[str] = "reshape"
    spec_rule: ClassVar[str | None] = "R135"
    shape: Sequence[int | Sequence[int]] = field(
        metadata=rule(
            "a list of positive integers, lists of dimensions in rising order, and at most one −1",
            _is_shape,
        )
    )

    def __post_init__(self) -> None:
        if isinstance(self.shape, (list, tuple)):
            # Plain integers in tuples make equal codecs compare equal. `check` rejects other items.
            items = [
                tuple(map(_plain_integer, item)) if isinstance(item, (list, tuple)) else _plain_integer(item)
                for item in self.shape
            ]
            object.__setattr__(self, "shape", tuple(items))
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Reshape | None:
        arguments = read(cls, configuration, path, problems)
        return None if arguments is None else cls(**arguments)

    def configuration(self) -> dict[str, Json]:
        return {"shape": [list(item) if isinstance(item, tuple) else item for item in self.shape]}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundReshape | None:
        where = f"{path}.configuration.shape"
        before = spec.shape
        sizes: list[Any] = []
        for index, item in enumerate(self.shape):
            if not isinstance(item, tuple):
                sizes.append(None if item == -1 else item)
            elif item and item[-1] >= len(before):
                problems.add(
                    f"{where}[{index}]",
                    f"no dimension {item[-1]}: the chunks have {len(before)} dimensions",
                    rule="R135",
                )
                return None
            else:
                sizes.append(prod(before[dimension] for dimension in item))
        known, count = prod(size for size in sizes if size is not None), prod(before)
        rest = count // known if known else 1
        after = tuple(rest if size is None else size for size in sizes)
        if prod(after) != count:
            problems.add(
                where,
                f"expected a shape with the {count} elements of chunks {list(before)}, found {list(after)}",
                rule="R135",
            )
            return None
        for index, item in enumerate(self.shape):
            if not isinstance(item, tuple) or not item:
                continue
            # The dimensions before and after must have the same number of elements in both shapes. Otherwise an index
            # along the stored dimension would not count elements of the input dimensions that it names (A22).
            if prod(after[:index]) != prod(before[: item[0]]) or prod(after[index + 1 :]) != prod(
                before[item[-1] + 1 :]
            ):
                problems.add(
                    f"{where}[{index}]",
                    f"dimensions {list(item)} of chunks {list(before)} have another position in {list(after)}",
                    rule="R135",
                )
                return None
        return BoundReshape(spec, after)


def _plain_integer(value: Any) -> Any:
    return int(value) if isinstance(value, np.integer) else value


class BoundReshape(BoundArrayCodec):
    """A bound `Reshape`. It returns views where the memory layout allows it, otherwise copies."""

    __slots__ = ("_shape", "encoded")

    def __init__(self, spec: ChunkSpec, shape: tuple[int, ...]) -> None:
        self._shape = spec.shape
        self.encoded = ChunkSpec(shape, spec.dtype, spec.fill)

    def encode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return array.reshape(self.encoded.shape)

    def decode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return array.reshape(self._shape)
