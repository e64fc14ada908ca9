"""Measures omnizarr and its peers on this machine: `python -m benchmarks`, or `make bench`.

All libraries read the same files. Before the run times a library, it checks what the library reads and writes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks import environment, report
from benchmarks.options import add_shared, stop_on_signals
from benchmarks.runner import Runner, find_peers, log
from benchmarks.scale import FULL, QUICK, TINY
from benchmarks.subjects import TABLES, measure


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add_shared(parser, TABLES)
    parser.add_argument("--python", default=environment.own_python(), help="the interpreter that has omnizarr")
    parser.add_argument("--peer-python", default=environment.peer_python(), help="the interpreter that has the peers")
    parser.add_argument("--no-peers", dest="peer_python", action="store_const", const=None, help="omnizarr alone")
    parser.add_argument("--write-docs", action="store_true", help="write tables and chart to docs/")
    return parser.parse_args()


def main() -> None:
    options = _arguments()
    stop_on_signals()
    scale = TINY if options.tiny else QUICK if options.quick else FULL
    if options.rounds:
        scale = replace(scale, rounds=options.rounds)
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="omnizarr-bench-", dir=options.folder) as folder:
        runner = Runner(Path(folder), scale, find_peers(options.python, options.peer_python))
        try:
            measure(runner, options.what, options.only)
        finally:
            runner.close()
    results = runner.results
    results["settings"] = {
        "side": scale.side,
        "line": scale.line,
        "rounds": scale.rounds,
        "threads": environment.THREADS,
    }
    print(report.markdown(results))
    kept = Path(__file__).with_name("results")
    kept.mkdir(exist_ok=True)
    (kept / time.strftime("%Y-%m-%d-%H%M%S.json")).write_text(json.dumps(results, indent=2))
    if options.write_docs:
        report.write_docs(results, quick=options.quick or options.tiny)
    log(f"done in {time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
