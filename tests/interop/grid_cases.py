"""Arrays with chunks of different lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tests.interop.cases import CHAINS, DEFAULT_KEYS, KINDS, SHAPE, SOME_CHUNKS, Case, fit, partly, resized

__all__ = ["BY_GRID"]

GRIDS: Mapping[str, tuple[Any, Any]] = {
    "lengths": ([2, 3], [4, 5]),
    "a length and lengths": (4, [1, 2, 6]),
    "runs": ([1, [2, 2]], [[3, 3]]),
    "the last cut off": ([4, 3], [2, 8]),
    "chunks beyond": ([4, 3, 2], [[6, 4], 1]),
}
SHARD_GRIDS: Mapping[str, tuple[Any, Any]] = {
    "lengths": ([2, 4], [6, 3]),
    "a length and lengths": (4, [3, 6, 9]),
    "runs": ([[2, 3]], [[3, 2], 6]),
}
GRID_KINDS = ("bool", "int16", "float64", "string")
CODECS = ("little", "zstd", "transpose", "shards", "shards index first", "shards compressed")


def _by_grid(chain: str) -> Iterator[Case]:
    for grid, chunks in (SHARD_GRIDS if "shards" in chain else GRIDS).items():
        for name in GRID_KINDS:
            kind = KINDS[name]
            data = partly(resized(kind.values, SHAPE), kind.blank, SOME_CHUNKS)
            codecs = fit(CHAINS[chain], kind.dtype, kind.serializer)
            title = f"rectilinear, {chain}, {grid}, {name}"
            yield Case(title, name, data, chunks, codecs, kind.zero, kind.blank, DEFAULT_KEYS, SOME_CHUNKS)
    yield Case(
        f"rectilinear, {chain}, nothing",
        "int16",
        np.zeros((0, 9), "int16"),
        ([2, 4], [3, 6]),
        CHAINS[chain],
        0,
        np.zeros((), "int16"),
        DEFAULT_KEYS,
        [...],
    )


BY_GRID: Mapping[str, Sequence[Case]] = {chain: tuple(_by_grid(chain)) for chain in CODECS}
"""Codecs × rectilinear grids."""
