"""`benchmarks.compare` measures two source trees and reports their ratios."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks.compare import compare, report
from benchmarks.scale import TINY

import omnizarr

TREE = Path(omnizarr.__file__).parents[2]


@pytest.mark.skipif(os.name == "nt", reason="the processes measure memory with calls that only Unix has")
@pytest.mark.skipif(TREE.joinpath("src/omnizarr").exists() is False, reason="omnizarr is not a source tree here")
def test_a_tree_is_compared_with_itself(tmp_path: Path) -> None:
    runner = compare({"A": TREE, "B": TREE}, tmp_path, TINY, ["small", "import"], [])
    cells = runner.results["cells"]
    assert list(cells) == ["small", "import"]
    assert all(row["A"] > 0 and row["B"] > 0 for table in cells.values() for row in table.values())


def test_a_folder_without_omnizarr_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="does not provide omnizarr|no library can be measured"):
        compare({"A": tmp_path, "B": tmp_path}, tmp_path, TINY, ["small"], [])


def test_the_report_shows_ratios_and_their_geometric_mean() -> None:
    text = report({"small": {"memory": {"A": 1e-6, "B": 2e-6}, "local": {"A": 8e-6, "B": 4e-6}, "none": {"A": None}}})
    assert "| memory | 1 | 2 | 2.00 |" in text
    assert "| local | 8 | 4 | 0.50 |" in text
    assert "| small | 1.00 | 0.50 | 2.00 |" in text
