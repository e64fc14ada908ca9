"""Measures omnizarr behind the interface of zarr-python: `python -m benchmarks.compat`, or `make bench-compat`.

`compat` is `omnizarr.compat.zarr`, `pipeline` is zarr-python with `OmnizarrCodecPipeline`, `zarrs` is zarr-python with
the pipeline of that name, and `zarr` with its default one. All read and write the nine layouts of
`python -m benchmarks`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks import environment
from benchmarks.options import add_shared, stop_on_signals
from benchmarks.peer import ROOT, Peer
from benchmarks.report import Cells, markdown_table
from benchmarks.runner import Runner
from benchmarks.scale import FULL, QUICK, TINY
from benchmarks.subjects.cubes import measure_cubes

RATIOS = (("compat", "omnizarr"), ("zarr", "compat"), ("zarrs", "pipeline"), ("zarr", "pipeline"))
"""Numerator and denominator of the last columns."""


def _peers() -> dict[str, Peer]:
    folder = Path(os.environ.get("OMNIZARR_PEERS", ROOT / ".peers"))
    own, theirs = environment.own_python(), environment.peer_python()
    peers = {"omnizarr": Peer("omnizarr", own), "compat": Peer("compat", own)}
    if theirs is not None:
        together = str(folder / "together" / Path(theirs).parent.name / Path(theirs).name)
        peers["pipeline"] = Peer("pipeline", together, {"PYTHONPATH": str(ROOT / "src")})
        peers |= {name: Peer(name, theirs) for name in ("zarrs", "zarr")}
    return peers


def table(title: str, cells: Cells) -> str:
    """One table: milliseconds of each library, then ratios."""
    columns = list(dict.fromkeys(name for row in cells.values() for name in row))
    ratios = [pair for pair in RATIOS if set(pair) <= set(columns)]
    rows = []
    for layout, times in cells.items():
        row = [layout]
        for name in columns:
            seconds = times.get(name)
            row.append("–" if seconds is None else f"{seconds * 1e3:.0f}")
        for above, below in ratios:
            pair = times.get(above), times.get(below)
            row.append(f"{pair[0] / pair[1]:.2f}" if pair[0] and pair[1] else "–")
        rows.append(row)
    return f"### {title} (ms)\n\n" + markdown_table(["", *columns, *map(" / ".join, ratios)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compat", description=__doc__)
    add_shared(parser, ("read", "write"))
    options = parser.parse_args()
    stop_on_signals()
    scale = TINY if options.tiny else QUICK if options.quick else FULL
    if options.rounds:
        scale = replace(scale, rounds=options.rounds)
    with tempfile.TemporaryDirectory(prefix="omnizarr-bench-", dir=options.folder) as folder:
        runner = Runner(Path(folder), scale, _peers())
        try:
            measure_cubes(runner, [what for what in options.what if what in ("read", "write")], options.only)
        finally:
            runner.close()
    titles = {"read": "Read everything", "write": "Write everything into a fresh folder"}
    print("\n\n".join(table(titles[name], cells) for name, cells in runner.results["cells"].items()))


if __name__ == "__main__":
    main()
