"""Reading several arrays together, so that requests to a remote store overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from omnizarr.engine.pool import run
from omnizarr.nodes.array import Array

__all__ = ["read_many"]

_MOST_ARRAYS = 32  # read at a time; each sends its requests together, and the store's window limits them


def read_many(requests: Sequence[tuple[Array, Any]]) -> list[npt.NDArray[Any]]:
    """`array.read(selection)` for each pair, in their order.

    Arrays in remote stores are read at the same time. Others are read in sequence, because a single read already uses
    all cores.
    """
    results: list[Any] = [None] * len(requests)

    def read(index: int) -> None:
        array, selection = requests[index]
        results[index] = array.read(selection)

    remote = [index for index, (array, _) in enumerate(requests) if array.store.remote]
    for index, (array, _) in enumerate(requests):
        if not array.store.remote:
            read(index)
    run(remote, lambda: read, min(_MOST_ARRAYS, len(remote)))
    return results
