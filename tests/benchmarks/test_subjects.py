"""The subjects of the benchmarks run, with omnizarr only and little data."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from benchmarks.runner import Runner, find_peers
from benchmarks.scale import TINY
from benchmarks.subjects import measure


@pytest.mark.skipif(os.name == "nt", reason="the processes measure memory with calls that only Unix has")
def test_every_small_measurement_fills_every_row(tmp_path: Path) -> None:
    runner = Runner(tmp_path, TINY, find_peers(sys.executable, None))
    try:
        measure(runner, {"lines", "many", "growth", "small", "open"}, ())
    finally:
        runner.close()
    cells = runner.results["cells"]
    assert list(cells) == ["lines", "many", "element", "growth", "small", "open"]
    assert all(row["omnizarr"] > 0 for table in cells.values() for row in table.values())
