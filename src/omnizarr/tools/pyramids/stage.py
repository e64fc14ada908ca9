"""`ReduceRegions`: a stage that makes one level of a pyramid from the level before, whole objects at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar

import numpy as np

from omnizarr.errors import StoreError
from omnizarr.tools.plans.regions import CopyRegions
from omnizarr.tools.plans.stage import PlanCost
from omnizarr.tools.pyramids.reduce import Method, reduce_block
from omnizarr.tools.regions import regions

__all__ = ["ReduceRegions"]

_BLOCK_BYTES = 2**23  # of the source, reduced at once: intermediate results take up to 8 times as much
_INTERMEDIATE = 8


@dataclass(frozen=True)
class ReduceRegions(CopyRegions):
    """Task i makes one group of neighbouring chunks (shards) of the target, block by block."""

    name: ClassVar[str] = "reduce"
    factors: tuple[int, ...] = ()
    """How many elements of the source one element of the target stands for, along each dimension."""
    method: Method = "mean"
    missing: Any = field(default=None)

    @property
    def cost(self) -> PlanCost:
        nbytes = self.target.nbytes
        files = prod(axis.count for axis in self.target.metadata.grid.axes(self.target.shape))
        region = prod(min(size, length) for size, length in zip(self._largest(), self.target.shape, strict=True))
        block = max(_BLOCK_BYTES, prod(self._unit(self.target.shape)) * prod(self.factors) * self.source.itemsize)
        block = min(block, region * prod(self.factors) * self.source.itemsize)
        return PlanCost(self.source.nbytes, nbytes, 0, files, 2 * region * self.target.itemsize + _INTERMEDIATE * block)

    def _unit(self, shape: Sequence[int]) -> list[int]:
        """The elements of the target that one chunk of the source makes."""
        chunks = (chunk if isinstance(chunk, int) else max(chunk, default=1) for chunk in self.source.chunks)
        return [
            min(length, max(1, chunk // factor))
            for chunk, factor, length in zip(chunks, self.factors, shape, strict=True)
        ]

    def run(self, index: int) -> int:
        region = self.region(index)
        shape = tuple(each.stop - each.start for each in region)
        values = np.empty(shape, self.target.dtype)
        most = _BLOCK_BYTES // (prod(self.factors) * max(1, self.source.itemsize))
        for block in regions(shape, self._unit(shape), most):
            source = tuple(
                slice((whole.start + part.start) * factor, min((whole.start + part.stop) * factor, length))
                for whole, part, factor, length in zip(region, block, self.factors, self.source.shape, strict=True)
            )
            # A dimension that is too short for a whole window keeps its one element.
            values[block] = reduce_block(self.source.read(source), self.factors, self.method, self.missing)
        self.target[region or ...] = values
        if self.verify and self.target.read(region or ...).tobytes() != values.tobytes():
            raise StoreError(f"the level `{self.target.name}` differs in {region}", store=repr(self.target.store))
        return int(values.size) * self.target.itemsize
