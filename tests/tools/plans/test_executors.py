"""Plans on a dask cluster that loses a worker, on executors that only have `submit`, and after `kill -9`."""

from __future__ import annotations

import os
import pickle
import random
import signal
import warnings
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.store import LocalStore, MemoryStore
from omnizarr.tools import Plan, copy, rechunk
from tests.safety.processes import killed_after
from tests.tools.plans.test_plan import check_result, squares

DATA = np.random.default_rng(0).integers(0, 1000, (120, 60), dtype="i4")


class Pickling(Executor):
    """Like `mpi4py.futures`: everything crosses a process boundary, and nothing is known about the workers."""

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        function, arguments, options = pickle.loads(pickle.dumps((function, arguments, options)))
        future.set_result(pickle.loads(pickle.dumps(function(*arguments, **options))))
        return future


def source(place: Path) -> omnizarr.Array:
    omnizarr.create_array(place, data=DATA, chunks=(2, 60), compressors=None)
    return omnizarr.open_array(place, mode="r")


def plans(place: Path, target: Path, **options: Any) -> dict[str, Plan]:
    array = omnizarr.open_array(place, mode="r")
    return {
        "copy": copy(array, target, **options),
        "re-encode": copy(array, target, compressors="gzip", chunks=(4, 60), **options),
        "rechunk": rechunk(array, target, chunks=(120, 1), max_memory=8_000, **options),
    }


@pytest.mark.parametrize("verb", ["copy", "re-encode", "rechunk"])
def test_an_executor_that_only_submits(tmp_path: Path, verb: str) -> None:
    source(tmp_path / "a")
    plan = plans(tmp_path / "a", tmp_path / "b")[verb]
    assert plan.run(Pickling()).finished
    np.testing.assert_array_equal(omnizarr.open_array(tmp_path / "b", mode="r")[...], DATA)


@pytest.mark.parametrize("verb", ["copy", "re-encode", "rechunk"])
def test_kill_at_ten_random_moments_then_resume(tmp_path: Path, verb: str) -> None:
    source(tmp_path / "a")

    def work() -> None:
        plans(tmp_path / "a", tmp_path / "b", resume=True)[verb].run(workers=2, resume=True)

    for _ in range(10):
        killed_after(work, random.uniform(0, 0.06))
    plans(tmp_path / "a", tmp_path / "b", resume=True)[verb].run(resume=True)
    np.testing.assert_array_equal(omnizarr.open_array(tmp_path / "b", mode="r")[...], DATA)
    list(LocalStore(tmp_path / "b").list())  # removes the temporary files of killed writers
    # A kill between the erasure of the last record and that of its directory leaves an empty directory.
    files = (path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*") if path.is_file())
    assert {path.parts[0] for path in files} == {"c", "zarr.json"}


class Failing(MemoryStore):
    """A store that fails at one of its erasures, as if the process were killed there."""

    left = -1

    def erase(self, key: str) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        super().erase(key)


def test_a_crash_while_the_journal_is_erased(tmp_path: Path) -> None:
    """The records of tasks, and intermediate arrays, go one after the other; resuming must not read what is gone."""
    data = DATA[:30, :30]
    array = omnizarr.create_array(tmp_path / "a", data=data, chunks=(1, 30), compressors=None)
    options: dict[str, Any] = {"chunks": (30, 1), "max_memory": 1500, "resume": True}
    crashes = 0
    for left in [*range(1, 20, 3), *range(20, 4000, 61)]:
        store = Failing()
        plan = rechunk(array, store, **options)
        assert len(plan.stages) > 1
        store.left = left
        try:
            plan.run(workers=1, resume=True)
            break
        except KeyboardInterrupt:
            crashes += 1
        store.left = -1
        rechunk(array, store, **options).run(workers=1, resume=True)
        np.testing.assert_array_equal(omnizarr.open_array(store, mode="r")[...], data)
        assert not list(store.list_prefix(".omnizarr-plan/"))
    assert crashes > 3


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_that_loses_one_of_two_workers(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    store = LocalStore(tmp_path / "target")
    plan = squares(store, 60, seconds=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
        with cluster, distributed.Client(cluster) as client, client.get_executor() as executor:
            victims = list(client.run(os.getpid).values())
            assert len(set(victims)) == 2

            def kill_one(done: int, total: int) -> None:
                if done == 10:
                    os.kill(victims[0], signal.SIGKILL)

            assert plan.run(executor, workers=2, progress=kill_one).finished
    check_result(store, 60)
