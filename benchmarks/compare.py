"""Compares two source trees of omnizarr: `python -m benchmarks.compare PATH_A PATH_B [--quick] [--cpu]`.

Both trees read the same files with the same interpreter, in processes of their own, and take turns. The table shows the
best time of each cell and the ratio B / A; below 1, B is faster. To be measured with the kernel, a tree needs a current
`src/omnizarr/native/_kernel.abi3.so`.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.environment import CLOCK_VARIABLE
from benchmarks.options import add_shared, stop_on_signals
from benchmarks.peer import Peer
from benchmarks.report import OWN, TITLES, Cells
from benchmarks.runner import Runner, log
from benchmarks.scale import FULL, LAYOUT_NAMES, QUICK, TINY, Scale
from benchmarks.subjects import measure

DEFAULT = ("read", "windows", "points", "plane", "small", "many", "open", "import")
A, B = "A", "B"


def scale_of(*, quick: bool, tiny: bool) -> Scale:
    """More rounds and time than `python -m benchmarks`, because the differences between two trees are small."""
    if tiny:
        return TINY
    return replace(QUICK, rounds=7, budget=1.5, parts=LAYOUT_NAMES) if quick else replace(FULL, rounds=11, budget=6.0)


def compare(
    trees: Mapping[str, Path], folder: Path, scale: Scale, tables: list[str], layouts: list[str], *, cpu: bool = False
) -> Runner:
    """Measures both trees; the results are in the runner, whose processes are ended."""
    clock = {CLOCK_VARIABLE: "process_time"} if cpu else {}
    peers = {
        name: Peer(OWN, sys.executable, {"PYTHONPATH": str(tree / "src"), **clock}) for name, tree in trees.items()
    }
    runner = Runner(folder, scale, peers, restarts=True)
    try:
        for name, tree in trees.items():
            source = peers[name].ask("source") if name in runner.peers else None
            if source is None or not Path(source["file"]).resolve().is_relative_to(tree.resolve()):
                raise SystemExit(f"{tree} does not provide omnizarr; imported {source}")
            log(f"{name} is {tree.resolve()}, {'with' if source['kernel'] else 'WITHOUT'} a compiled kernel")
        runner.limit = None
        measure(runner, tables, layouts)
    finally:
        runner.close()
    return runner


def table(name: str, cells: Cells) -> tuple[str, list[float]]:
    """The Markdown table of one measurement, and its ratios."""
    title = TITLES[name]
    lines = [f"### {title.text} ({title.unit})", "", "|  | A | B | B / A |", "|---|---:|---:|---:|"]
    ratios: list[float] = []
    for row, times in cells.items():
        a, b = times.get(A), times.get(B)
        if not a or not b:
            lines.append(f"| {row} | {'–' if not a else '+'} | {'–' if not b else '+'} | – |")
            continue
        ratios.append(b / a)
        lines.append(f"| {row} | {a * title.factor:.4g} | {b * title.factor:.4g} | {b / a:.2f} |")
    return "\n".join(lines), ratios


def report(cells: Mapping[str, Cells]) -> str:
    """All tables, then the geometric mean and the range of the ratios of each."""
    parts = []
    summary = ["| table | B / A (geometric mean) | lowest | highest |", "|---|---:|---:|---:|"]
    for name, rows in cells.items():
        text, ratios = table(name, rows)
        parts.append(text)
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            summary.append(f"| {name} | {mean:.2f} | {min(ratios):.2f} | {max(ratios):.2f} |")
    return "\n\n".join([*parts, "\n".join(["### Summary", "", *summary])])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("a", type=Path, metavar="PATH_A", help="a source tree: the folder that has `src/omnizarr`")
    parser.add_argument("b", type=Path, metavar="PATH_B", help="another one")
    parser.add_argument("--cpu", action="store_true", help="CPU time of all threads, for a machine that is busy")
    add_shared(parser, DEFAULT)
    return parser.parse_args()


def main() -> None:
    options = _arguments()
    stop_on_signals()
    scale = scale_of(quick=options.quick, tiny=options.tiny)
    if options.rounds:
        scale = replace(scale, rounds=options.rounds)
    trees = {A: options.a, B: options.b}
    with tempfile.TemporaryDirectory(prefix="omnizarr-compare-", dir=options.folder) as folder:
        runner = compare(trees, Path(folder), scale, options.what, options.only, cpu=options.cpu)
    print(report(runner.results["cells"]))


if __name__ == "__main__":
    main()
