"""The table in docs/generations.md says what omnizarr reads of the corpora."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.interop.reading_table import RESULTS, corpus_arrays, reads
from tests.peers.environments import ROOT


def test_omnizarr_reads_as_many_arrays_as_the_table_says() -> None:
    rows = json.loads(RESULTS.read_text("utf-8"))["corpora"]
    table = {row["source"]: (row["arrays"], row["omnizarr"]) for row in rows}
    counts = {
        source: (len(arrays), sum(reads(array) is not None for array in arrays))
        for source, arrays in corpus_arrays().items()
    }
    assert counts == table, "run `make reading`"


def test_no_library_reads_more_arrays_of_a_source() -> None:
    results = json.loads(RESULTS.read_text("utf-8"))
    ahead = {
        row["source"]: best - row["omnizarr"]
        for row in (*results["corpora"], *results["repositories"])
        if (best := max(row["zarr"], row["tensorstore"])) > row["omnizarr"]
    }
    assert ahead == {}


def test_the_table_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "docs" / "make_reading.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, f"{result.stderr}\nrun `make tables`"
