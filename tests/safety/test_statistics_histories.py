"""Statistics of chunks under many writers: some keep them, some do not know of them, and some are killed. A process
stores those of what it has written when it ends, in each way in which processes end."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.nodes.statistics import pending
from omnizarr.nodes.statistics.marker import remove_marker
from tests.safety.processes import forked, wait_for

SIDE, CHUNK, ROUNDS = 24, 8, 5


def write_at_random(path: Path, seed: int, keeps: bool) -> None:
    rng = random.Random(seed)
    pending._INTERVAL = 0.02  # type: ignore[attr-defined]
    z = omnizarr.open_array(path)
    if not keeps:
        z._set_model(remove_marker(z._model))
    end = time.monotonic() + rng.uniform(0.1, 0.5)
    while time.monotonic() < end:
        row, column = rng.randrange(SIDE), rng.randrange(SIDE)
        z[row : row + rng.randrange(1, 9), column : column + rng.randrange(1, 9)] = rng.choice(
            [0, rng.randrange(-9, 99)]
        )
        if rng.random() < 0.1:
            time.sleep(0.11)  # files get versions that last
        if keeps and rng.random() < 0.05:
            rng.choice([z.statistics.flush, z.statistics.build])()


def check_all(path: Path) -> None:
    z = omnizarr.open_array(path, mode="r")
    data = z[...]
    assert (z.min(), z.max(), z.mean()) == (data.min(), data.max(), data.mean())
    low = int(np.percentile(data, 90))
    assert [axis.tolist() for axis in z.find(low)] == [axis.tolist() for axis in np.nonzero(data >= low)]
    blocks = data.reshape(SIDE // CHUNK, CHUNK, SIDE // CHUNK, CHUNK)
    table = z.statistics.table()
    for name, values in (("min", blocks.min((1, 3))), ("max", blocks.max((1, 3))), ("sum", blocks.sum((1, 3)))):
        assert table[name].tolist() == values.tolist()
    assert table["fill_count"].tolist() == (blocks == 0).sum((1, 3)).tolist()


@pytest.mark.parametrize("options", [{"compressors": None}, {"shards": (CHUNK, CHUNK), "chunks": (4, 4)}])
def test_no_result_depends_on_who_wrote(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "z"
    z = omnizarr.create_array(path, **({"shape": (SIDE, SIDE), "chunks": (CHUNK, CHUNK), "dtype": "i4"} | options))
    z.statistics.build()
    rng = random.Random(1)
    for _ in range(ROUNDS):
        writers = [(rng.randrange(2**30), rng.random() < 0.7) for _ in range(3)]
        children = [forked(lambda writer=writer: write_at_random(path, *writer)) for writer in writers]  # type: ignore[misc]
        time.sleep(rng.random() * 0.4)
        os.kill(children[0], signal.SIGKILL)
        codes = [wait_for(child) for child in children]
        assert codes[1:] == [0, 0]
        check_all(path)
    assert omnizarr.open_array(path).statistics.build().stale == 0
    check_all(path)


# -- the end of a process

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


WRITE_FOREVER = """
import omnizarr, sys, threading

z = omnizarr.open_array(sys.argv[1])
began = threading.Event()

def write() -> None:
    while True:
        z[3, 3] = 70
        began.set()

threading.Thread(target=write, daemon=True).start()
began.wait()
"""


def test_a_thread_that_writes_forever_does_not_keep_its_process_from_ending(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path / "z", data=np.arange(64.0).reshape(8, 8), chunks=(4, 4))
    z.statistics.build()
    subprocess.run([sys.executable, "-c", WRITE_FOREVER, tmp_path / "z"], check=True, timeout=120)
    assert z.max() == 70


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
