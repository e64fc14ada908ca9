"""Arrays with millions of possible and few stored chunks: costs must not grow with the possible ones."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np

from benchmarks.layouts import Layout
from benchmarks.runner import Runner
from benchmarks.subjects.actions import Actions, timed, write_document

CHUNK = 100  # elements
READS = 200  # per measurement
FEW, MILLIONS = 10, 10_000_000  # possible chunks
STORED = 1000  # chunks


class GrowthActions(Actions):
    """Reads one element, counts chunks, and resizes."""

    def make(self, path: str, chunks: int, stored: int) -> None:
        """Creates an array of `chunks` possible chunks; about `stored` of them exist and hold 0, 1, 2 …"""
        write_document(path, Layout("raw", CHUNK).document((chunks * CHUNK,)))
        os.mkdir(f"{path}/c")
        chunk = np.arange(CHUNK, dtype="<u2").tobytes()
        for number in range(0, chunks, max(1, chunks // stored)):
            Path(path, "c", str(number)).write_bytes(chunk)

    def element(self, path: str, chunks: int) -> float:
        """Seconds to read one element."""
        array, read = self.open_once(path), self.adapter.read
        at = chunks // 2 * CHUNK + 7
        box = (slice(at, at + 1),)
        seconds = timed(
            lambda: [read(array, box) for _ in range(READS)],
            lambda results: all(result.tolist() == [7] for result in results),
        )
        return seconds / READS

    def count(self, path: str) -> float:
        """Seconds to count the stored chunks."""
        array = self.open_once(path)
        return timed(lambda: self.adapter.stored_chunks(array), lambda count: count == STORED)

    def shrink(self, path: str, chunks: int) -> float:
        """Seconds to resize an array to half its length."""
        array = self.adapter.open(path, write=True)
        seconds = timed(lambda: self.adapter.resize(array, chunks // 2 * CHUNK))
        if len(os.listdir(f"{path}/c")) != STORED // 2:
            raise ValueError("it left chunks outside the array")
        return seconds

    def grow(self, path: str, chunks: int) -> float:
        """Seconds to lengthen an array by one chunk."""
        array = self.adapter.open(path, write=True)
        return timed(lambda: self.adapter.resize(array, (chunks + 1) * CHUNK))


def measure_growth(runner: Runner) -> None:
    """Measures one element of few and of very many chunks; then counting and resizing."""
    folder, possible = runner.folder, runner.scale.possible
    for chunks in (FEW, MILLIONS):
        runner.maker.ask("growth.make", path=str(folder / f"chunks-{chunks}"), chunks=chunks, stored=FEW)

    def read_element(row: str, name: str) -> float | None:
        chunks = FEW if row == rows[0] else MILLIONS
        seconds: float | None = runner.peers[name].ask(
            "growth.element", path=str(folder / f"chunks-{chunks}"), chunks=chunks
        )
        return seconds

    rows = [f"one element out of {FEW} chunks", f"one element out of {MILLIONS:,} chunks"]
    runner.fill_table("element", rows, read_element)

    runner.maker.ask("growth.make", path=str(folder / "sparse"), chunks=possible, stored=STORED)
    copies = itertools.count()

    def count_or_resize(row: str, name: str) -> float | None:
        peer = runner.peers[name]
        if row.startswith("count"):
            seconds: float | None = peer.ask("growth.count", path=str(folder / "sparse"))
            return seconds
        path = str(folder / f"sparse-{next(copies)}")
        runner.maker.ask("growth.make", path=path, chunks=possible, stored=STORED)
        seconds = peer.ask("growth.shrink" if "half" in row else "growth.grow", path=path, chunks=possible)
        return seconds

    stored = f"{STORED:,} of {possible:,} chunks"
    rows = [f"count {stored}", f"resize to half, {stored}", f"resize by one more, {stored}"]
    runner.fill_table("growth", rows, count_or_resize, runner.columns("omnizarr", "tensorstore", "zarr"))
