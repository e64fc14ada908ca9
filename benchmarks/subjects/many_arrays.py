"""Many small arrays in one group: the cost of a hierarchy, not of its chunks."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from benchmarks.layouts import Layout
from benchmarks.runner import Runner
from benchmarks.subjects.actions import Actions, timed, write_document

LENGTH = 100  # elements of each array, in one chunk
GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}
# zarr-python opens arrays in the same way with each of its pipelines: one stands for all three.
COLUMNS = ("omnizarr", "tensorstore", "zarrista", "zarr")


def member_names(count: int) -> list[str]:
    return [f"array-{number:05}" for number in range(count)]


class ManyActions(Actions):
    """Creates, lists, opens and reads the members of a group."""

    def make(self, path: str, count: int) -> None:
        """Creates a group of arrays with the elements 0, 1, 2 …"""
        write_document(path, GROUP)
        chunk, document = np.arange(LENGTH, dtype="<u2").tobytes(), Layout("raw", LENGTH).document((LENGTH,))
        for name in member_names(count):
            write_document(f"{path}/{name}", document)
            Path(path, name, "c").mkdir()
            Path(path, name, "c", "0").write_bytes(chunk)

    def read(self, path: str, count: int) -> float:
        """Seconds to open each array by its name and to read it."""
        read, box = self.adapter.read, (slice(0, LENGTH),)
        arrays = self.adapter.members(path, member_names(count))
        return timed(lambda: [int(read(array, box)[-1]) for array in arrays], lambda last: last == [LENGTH - 1] * count)

    def create(self, path: str, count: int) -> float:
        """Seconds to create arrays in a new group."""
        return timed(lambda: self.adapter.create_members(path, member_names(count), LENGTH))

    def keys(self, path: str, count: int) -> float:
        """Seconds to list the names of all members."""
        return timed(lambda: self.adapter.keys(path), lambda names: sorted(names) == member_names(count))

    def items(self, path: str, count: int) -> float:
        """Seconds to list and open all members."""
        return timed(lambda: self.adapter.items(path), lambda opened: opened == count)


def measure_many(runner: Runner) -> None:
    scale, folder = runner.scale, str(runner.folder)
    runner.maker.ask("many.make", path=f"{folder}/arrays", count=scale.arrays)
    runner.maker.ask("many.make", path=f"{folder}/members", count=scale.members)
    created = itertools.count()
    rows = {
        f"open and read {scale.arrays:,} arrays": ("many.read", "arrays", scale.arrays),
        f"create {scale.arrays:,} arrays": ("many.create", "created", scale.arrays),
        f"list {scale.members:,} names": ("many.keys", "members", scale.members),
        f"list {scale.members:,} nodes": ("many.items", "members", scale.members),
    }

    def measure(row: str, name: str) -> float | None:
        action, group, count = rows[row]
        path = f"{folder}/{group}" if group != "created" else f"{folder}/created-{next(created)}"
        seconds: float | None = runner.peers[name].ask(action, path=path, count=count)
        return seconds

    runner.fill_table("many", list(rows), measure, runner.columns(*COLUMNS))
