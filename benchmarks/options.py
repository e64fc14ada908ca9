"""Command line options that `python -m benchmarks` and `python -m benchmarks.compare` share."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence

from benchmarks.scale import LAYOUT_NAMES
from benchmarks.subjects import TABLES

__all__ = ["add_shared", "stop_on_signals"]


def _words(known: Sequence[str]) -> Callable[[str], list[str]]:
    """A parser of comma-separated lists of known words."""

    def parse(text: str) -> list[str]:
        words = text.split(",")
        for word in words:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(known)}")
        return words

    return parse


def add_shared(parser: argparse.ArgumentParser, tables: Sequence[str]) -> None:
    """Adds the shared options; `tables` are those that are measured by default."""
    parser.add_argument(
        "--only",
        type=_words(LAYOUT_NAMES),
        default=list(LAYOUT_NAMES),
        metavar="LAYOUT,...",
        help=", ".join(LAYOUT_NAMES),
    )
    parser.add_argument("--what", type=_words(TABLES), default=list(tables), metavar="WHAT,...", help=", ".join(TABLES))
    parser.add_argument("--quick", action="store_true", help="less data and fewer rounds")
    parser.add_argument("--tiny", action="store_true", help="the least data that exercises every measurement")
    parser.add_argument("--rounds", type=int, default=0, help="how often each cell is measured")
    parser.add_argument("--folder", default=None, help="the parent folder of the temporary files")


def stop_on_signals() -> None:
    """Makes SIGINT and SIGTERM raise SystemExit, so that a stopped run ends its processes and deletes its files (more
    than 1 GB)."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit("stopped"))
