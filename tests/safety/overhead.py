"""Measures what locks cost a writer without competitors: `python -m tests.safety.overhead FOLDER`."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr

SIDE = 128
DATA = np.random.default_rng(0).integers(0, 1000, (SIDE,) * 3).astype("u2")
RAW: dict[str, Any] = {"compressors": None}


def whole(z: omnizarr.Array) -> int:
    z[...] = DATA
    return int(z.nchunks)


def elements(z: omnizarr.Array) -> int:
    for index in range(0, SIDE, 4):
        z[index, index, index] = 1
    return SIDE // 4


def planes(z: omnizarr.Array) -> int:
    for index in range(SIDE):
        z[index, :64, :64] = DATA[index, :64, :64]
    return SIDE


CASES: list[tuple[str, Callable[[omnizarr.Array], int], dict[str, Any]]] = [
    ("whole chunks of 64 KiB, uncompressed", whole, {"chunks": (32,) * 3, **RAW}),
    ("whole chunks of 64 KiB, zstd", whole, {"chunks": (32,) * 3, "compressors": ["zstd"]}),
    ("whole chunks of 8 KiB, uncompressed", whole, {"chunks": (16,) * 3, **RAW}),
    ("whole shards of 512 KiB", whole, {"chunks": (64,) * 3, "serializer": omnizarr.codecs.Sharding((32,) * 3), **RAW}),
    ("one whole chunk of 8 KiB in a call", planes, {"chunks": (1, 64, 64), **RAW}),
    ("one element of a chunk of 8 KiB", elements, {"chunks": (16,) * 3, **RAW}),
    ("one element of a chunk of 64 KiB, zstd", elements, {"chunks": (32,) * 3, "compressors": ["zstd"]}),
    ("one element of a shard of 512 KiB", elements, {"chunks": (32,) * 3, "shards": (64,) * 3}),
]


def seconds(folder: Path, locking: bool, act: Callable[[omnizarr.Array], int], layout: dict[str, Any]) -> float:
    place = tempfile.mkdtemp(dir=folder)
    z = omnizarr.create_array(
        omnizarr.LocalStore(place, locking=locking), shape=(SIDE,) * 3, dtype="u2", overwrite=True, **layout
    )
    whole(z)
    began = time.perf_counter()
    count = act(z)
    taken = time.perf_counter() - began
    shutil.rmtree(place)
    return taken / count


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir())
    with omnizarr.config(threads=1):
        for name, act, layout in CASES:
            found: dict[bool, list[float]] = {True: [], False: []}
            for task_lock in range(30):
                for locking in (task_lock % 2 == 0, task_lock % 2 == 1):
                    found[locking].append(seconds(folder, locking, act, layout))
            with_locks, without = min(found[True]) * 1e6, min(found[False]) * 1e6
            change = 100 * (with_locks / without - 1)
            print(f"{name:42} {without:8.1f} µs without, {with_locks:8.1f} µs with: {change:+.1f} %", flush=True)


if __name__ == "__main__":
    main()
