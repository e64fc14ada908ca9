"""Measures omnizarr beside its peers on this machine, in one run: `python -m benchmarks`, or `make bench`.

The same files serve all libraries. Libraries take turns, round after round, and the best time of each cell counts,
because other programs disturb any single one. What a library reads or writes is first checked against the data, so
that nobody gets credit for wrong bytes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import environment, report
from benchmarks.contestant import Contestant, Failed
from benchmarks.report import Cells, Results

NAMES = ("omnizarr", "tensorstore", "zarrs", "fused", "zarrista", "zarr")
IMPORTS = ("omnizarr", "tensorstore", "zarrista", "zarr")
LAYOUTS = (
    "raw_128",
    "raw_32",
    "zstd_128",
    "zstd_32",
    "blosc_128",
    "blosc_32",
    "gzip_128",
    "shard_zstd_32_128",
    "shard_blosc_16_256",
)
PARTIAL = {"windows", "plane", "points"}
QUICK_PARTIAL = ("raw_128", "raw_32", "blosc_32", "shard_zstd_32_128")  # parts of large compressed chunks take long
WHAT = ("read", "write", "windows", "plane", "points", "small", "import", "memory")


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


class Run:
    """One run: who takes part, where the files are, and what was found."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.folder = folder
        self.side = 256 if options.quick else 512
        self.rounds = options.rounds or (2 if options.quick else 5)
        self.budget = 0.5 if options.quick else 2.0  # seconds after which a cell is not measured again
        self.quick = options.quick
        self.layouts = options.only
        self.contestants: dict[str, Contestant] = {}
        self.left_out: dict[str, str] = {}
        self.expected = 0  # the checksum of the data, once it is made
        self.readers: dict[str, list[str]] = {}  # who reads the right data from each layout
        self.results: Results = {"machine": environment.machine(), "versions": {"own": {}, "peers": {}}, "cells": {}}
        self._invite(options)

    def _invite(self, options: argparse.Namespace) -> None:
        for name in NAMES:
            python = options.python if name == "omnizarr" else options.peer_python
            if python is None:
                self.left_out[name] = "there is no environment with the peers; `make peers` makes it"
                continue
            contestant = Contestant(name, python)
            try:
                side = "own" if name == "omnizarr" else "peers"
                self.results["versions"][side].update(contestant.ask("versions"))
                self.contestants[name] = contestant
            except Failed as error:
                contestant.close()
                self.left_out[name] = str(error)
        self.limit, reason = environment.compile_limit(self.folder)
        if self.limit is None:
            self.left_out["limit"] = reason
        for name, why in self.left_out.items():
            say(f"{name} is left out: {why}")
        if not self.contestants:
            raise SystemExit("nobody is left to measure")

    @property
    def maker(self) -> Contestant:
        """Whoever makes the files that all read: a peer if there is one, so that we do not read only our own."""
        return self.contestants.get("tensorstore") or next(reversed(self.contestants.values()))

    def judge_of(self, name: str) -> Contestant:
        """Whoever checks what `name` wrote: somebody else, if there is anybody."""
        others = [one for one in self.contestants.values() if one.name != name]
        return next((one for one in others if one.name in ("tensorstore", "zarrista")), (others or [self.maker])[0])

    # -- rounds

    def take_turns(
        self, what: str, rows: Sequence[str], measure: Callable[[str, str], float | None], names: Sequence[str]
    ) -> None:
        """Asks every library for every row, round after round, and keeps the best."""
        times: dict[tuple[str, str], list[float]] = {(row, name): [] for row in rows for name in names}
        failed: set[tuple[str, str]] = set()
        for turn in range(self.rounds):
            say(f"{what}: round {turn + 1} of {self.rounds}")
            # another one begins each round: who comes after a slow library may find a colder cache
            order = [*names[turn % len(names) :], *names[: turn % len(names)]]
            for row, name in itertools.product(rows, order):
                if (row, name) in failed or sum(times[row, name]) > self.budget:
                    continue
                try:
                    times[row, name] += one_turn(measure, row, name)
                except Failed as error:
                    say(f"{name} has no result for {row}: {error}")
                    failed.add((row, name))
        cells: Cells = self.results["cells"].setdefault(what, {})
        for (row, name), found in times.items():
            cells.setdefault(row, {})[name] = None if (row, name) in failed else min(found, default=None)

    # -- whole arrays and parts of them

    def make_files(self) -> None:
        say(f"making {self.side}³ uint16 in {len(self.layouts)} layouts with {self.maker.name}")
        self.expected = self.maker.ask("make", folder=str(self.folder), side=self.side, layouts=self.layouts)

    def check_reads(self) -> None:
        """Every library reads every layout once: checked, and warm from then on. The wrong and the unable drop out."""
        say("checking that everybody reads the right data")
        for layout in self.layouts:
            right = []
            for name, contestant in self.contestants.items():
                try:
                    if contestant.ask("checksum", path=str(self.folder / layout)) == self.expected:
                        right.append(name)
                    else:
                        say(f"{name} reads wrong data from {layout}")
                except Failed as error:
                    say(f"{name} cannot read {layout}: {error}")
            if self.limit is not None and self._run_limit(layout)[1] == self.expected:
                right.append("limit")
            self.readers[layout] = right

    def _run_limit(self, layout: str) -> tuple[float, int]:
        codec, chunk, shard = [*layout.removeprefix("shard_").split("_"), "0"][:3]
        command = [str(self.limit), str(self.folder / layout), str(self.side), chunk, shard, codec, "2"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            raise Failed(result.stderr.strip())
        seconds, total = result.stdout.split()
        return float(seconds), int(total)

    def read(self, what: str) -> None:
        """`read` takes everything; `windows`, `plane` and `points` take parts."""

        def measure(layout: str, name: str) -> float | None:
            if name not in self.readers[layout]:
                raise Failed("it did not read the right data")
            if name == "limit":
                return self._run_limit(layout)[0]
            path = str(self.folder / layout)
            seconds: float = self.contestants[name].ask("parts", path=path, what=what, side=self.side)
            return seconds

        names = [*self.contestants, *(["limit"] if self.limit and what == "read" else [])]
        quick = self.quick and what in PARTIAL
        rows = [layout for layout in self.layouts if layout in QUICK_PARTIAL] if quick else self.layouts
        self.take_turns(what, rows, measure, names)

    def write(self) -> None:
        """Everything into a fresh folder, which is deleted afterwards; the first of each cell is checked by another."""
        checked: set[tuple[str, str]] = set()

        def measure(layout: str, name: str) -> float | None:
            path = self.folder / "written"
            try:
                data = str(self.folder / "cube.npy")
                seconds: float = self.contestants[name].ask("write", path=str(path), layout=layout, data=data)
                if (layout, name) not in checked:
                    if self.judge_of(name).ask("checksum", path=str(path)) != self.expected:
                        raise Failed("it wrote wrong data")
                    checked.add((layout, name))
                return seconds
            finally:
                shutil.rmtree(path, ignore_errors=True)

        self.take_turns("write", self.layouts, measure, list(self.contestants))

    # -- the small things

    def small(self) -> None:
        """Five elements out of one chunk."""
        path = str(self.folder / "small")
        self.maker.ask("make_small", path=path)

        def measure(row: str, name: str) -> float | None:
            seconds: float | None = self.contestants[name].ask("small", path=path, memory=row == "memory")
            return seconds

        self.take_turns("small", ["memory", "local"], measure, list(self.contestants))

    def imports(self) -> None:
        """What an import costs after NumPy's own, with what is only loaded when a name is first used."""
        code = (
            "import time, numpy; start = time.perf_counter(); import {0}; getattr({0}, 'open', None); "
            "print(time.perf_counter() - start)"
        )

        def measure(row: str, name: str) -> float | None:
            command = [self.contestants[name].python, "-s", "-c", code.format(name)]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode != 0:
                raise Failed(result.stderr.strip().splitlines()[-1])
            return float(result.stdout)

        self.take_turns("import", ["after numpy"], measure, [name for name in IMPORTS if name in self.contestants])

    def memory(self) -> None:
        """How much memory reading a large array takes beyond what the library has after opening it."""
        path = self.folder / "large"
        times = (1, 2, 2) if self.quick else (2, 4, 4)
        self.maker.ask("make_large", path=str(path), chunk=256, times=times)
        cells: Cells = self.results["cells"].setdefault("memory", {})
        row = f"{32 * times[0] * times[1] * times[2]} MiB in chunks of 32 MiB"
        for name, known in self.contestants.items():
            fresh = Contestant(name, known.python)  # a process that has had no other peak
            try:
                cells.setdefault(row, {})[name] = fresh.ask("memory", path=str(path))
            except Failed as error:
                say(f"{name} has no result for memory: {error}")
            finally:
                fresh.close()
        shutil.rmtree(path)

    def measure(self, what: set[str]) -> None:
        """Everything that was asked for, in order."""
        if what & {"read", "write", *PARTIAL}:
            self.make_files()
        if what & {"read", *PARTIAL}:
            self.check_reads()
        for one in WHAT:
            if one not in what:
                continue
            if one in {"read", *PARTIAL}:
                self.read(one)
            else:
                {"write": self.write, "small": self.small, "import": self.imports, "memory": self.memory}[one]()

    def close(self) -> None:
        for contestant in self.contestants.values():
            contestant.close()


def words(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Reads a list divided by commas."""

    def parse(text: str) -> list[str]:
        found = text.split(",")
        for word in found:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(known)}")
        return found

    return parse


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="256³ in place of 512³, and fewer rounds")
    parser.add_argument("--only", type=words(LAYOUTS), default=list(LAYOUTS), metavar="LAYOUT,...")
    parser.add_argument("--what", type=words(WHAT), default=list(WHAT), metavar="WHAT,...", help=", ".join(WHAT))
    parser.add_argument("--rounds", type=int, default=0, help="how often each cell is measured")
    parser.add_argument("--python", default=environment.own_python(), help="the interpreter that has omnizarr")
    parser.add_argument("--peer-python", default=environment.peer_python(), help="the interpreter that has the peers")
    parser.add_argument("--folder", default=None, help="where the files are made (and deleted)")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into docs/benchmarks.md")
    options = parser.parse_args()

    # a run that is told to stop still ends its workers and deletes its files, which are more than a gigabyte
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: sys.exit("stopped"))
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="omnizarr-bench-", dir=options.folder) as folder:
        run = Run(options, Path(folder))
        try:
            run.measure(set(options.what))
        finally:
            run.close()
    run.results["settings"] = {"side": run.side, "rounds": run.rounds, "threads": environment.THREADS}
    text = report.markdown(run.results)
    print(text)
    place = Path(__file__).with_name("results")
    place.mkdir(exist_ok=True)
    (place / time.strftime("%Y-%m-%d-%H%M%S.json")).write_text(json.dumps(run.results, indent=2))
    if options.write_docs:
        report.write_docs(text)
    say(f"done in {time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
