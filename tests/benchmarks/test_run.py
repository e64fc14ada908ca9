"""The benchmarks can be run: what is asked for is measured, alone and on little data."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from benchmarks import run
from benchmarks.field import Field
from benchmarks.scale import TINY


@pytest.mark.skipif(os.name == "nt", reason="the workers ask for what only Unix tells of memory")
def test_every_small_measurement_gives_a_figure_for_each_row(tmp_path: Path) -> None:
    field = Field(tmp_path, TINY, sys.executable, None)
    try:
        run.measure(field, {"lines", "many", "growth", "small", "open"}, ())
    finally:
        field.close()
    cells = field.results["cells"]
    assert list(cells) == ["lines", "many", "element", "growth", "small", "open"]
    assert all(row["omnizarr"] > 0 for table in cells.values() for row in table.values())
