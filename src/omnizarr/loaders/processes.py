"""Which share of the samples this process loads: the rank among computers or devices, and the worker of a DataLoader.

PyTorch is asked only if the program has imported it.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from omnizarr.errors import ArgumentError

__all__ = ["Share", "current_worker", "resolve_rank"]


class Share(NamedTuple):
    """One of `total` shares."""

    number: int
    total: int

    def of(self, count: int) -> range:
        """This share of the numbers below `count`. The shares differ by at most one in length; longer ones come first,
        so that consumers that take from one share after the other know how much each of them has given."""
        least, more = divmod(count, self.total)
        start = self.number * least + min(self.number, more)
        return range(start, start + least + (self.number < more))


def current_worker() -> Share:
    """The share of this process among the workers of a PyTorch DataLoader."""
    module = sys.modules.get("torch.utils.data")
    worker: Any = None if module is None else module.get_worker_info()
    return Share(0, 1) if worker is None else Share(worker.id, worker.num_workers)


def resolve_rank(rank: int | None, world_size: int | None) -> Share:
    """The share of this process among those that train together: as given, else that of `torch.distributed`, else
    `RANK` and `WORLD_SIZE` in the environment, which torchrun sets; else everything."""
    if (rank is None) != (world_size is None):
        name = "rank" if rank is None else "world_size"
        raise ArgumentError(f"`{name}`: give both `rank` and `world_size`, or neither", argument=name)
    if rank is not None and world_size is not None:
        return _checked(rank, world_size, "`rank` and `world_size`", "rank")
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return Share(distributed.get_rank(), distributed.get_world_size())
    texts = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if texts[0] is None or texts[1] is None:
        return Share(0, 1)
    try:
        numbers = int(texts[0]), int(texts[1])
    except ValueError:
        numbers = -1, -1
    return _checked(*numbers, "the environment variables RANK and WORLD_SIZE", "rank", texts)


def _checked(rank: Any, world_size: Any, source: str, argument: str, texts: object = None) -> Share:
    integers = all(isinstance(number, int) and not isinstance(number, bool) for number in (rank, world_size))
    if not integers or not 0 <= rank < world_size:
        numbers = (rank, world_size) if texts is None else texts
        raise ArgumentError(
            f"{source}: expected a number from 0 to below a number of processes, found {numbers!r}", argument=argument
        )
    return Share(rank, world_size)
