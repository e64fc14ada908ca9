"""Tests of the README: its example prints the shown output, its commands exist, its figures and tables are current."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT, blocks, read, run_python


def test_the_example_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = 0
    for line, shown, printed in run_python("README.md"):
        assert printed == shown, f"README.md, line {line}"
        ran += 1
    assert ran


def test_the_example_is_short() -> None:
    (example,) = (block.text for block in blocks("README.md") if block.kind == "python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 10


def test_its_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|\$ )make ([a-z-]+)", read("README.md"))) <= targets


def test_table_cells_are_short() -> None:
    """Long lists belong into the generated tables of docs/extensions.md."""
    rows = [line for line in read("README.md").splitlines() if line.startswith("|")]
    assert rows
    assert max(len(re.sub(r"\(.*?\)", "", cell)) for row in rows for cell in row.split("|")) <= 240


def test_the_chart_shows_the_figures_of_the_benchmark() -> None:
    command = [sys.executable, str(ROOT / "docs" / "make_chart.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, f"{result.stderr}\nrun `make tables`"


def test_its_figures_are_those_of_the_benchmark() -> None:
    """The claims repeat the ratios that docs/benchmarks.md states."""
    prose, benchmarks = " ".join(read("README.md").split()), " ".join(read("docs/benchmarks.md").split())
    for figure in ("1.12 to 2.7", "0.92 to 1.11", "0.99 to 1.5", "1.02"):
        assert figure in prose
        assert figure in benchmarks, f"{figure}: update the README"


REGISTERED = """
from omnizarr.chunk_keys import chunk_key_encodings
from omnizarr.codecs import codecs
from omnizarr.dtypes.contract import data_types
from omnizarr.grids import chunk_grids
for registry in (data_types, codecs, chunk_grids, chunk_key_encodings):
    print(*registry.names())
"""


def test_the_linked_tables_name_everything_that_is_registered() -> None:
    """Uses a new interpreter because other tests register names of their own."""
    shown = subprocess.run([sys.executable, "-c", REGISTERED], capture_output=True, text=True, check=True).stdout
    named = set(re.findall(r"^\| `([^`]+)`", read("docs/extensions.md"), re.MULTILINE))
    assert len(shown.split()) > 20
    assert set(shown.split()) - named == set()
