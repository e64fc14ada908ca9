"""The subjects of the benchmarks, one module each.

A module has two halves. A class of actions runs in the process of one library (`benchmarks.peer_process`): it creates
files, and times calls. A function `measure_…` runs in the runner, and decides which library does what, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from benchmarks.runner import Runner
from benchmarks.subjects.actions import Actions
from benchmarks.subjects.cubes import CUBE_TABLES, CubeActions, measure_cubes
from benchmarks.subjects.growth import GrowthActions, measure_growth
from benchmarks.subjects.lines import LineActions, measure_lines
from benchmarks.subjects.many_arrays import ManyActions, measure_many
from benchmarks.subjects.memory import MemoryActions, measure_memory
from benchmarks.subjects.single_calls import SingleActions, measure_import, measure_open, measure_small

ACTIONS: dict[str, type[Actions]] = {
    "cubes": CubeActions,
    "growth": GrowthActions,
    "lines": LineActions,
    "many": ManyActions,
    "memory": MemoryActions,
    "single": SingleActions,
}
OTHERS: dict[str, Callable[[Runner], None]] = {
    "lines": measure_lines,
    "many": measure_many,
    "growth": measure_growth,
    "small": measure_small,
    "open": measure_open,
    "import": measure_import,
    "memory": measure_memory,
}
TABLES = (*CUBE_TABLES, *OTHERS)


def measure(runner: Runner, tables: Collection[str], layouts: Sequence[str]) -> None:
    """Measures the named tables, in the order of `TABLES`."""
    cubes = [table for table in CUBE_TABLES if table in tables]
    if cubes:
        measure_cubes(runner, cubes, layouts)
    for name, measure_one in OTHERS.items():
        if name in tables:
            measure_one(runner)
