"""Everybody who takes part in a run, and the turns that they take.

Libraries take turns, round after round, and the best time of each cell counts, because other programs disturb any
single one.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import environment
from benchmarks.contestant import Contestant, Failed
from benchmarks.report import OWN, Cells, Results
from benchmarks.scale import Scale

NAMES = (OWN, "tensorstore", "zarrs", "fused", "zarrista", "zarr")


def say(text: str) -> None:
    """Progress goes to standard error, results to standard output."""
    print(text, file=sys.stderr, flush=True)


def one_turn(measure: Callable[[str, str], float | None], row: str, name: str) -> list[float]:
    """The times of one turn: several if they are short, since a short one is easily disturbed as a whole; none if the
    library cannot do this at all."""
    times: list[float] = []
    while len(times) < 5 and sum(times) < 0.1:
        seconds = measure(row, name)
        if seconds is None:
            break
        times.append(seconds)
    return times


class Field:
    """Who takes part, where the files are, and what was found."""

    def __init__(self, folder: Path, scale: Scale, python: str, peer_python: str | None) -> None:
        self.folder = folder
        self.scale = scale
        self._started = time.time()
        self.contestants: dict[str, Contestant] = {}
        self.left_out: dict[str, str] = {}
        self.results: Results = {"machine": environment.machine(), "versions": {"own": {}, "peers": {}}, "cells": {}}
        for name in NAMES:
            self._invite(name, python if name == OWN else peer_python)
        self.limit, reason = environment.compile_limit(folder)
        if self.limit is None:
            self.left_out["limit"] = reason
        for name, why in self.left_out.items():
            say(f"{name} is left out: {why}")
        if not self.contestants:
            raise SystemExit("nobody is left to measure")

    def _invite(self, name: str, python: str | None) -> None:
        if python is None:
            self.left_out[name] = "there is no environment with the peers; `make peers` makes it"
            return
        contestant = Contestant(name, python)
        try:
            versions = contestant.ask("versions")
        except Failed as error:
            contestant.close()
            self.left_out[name] = str(error)
        else:
            self.results["versions"]["own" if name == OWN else "peers"].update(versions)
            self.contestants[name] = contestant

    @property
    def own(self) -> Contestant | None:
        return self.contestants.get(OWN)

    @property
    def maker(self) -> Contestant:
        """Whoever makes the files that all read: a peer if there is one, so that we do not read only our own."""
        return self.contestants.get("tensorstore") or next(reversed(self.contestants.values()))

    def judge_of(self, name: str) -> Contestant:
        """Whoever checks what `name` wrote: somebody else, if there is anybody."""
        others = [one for one in self.contestants.values() if one.name != name]
        return next((one for one in others if one.name in ("tensorstore", "zarrista")), (others or [self.maker])[0])

    def those(self, *names: str) -> list[str]:
        """Those of `names` that take part."""
        return [name for name in names if name in self.contestants]

    def run_limit(self, *arguments: object) -> tuple[float, int]:
        """Seconds that the limit takes, and the checksum that it gives."""
        result = subprocess.run([str(self.limit), *map(str, arguments)], capture_output=True, text=True)
        if result.returncode != 0:
            raise Failed(result.stderr.strip())
        seconds, total = result.stdout.split()
        return float(seconds), int(total)

    def cells(self, what: str) -> Cells:
        """The table of a measurement, to be filled."""
        table: Cells = self.results["cells"].setdefault(what, {})
        return table

    def take_turns(
        self,
        what: str,
        rows: Sequence[str],
        measure: Callable[[str, str], Any],
        names: Sequence[str] | None = None,
    ) -> None:
        """Asks every library for every row, round after round, and keeps the best."""
        names = list(self.contestants) if names is None else names
        times: dict[tuple[str, str], list[float]] = {(row, name): [] for row in rows for name in names}
        failed: set[tuple[str, str]] = set()
        for turn in range(self.scale.rounds):
            say(f"{time.time() - self._started:5.0f} s  {what}: round {turn + 1} of {self.scale.rounds}")
            # another one begins each round: who comes after a slow library may find a colder cache
            order = [*names[turn % len(names) :], *names[: turn % len(names)]]
            for row, name in itertools.product(rows, order):
                done = times[row, name]
                if (row, name) in failed or (done and sum(done) > self.scale.budget) or (turn and not done):
                    continue
                try:
                    done += one_turn(measure, row, name)
                except Failed as error:
                    say(f"{name} has no result for {row}: {error}")
                    failed.add((row, name))
        cells = self.cells(what)
        for (row, name), found in times.items():
            cells.setdefault(row, {})[name] = None if (row, name) in failed else min(found, default=None)

    def close(self) -> None:
        for contestant in self.contestants.values():
            contestant.close()
