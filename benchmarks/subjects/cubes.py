"""A cube in nine layouts: reading and writing all of it, and reading windows, planes and single elements."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.layouts import LAYOUTS, checksum, cube
from benchmarks.libraries import Adapter, Selection
from benchmarks.peer import PeerError
from benchmarks.report import LIMIT
from benchmarks.runner import Runner, log
from benchmarks.subjects.actions import Actions, shape_of, timed

CUBE_TABLES = ("read", "write", "windows", "plane", "middle-plane", "points")
PLANES = {"plane": 0, "middle-plane": 1}  # the axis along which a plane has one element
COUNT = 60  # windows and single elements per call
WINDOW = 32  # elements along each side


def boxes(table: str, shape: tuple[int, ...]) -> list[Selection]:
    """The parts of an array that a table reads, the same for all libraries."""
    random = np.random.default_rng(7)
    if table == "read":
        return [tuple(slice(0, length) for length in shape)]
    if table in PLANES:
        box = [slice(0, length) for length in shape]
        middle = shape[PLANES[table]] // 3
        box[PLANES[table]] = slice(middle, middle + 1)
        return [tuple(box)]
    extent = WINDOW if table == "windows" else 1
    corners = random.integers(0, min(shape) - extent, (COUNT, len(shape))).tolist()
    return [tuple(slice(start, start + extent) for start in corner) for corner in corners]


class CubeActions(Actions):
    """Creates, reads and writes cubes."""

    def __init__(self, adapter: Adapter) -> None:
        super().__init__(adapter)
        self._data: dict[str, Any] = {}

    def make(self, folder: str, side: int, layouts: list[str]) -> int:
        """Creates the files that all libraries read, and the `.npy` file that all write; returns its checksum."""
        data = cube(side)
        np.save(f"{folder}/cube.npy", data)
        for name in layouts:
            self.store(f"{folder}/{name}", LAYOUTS[name], data)
        return checksum(data)

    def checksum(self, path: str) -> int:
        """The checksum of a whole array. Reading it also fills the page cache."""
        return checksum(self.adapter.read(self.adapter.open(path), boxes("read", shape_of(path))[0]))

    def parts(self, path: str, what: str, side: int) -> float:
        """Seconds to read the boxes of a table."""
        array, read = self.open_once(path), self.adapter.read
        selections = boxes(what, (side, side, side))
        return timed(lambda: [read(array, box) for box in selections])

    def write(self, path: str, layout: str, data: str) -> float:
        """Seconds to write everything into a new array."""
        if data not in self._data:
            self._data[data] = np.load(data)
        values = self._data[data]
        array = self.create_array(path, LAYOUTS[layout], values.shape)
        return timed(lambda: self.adapter.write(array, values))


def measure_cubes(runner: Runner, tables: Sequence[str], layouts: Sequence[str]) -> None:
    """Creates the cubes, checks that every library reads them, and fills the tables."""
    _CubeRun(runner, layouts).measure(tables)


class _CubeRun:
    """The files that all libraries read, and which libraries read them correctly."""

    def __init__(self, runner: Runner, layouts: Sequence[str]) -> None:
        self.runner = runner
        self.layouts = layouts
        self.side = runner.scale.side
        self._checksum = 0
        self._readers: dict[str, list[str]] = {}  # by layout, the libraries that read correct data
        self._emptied = itertools.count()

    def measure(self, tables: Sequence[str]) -> None:
        maker = self.runner.maker
        log(f"creating {self.side}³ uint16 in {len(self.layouts)} layouts with {maker.library}")
        folder = str(self.runner.folder)
        self._checksum = maker.ask("cubes.make", folder=folder, side=self.side, layouts=list(self.layouts))
        if set(tables) - {"write"}:
            self._check_reads()
        for table in tables:
            if table == "write":
                self._write()
            else:
                self._read(table)

    def _check_reads(self) -> None:
        """Has every library read every layout once, which also fills the page cache. Libraries that fail or read wrong
        data have no result."""
        log("checking what the libraries read")
        for layout in self.layouts:
            readers = []
            for name, peer in self.runner.peers.items():
                try:
                    if peer.ask("cubes.checksum", path=str(self.runner.folder / layout)) == self._checksum:
                        readers.append(name)
                    else:
                        log(f"{name} reads wrong data from {layout}")
                except PeerError as error:
                    log(f"{name} cannot read {layout}: {error}")
            if self.runner.limit is not None and self._run_limit(layout)[1] == self._checksum:
                readers.append(LIMIT)
            self._readers[layout] = readers

    def _run_limit(self, layout: str) -> tuple[float, int]:
        codec, chunk, shard = [*layout.removeprefix("shard_").split("_"), "0"][:3]
        return self.runner.run_limit(self.runner.folder / layout, self.side, chunk, shard, codec, 2)

    def _read(self, table: str) -> None:
        def measure(layout: str, name: str) -> float | None:
            if name not in self._readers[layout]:
                raise PeerError("it did not read the correct data")
            if name == LIMIT:
                return self._run_limit(layout)[0]
            path = str(self.runner.folder / layout)
            seconds: float = self.runner.peers[name].ask("cubes.parts", path=path, what=table, side=self.side)
            return seconds

        names = [*self.runner.peers, *([LIMIT] if self.runner.limit and table == "read" else [])]
        layouts = self.layouts if table == "read" else [one for one in self.layouts if one in self.runner.scale.parts]
        self.runner.fill_table(table, layouts, measure, names)

    def _write(self) -> None:
        """Measures writing to a new folder. Another library checks the first result of each cell."""
        checked: set[tuple[str, str]] = set()

        def measure(layout: str, name: str) -> float | None:
            path = self.runner.folder / "written"
            try:
                data = str(self.runner.folder / "cube.npy")
                peer = self.runner.peers[name]
                seconds: float = peer.ask("cubes.write", path=str(path), layout=layout, data=data)
                if (layout, name) not in checked:
                    if self.runner.checker_of(name).ask("cubes.checksum", path=str(path)) != self._checksum:
                        raise PeerError("it wrote wrong data")
                    checked.add((layout, name))
                return seconds
            finally:
                self._empty(path)

        self.runner.fill_table("write", self.layouts, measure)

    def _empty(self, path: Path) -> None:
        """Truncates files, but keeps their names until the run ends. After thousands of files are deleted, ext4 is
        slow for minutes, because it searches past the freed inodes for each new file. The next library would take four
        times as long."""
        for folder, _, names in os.walk(path):
            for name in names:
                os.truncate(os.path.join(folder, name), 0)
        if path.exists():
            path.rename(self.runner.folder / f"emptied-{next(self._emptied)}")
