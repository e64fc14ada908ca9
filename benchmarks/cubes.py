"""Nine layouts of one cube: reading and writing all of it, and reading windows, a plane and single elements."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.contestant import Failed
from benchmarks.field import Field, say

WHAT = ("read", "write", "windows", "plane", "points")


class Cubes:
    """The files that all libraries read, and the turns over them."""

    def __init__(self, field: Field, layouts: Sequence[str]) -> None:
        self.field = field
        self.layouts = layouts
        self.side = field.scale.side
        self._expected = 0  # the checksum of the data
        self._readers: dict[str, list[str]] = {}  # who reads the right data from each layout
        self._emptied = itertools.count()

    def measure(self, what: set[str]) -> None:
        """What is asked for of it, in order."""
        maker = self.field.maker
        say(f"making {self.side}³ uint16 in {len(self.layouts)} layouts with {maker.name}")
        folder = str(self.field.folder)
        self._expected = maker.ask("cubes.make", folder=folder, side=self.side, layouts=list(self.layouts))
        if what - {"write"}:
            self._check_reads()
        for one in WHAT:
            if one in what:
                if one == "write":
                    self._write()
                else:
                    self._read(one)

    def _check_reads(self) -> None:
        """Every library reads every layout once: checked, and warm from then on. The wrong and the unable drop out."""
        say("checking that everybody reads the right data")
        for layout in self.layouts:
            right = []
            for name, contestant in self.field.contestants.items():
                try:
                    if contestant.ask("cubes.checksum", path=str(self.field.folder / layout)) == self._expected:
                        right.append(name)
                    else:
                        say(f"{name} reads wrong data from {layout}")
                except Failed as error:
                    say(f"{name} cannot read {layout}: {error}")
            if self.field.limit is not None and self._run_limit(layout)[1] == self._expected:
                right.append("limit")
            self._readers[layout] = right

    def _run_limit(self, layout: str) -> tuple[float, int]:
        codec, chunk, shard = [*layout.removeprefix("shard_").split("_"), "0"][:3]
        return self.field.run_limit(self.field.folder / layout, self.side, chunk, shard, codec, 2)

    def _read(self, what: str) -> None:
        """`read` takes everything; `windows`, `plane` and `points` take parts."""

        def measure(layout: str, name: str) -> float | None:
            if name not in self._readers[layout]:
                raise Failed("it did not read the right data")
            if name == "limit":
                return self._run_limit(layout)[0]
            path = str(self.field.folder / layout)
            seconds: float = self.field.contestants[name].ask("cubes.parts", path=path, what=what, side=self.side)
            return seconds

        names = [*self.field.contestants, *(["limit"] if self.field.limit and what == "read" else [])]
        chosen = self.layouts if what == "read" else [one for one in self.layouts if one in self.field.scale.parts]
        self.field.take_turns(what, chosen, measure, names)

    def _write(self) -> None:
        """Everything into a fresh folder, which is emptied afterwards; the first of each cell is checked by another."""
        checked: set[tuple[str, str]] = set()

        def measure(layout: str, name: str) -> float | None:
            path = self.field.folder / "written"
            try:
                data = str(self.field.folder / "cube.npy")
                asked = self.field.contestants[name]
                seconds: float = asked.ask("cubes.write", path=str(path), layout=layout, data=data)
                if (layout, name) not in checked:
                    if self.field.judge_of(name).ask("cubes.checksum", path=str(path)) != self._expected:
                        raise Failed("it wrote wrong data")
                    checked.add((layout, name))
                return seconds
            finally:
                self._set_aside(path)

        self.field.take_turns("write", self.layouts, measure)

    def _set_aside(self, path: Path) -> None:
        """Frees the space of files, but keeps their names until the run ends. After thousands were deleted, ext4 is
        slow for minutes: for each new file it searches past all that went lately. Whoever comes next would pay for
        that, four times what the writing itself takes."""
        for folder, _, names in os.walk(path):
            for name in names:
                os.truncate(os.path.join(folder, name), 0)
        if path.exists():
            path.rename(self.field.folder / f"emptied-{next(self._emptied)}")
