"""Samples by number, for programs and samplers that choose them: the map-style datasets of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from omnizarr.errors import SelectionError
from omnizarr.loaders.epoch_cell import EpochCell
from omnizarr.loaders.sources import SampleSource
from omnizarr.nodes.protocols.take import as_indices

__all__ = ["Samples"]


class Samples:
    """The samples of a loader, in the order of the arrays: `samples[i]` reads one, `samples[[5, 2]]` a batch. Of random
    crops, sample `i` is crop `i` of the epoch.

    `torch.utils.data.DataLoader(samples, batch_size=32, shuffle=True)` reads each batch at once.
    """

    def __init__(self, source: SampleSource, seed: int, cell: EpochCell, form: Callable[[list[Any]], Any]) -> None:
        self._source = source
        self._seed = seed
        self._cell = cell
        self._form = form

    def __len__(self) -> int:
        return self._source.count

    def set_epoch(self, epoch: int) -> None:
        """The epoch that random crops belong to."""
        self._cell.set(epoch)

    def _read(self, numbers: Any) -> list[Any]:
        indices = as_indices(numbers, "index").reshape(-1).astype(np.int64)
        count = len(self)
        outside = indices[(indices < -count) | (indices >= count)]
        if len(outside):
            raise SelectionError(f"sample {int(outside[0])} is out of bounds: there are {count} samples")
        indices = np.where(indices < 0, indices + count, indices)
        return self._source.read_numbers(indices, (self._seed, self._cell.next_epoch))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            index = np.arange(*index.indices(len(self)))
        arrays = self._read(index)
        return self._form([array[0] for array in arrays] if np.ndim(index) == 0 else arrays)

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """A list of samples, which PyTorch calls for a batch."""
        arrays = self._read(indices)
        return [self._form([array[number] for array in arrays]) for number in range(len(indices))]

    def __repr__(self) -> str:
        return f"<Samples {len(self)} of {self._source.shapes}>"
