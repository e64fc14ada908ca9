"""Runs measurements: the processes of all libraries, the rounds in which they take turns, and the results.

Libraries take turns, round after round, and the best time of each cell counts, because other programs can only add to
a time.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from benchmarks import environment
from benchmarks.peer import Peer, PeerError
from benchmarks.report import OWN, Cells, Results
from benchmarks.scale import Scale

LIBRARIES = (OWN, "tensorstore", "zarrs", "fused", "zarrista", "zarr")


def log(text: str) -> None:
    """Prints progress to standard error; results go to standard output."""
    print(text, file=sys.stderr, flush=True)


def find_peers(python: str, peer_python: str | None) -> dict[str, Peer]:
    """Omnizarr and the peers; without `peer_python`, omnizarr alone."""
    if peer_python is None:
        log("the peers are left out: there is no environment for them; `make peers` creates it")
        return {OWN: Peer(OWN, python)}
    return {name: Peer(name, python if name == OWN else peer_python) for name in LIBRARIES}


def measure_repeatedly(measure: Callable[[str, str], float | None], row: str, name: str) -> list[float]:
    """The times of one turn: up to five if they are short, because one disturbance can spoil a whole short turn. Empty
    if the library does not support this row."""
    times: list[float] = []
    while len(times) < 5 and sum(times) < 0.1:
        seconds = measure(row, name)
        if seconds is None:
            break
        times.append(seconds)
    return times


class Runner:
    """The libraries under test, the folder of their files, and the results so far."""

    def __init__(self, folder: Path, scale: Scale, peers: Mapping[str, Peer], *, restarts: bool = False) -> None:
        """`peers` are the libraries by their column in the tables. Those that do not start are left out. With
        `restarts`, every round begins with new processes, because whole reads in one process can be 1.2 times slower
        than in another one of the same program."""
        self.folder = folder
        self._restarts = restarts
        self.scale = scale
        self._started = time.time()
        self.peers: dict[str, Peer] = {}
        self.results: Results = {"machine": environment.machine(), "versions": {"own": {}, "peers": {}}, "cells": {}}
        for name, peer in peers.items():
            try:
                versions = peer.ask("versions")
            except PeerError as error:
                peer.close()
                log(f"{name} is left out: {error}")
            else:
                self.results["versions"]["own" if peer.library == OWN else "peers"].update(versions)
                self.peers[name] = peer
        self.limit, reason = environment.compile_limit(folder)
        if self.limit is None:
            log(f"limit is left out: {reason}")
        if not self.peers:
            raise SystemExit("no library can be measured")

    @property
    def own(self) -> Peer | None:
        """Omnizarr, if it takes part."""
        return next((peer for peer in self.peers.values() if peer.library == OWN), None)

    @cached_property
    def maker(self) -> Peer:
        """Creates the files that all libraries read: a process of a peer if possible, so that omnizarr does not only
        read its own files. It takes no part in the measurements, because making the files changes its heap."""
        return (self.peers.get("tensorstore") or next(reversed(self.peers.values()))).fresh()

    def checker_of(self, name: str) -> Peer:
        """The library that checks what `name` wrote: another one, if possible."""
        others = {other: peer for other, peer in self.peers.items() if other != name}
        preferred = (others[other] for other in ("tensorstore", "zarrista") if other in others)
        return next(preferred, next(iter(others.values()), self.maker))

    def columns(self, *libraries: str) -> list[str]:
        """The columns of these libraries, as far as they take part."""
        return [name for name, peer in self.peers.items() if peer.library in libraries]

    def run_limit(self, *arguments: object) -> tuple[float, int]:
        """Runs the program `limit`: its seconds and its checksum."""
        result = subprocess.run([str(self.limit), *map(str, arguments)], capture_output=True, text=True)
        if result.returncode != 0:
            raise PeerError(result.stderr.strip())
        seconds, checksum = result.stdout.split()
        return float(seconds), int(checksum)

    def cells(self, table: str) -> Cells:
        """The cells of one table, for the caller to fill."""
        cells: Cells = self.results["cells"].setdefault(table, {})
        return cells

    def fill_table(
        self,
        table: str,
        rows: Sequence[str],
        measure: Callable[[str, str], float | None],
        names: Sequence[str] | None = None,
    ) -> None:
        """Measures every row with every library, in rounds, and keeps the best time of each cell.

        `measure(row, name)` returns seconds, or None if the library does not support the row.
        """
        names = list(self.peers) if names is None else names
        times: dict[tuple[str, str], list[float]] = {(row, name): [] for row in rows for name in names}
        failed: set[tuple[str, str]] = set()
        for turn in range(self.scale.rounds):
            log(f"{time.time() - self._started:5.0f} s  {table}: round {turn + 1} of {self.scale.rounds}")
            if self._restarts:
                for peer in self.peers.values():
                    peer.close()
            # each round begins with another library: after a slow one, the CPU caches are colder
            first = turn % len(names)
            for row, name in itertools.product(rows, [*names[first:], *names[:first]]):
                known = times[row, name]
                if (row, name) in failed or (known and sum(known) > self.scale.budget) or (turn and not known):
                    continue
                try:
                    known += measure_repeatedly(measure, row, name)
                except PeerError as error:
                    log(f"{name} has no result for {row}: {error}")
                    failed.add((row, name))
        cells = self.cells(table)
        for (row, name), known in times.items():
            cells.setdefault(row, {})[name] = None if (row, name) in failed else min(known, default=None)

    def close(self) -> None:
        """Ends all processes."""
        for peer in [*self.peers.values(), self.maker]:
            peer.close()
