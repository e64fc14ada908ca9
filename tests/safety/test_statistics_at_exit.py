"""A process stores the statistics of what it has written when it ends, in each way in which processes end."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import omnizarr

WRITE = "import omnizarr, sys; omnizarr.open_array(sys.argv[1])[3, 3] = 70"


def write(path: Path) -> None:
    omnizarr.open_array(path)[3, 3] = 70


@pytest.mark.parametrize("kind", ["program", "fork", "spawn"])
def test_statistics_are_stored_at_exit(kind: str, tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path / "z", data=np.arange(64.0).reshape(8, 8), chunks=(4, 4))
    z.statistics.build()
    if kind == "program":
        subprocess.run([sys.executable, "-c", WRITE, tmp_path / "z"], check=True, timeout=60)
    else:
        child = multiprocessing.get_context(kind).Process(target=write, args=(tmp_path / "z",))
        child.start()
        child.join(60)
        assert child.exitcode == 0
    assert (z.statistics.state().stale, z.max()) == (0, 70)


def test_a_child_leaves_the_chunks_of_its_parent_to_the_parent(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path / "z", data=np.arange(64.0).reshape(8, 8), chunks=(4, 4))
    z.statistics.build()
    z[7, 7] = -5  # another chunk than that of the child
    child = multiprocessing.get_context("fork").Process(target=write, args=(tmp_path / "z",))
    child.start()
    child.join(60)
    assert (child.exitcode, z.statistics.state().stale) == (0, 1)
    z.statistics.flush()
    assert z.statistics.state().stale == 0
