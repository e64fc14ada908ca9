"""Measures omnizarr beside its peers on this machine, in one run: `python -m benchmarks`, or `make bench`.

The same files serve all libraries. What a library reads or writes is first checked against the data, so that nobody
gets credit for wrong bytes.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import cubes, environment, report
from benchmarks.cubes import Cubes
from benchmarks.field import Field, say
from benchmarks.growth import growth
from benchmarks.lines import lines
from benchmarks.many import many
from benchmarks.memory import memory
from benchmarks.scale import ALL, FULL, QUICK, TINY
from benchmarks.single import imports, opening, small

OTHERS: dict[str, Callable[[Field], None]] = {
    "lines": lines,
    "many": many,
    "growth": growth,
    "small": small,
    "open": opening,
    "import": imports,
    "memory": memory,
}
WHAT = (*cubes.WHAT, *OTHERS)


def measure(field: Field, what: set[str], layouts: Sequence[str]) -> None:
    """Everything that was asked for, in order."""
    if what & set(cubes.WHAT):
        Cubes(field, layouts).measure(what & set(cubes.WHAT))
    for name, one in OTHERS.items():
        if name in what:
            one(field)


def words(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Reads a list divided by commas."""

    def parse(text: str) -> list[str]:
        found = text.split(",")
        for word in found:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(known)}")
        return found

    return parse


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little data and few rounds, in two minutes")
    parser.add_argument("--tiny", action="store_true", help="as little as shows that everything can be measured")
    parser.add_argument("--only", type=words(ALL), default=list(ALL), metavar="LAYOUT,...", help=", ".join(ALL))
    parser.add_argument("--what", type=words(WHAT), default=list(WHAT), metavar="WHAT,...", help=", ".join(WHAT))
    parser.add_argument("--rounds", type=int, default=0, help="how often each cell is measured")
    parser.add_argument("--python", default=environment.own_python(), help="the interpreter that has omnizarr")
    parser.add_argument("--peer-python", default=environment.peer_python(), help="the interpreter that has the peers")
    parser.add_argument("--no-peers", dest="peer_python", action="store_const", const=None, help="omnizarr alone")
    parser.add_argument("--folder", default=None, help="where the files are made (and deleted)")
    parser.add_argument("--write-docs", action="store_true", help="put tables and chart into docs/")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    # a run that is told to stop still ends its workers and deletes its files, which are more than a gigabyte
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: sys.exit("stopped"))
    scale = TINY if options.tiny else QUICK if options.quick else FULL
    if options.rounds:
        scale = replace(scale, rounds=options.rounds)
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="omnizarr-bench-", dir=options.folder) as folder:
        field = Field(Path(folder), scale, options.python, options.peer_python)
        try:
            measure(field, set(options.what), options.only)
        finally:
            field.close()
    results = field.results
    results["settings"] = {
        "side": scale.side,
        "line": scale.line,
        "rounds": scale.rounds,
        "threads": environment.THREADS,
    }
    text = report.markdown(results)
    print(text)
    place = Path(__file__).with_name("results")
    place.mkdir(exist_ok=True)
    (place / time.strftime("%Y-%m-%d-%H%M%S.json")).write_text(json.dumps(results, indent=2))
    if options.write_docs:
        report.write_docs(results, quick=options.quick or options.tiny)
    say(f"done in {time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
