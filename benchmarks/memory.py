"""The most memory that reading, writing and rewriting take, each measured in a process of its own."""

from __future__ import annotations

import shutil

from benchmarks.contestant import Contestant, Failed
from benchmarks.environment import THREADS
from benchmarks.field import Field, say
from benchmarks.report import PROMISE

MiB = 2**20
STORED = {"chunks": ("zstd", 256, 0), "shards": ("zstd", 32, 256)}  # of 32 MiB, decoded


def memory(field: Field) -> None:
    """What is promised stands beside what was found."""
    times = field.scale.large
    blocks = times[0] * times[1] * times[2]
    for kind, (codec, chunk, shard) in STORED.items():
        path = str(field.folder / f"large-{kind}")
        layout = {"codec": codec, "chunk": chunk, "shard": shard, "times": times}
        encoded: int = field.maker.ask("memory.make", path=path, **layout)
        size = 32 * blocks * MiB
        _row(field, f"read {32 * blocks} MiB in {kind} of 32 MiB", 1.15 * size + 64 * MiB, "memory.read", path=path)
        shutil.rmtree(path)
        row = f"write {32 * blocks} MiB in {kind} of 32 MiB"
        _row(field, row, 64 * MiB + 2 * THREADS * encoded, "memory.write", path=f"{path}-written", **layout)
    for shard in field.scale.shards:
        size, side = shard**3 * 2 // MiB, shard // 256
        path = str(field.folder / f"shard-{size}")
        layout = {"codec": "raw", "chunk": 32, "shard": shard, "times": (side, side, side)}
        field.maker.ask("memory.make", path=path, **layout)
        promise = (2 * size + 8) * MiB  # twice the shard, and a little for all the rest
        _row(field, f"write 8 elements into a shard of {size} MiB", promise, "memory.rewrite", path=path)
        shutil.rmtree(path)


def _row(field: Field, row: str, promise: float, action: str, *, path: str, **arguments: object) -> None:
    cells = field.cells("memory").setdefault(row, {})
    for name, known in field.contestants.items():
        fresh = Contestant(name, known.python)  # a process that has done nothing else
        say(f"memory: {row}: {name}")
        try:
            cells[name] = fresh.ask(action, path=path, **arguments)
        except Failed as error:
            say(f"{name} has no result for {row}: {error}")
            cells[name] = None
        finally:
            fresh.close()
        if arguments:  # it wrote there
            shutil.rmtree(path, ignore_errors=True)
    cells[PROMISE] = promise
