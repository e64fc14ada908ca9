"""The README tells the truth: its example runs and prints what it shows, its commands exist, and its table names what
is registered."""

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


REGISTERED = """
from omnizarr.chunk_keys import chunk_key_encodings
from omnizarr.codecs import codecs
from omnizarr.dtypes.contract import data_types
from omnizarr.grids import chunk_grids
for registry in (data_types, codecs, chunk_grids, chunk_key_encodings):
    print(*registry.names())
"""


def test_its_table_names_all_that_is_registered() -> None:
    """`int8` … `int64` stands for those between them, too. A fresh interpreter is asked, for other tests register
    names of their own."""
    shown = subprocess.run([sys.executable, "-c", REGISTERED], capture_output=True, text=True, check=True).stdout
    table = "\n".join(line for line in read("README.md").splitlines() if line.startswith("|"))
    told = set(re.findall(r"`([\w.-]+)`", table))
    for first, last in re.findall(r"`(\w+)` … `(\w+)`", table):
        kind = first.rstrip("0123456789")
        low, high = int(first[len(kind) :]), int(last[len(kind) :])
        told |= {f"{kind}{low << power}" for power in range(8) if low << power <= high}
    assert len(shown.split()) > 20
    assert {name.removeprefix("numcodecs.") for name in shown.split()} - told == set()
