"""Costs per call or per program: reading five elements, opening an array, importing the library."""

from __future__ import annotations

import os
import subprocess

import numpy as np

from benchmarks.environment import CLOCK_VARIABLE, clock_name
from benchmarks.layouts import Layout
from benchmarks.libraries import stored_values
from benchmarks.peer import ROOT, PeerError
from benchmarks.runner import Runner
from benchmarks.subjects.actions import Actions, timed

READS = 200  # per measurement
OPENS = 100  # per measurement
IMPORTS = ("omnizarr", "tensorstore", "zarrista", "zarr")
# Imports NumPy first. `open` loads what the library imports lazily.
IMPORT_CODE = (
    "import time, numpy; start = time.{1}(); import {0}; getattr({0}, 'open', None); print(time.{1}() - start)"
)


class SingleActions(Actions):
    """Reads from and opens tiny arrays."""

    def make_small(self, path: str) -> None:
        """Creates an array of one chunk."""
        self.store(path, Layout("zstd", 1000), np.arange(1000, dtype=np.uint16))

    def small(self, path: str, memory: bool) -> float:
        """Seconds per read of five elements of one chunk."""
        array = self.adapter.in_memory(stored_values(path)) if memory else self.adapter.open(path)
        box = (slice(500, 505),)
        if self.adapter.read(array, box).tolist() != [500, 501, 502, 503, 504]:
            raise ValueError("the five elements are wrong")
        read = self.adapter.read
        return timed(lambda: [read(array, box) for _ in range(READS)]) / READS

    def make_generations(self, folder: str) -> list[str]:
        """Creates a small array in every generation of the format; returns their names."""
        generations = {"v3": 3, "v2": 2, "draft 2022": "3-draft-2022", "draft 2020": "3-draft-2020", "v1": 1}
        for name, generation in generations.items():
            self.adapter.library.create_array(
                f"{folder}/{name}", data=np.arange(10), zarr_format=generation, attributes={"a": 1}
            )
        return list(generations)

    def open_one(self, folder: str, generation: str) -> float:
        """Seconds to open one of these arrays."""
        path = f"{folder}/{generation}"
        if self.adapter.find(path, generation).shape != (10,):
            raise ValueError("the array has another shape")
        return timed(lambda: [self.adapter.find(path, generation) for _ in range(OPENS)]) / OPENS


def measure_small(runner: Runner) -> None:
    path = str(runner.folder / "small")
    runner.maker.ask("single.make_small", path=path)

    def measure(row: str, name: str) -> float | None:
        seconds: float | None = runner.peers[name].ask("single.small", path=path, memory=row == "memory")
        return seconds

    runner.fill_table("small", ["memory", "local"], measure)


def measure_open(runner: Runner) -> None:
    """Measures opening an array of each generation. Only omnizarr can create them all."""
    if runner.own is None:
        return
    folder = str(runner.folder / "generations")
    generations: list[str] = runner.own.ask("single.make_generations", folder=folder)

    def measure(row: str, name: str) -> float | None:
        seconds: float | None = runner.peers[name].ask("single.open_one", folder=folder, generation=row)
        return seconds

    runner.fill_table("open", generations, measure)


def measure_import(runner: Runner) -> None:
    """Measures the import of each library in new processes, without NumPy's share."""
    # Python writes byte code, as it does for users, even if a variable of the shell forbids it.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    warm: set[str] = set()

    def measure(row: str, name: str) -> float | None:
        peer = runner.peers[name]
        clock = peer.variables.get(CLOCK_VARIABLE, clock_name())
        if name not in warm:
            warm.add(name)
            measure(row, name)  # compiles byte code, and fills the page cache
        result = subprocess.run(
            [peer.python, "-s", "-c", IMPORT_CODE.format(peer.library, clock)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            env={**variables, **peer.variables},
        )
        if result.returncode != 0:
            raise PeerError(result.stderr.strip().splitlines()[-1])
        return float(result.stdout)

    runner.fill_table("import", ["after numpy"], measure, runner.columns(*IMPORTS))
