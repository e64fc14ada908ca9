"""The table in docs/generations.md says what omnizarr reads of the corpora."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.interop.corpora.reading_table import RESULTS, corpus_arrays, reads, repository_arrays
from tests.peers.environments import ROOT

import omnizarr


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


def test_arrays_of_all_generations_are_found_in_a_repository(tmp_path: Path) -> None:
    clone, copy = tmp_path / "clone", tmp_path / "copy"
    folders = [f"data-{generation}" for generation in (2, "3-draft-2020", "3-draft-2022", 3, "n5")]
    for generation in (2, "3-draft-2020", "3-draft-2022", 3, "n5"):
        group = omnizarr.create_group(clone / f"data-{generation}", zarr_format=generation)  # type: ignore[arg-type]
        group.create_array("a/b", data=[1, 2, 3])
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "all"]):
        subprocess.run(["git", "-C", str(clone), *command], check=True)
    arrays = list(repository_arrays(str(clone), copy))
    found = {Path(array.location, array.path).relative_to(copy).as_posix() for array in arrays}
    assert found == {f"{folder}/a/b" for folder in folders}
    assert all(reads(array).tolist() == [1, 2, 3] for array in arrays)
