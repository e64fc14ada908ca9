"""Versioned arrays under several processes and kills: no commit is lost, and readers see whole versions."""

from __future__ import annotations

import os
import shutil
import signal
import time
from datetime import timedelta
from pathlib import Path
from random import Random

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ConflictError
from omnizarr.nodes.versioned_array import VersionedArray
from omnizarr.store import SQLiteStore, Store
from omnizarr.store.local.store import LocalStore
from omnizarr.transformers import Versions
from tests.safety.processes import forked, run_all, wait_for
from tests.safety.ptrace import kill_at, reason_not_to

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

WORKERS, COMMITS = 4, 6


def _store(kind: str, folder: Path) -> Store:
    return LocalStore(folder / "v.zarr") if kind == "local" else SQLiteStore(folder / "v.sqlite")


def _create(store: Store, **options: object) -> VersionedArray:
    array = omnizarr.create_array(store, storage_transformers=[Versions()], **options)  # type: ignore[arg-type]
    assert isinstance(array, VersionedArray)
    return array


def _open(store: Store, **options: object) -> VersionedArray:
    array = omnizarr.open_array(store, **options)  # type: ignore[arg-type]
    assert isinstance(array, VersionedArray)
    return array


@pytest.mark.parametrize("kind", ["local", "sqlite"])
def test_concurrent_commits_of_different_chunks_lose_nothing(kind: str, tmp_path: Path) -> None:
    """Each process counts up in a chunk of its own; all versions together show every number of each, in order."""
    _create(_store(kind, tmp_path), shape=(WORKERS, 3), chunks=(1, 3), dtype="i4")

    def work(number: int) -> None:
        z = _open(_store(kind, tmp_path))
        for step in range(1, COMMITS + 1):
            z[number] = step
            z.commit(f"{number}: {step}")

    run_all(work, [(number,) for number in range(WORKERS)])
    store = _store(kind, tmp_path)
    versions = _open(store).versions()
    assert len(versions) == WORKERS * COMMITS + 1
    counts = np.zeros(WORKERS, int)
    for version in versions[1:]:
        number, step = map(int, version.message.split(":"))
        counts[number] += 1
        assert counts[number] == step
        elements = _open(store, version=version.number)[:]
        assert (elements == counts[:, None]).all(), "a version has the changes of all commits before it"


def test_concurrent_commits_of_one_chunk_lose_nothing(tmp_path: Path) -> None:
    """Each process adds to the same number; after a conflict, it repeats its change on the new version."""
    _create(LocalStore(tmp_path), shape=4, chunks=4, dtype="i4")

    def work() -> None:
        z = _open(LocalStore(tmp_path))
        for _ in range(COMMITS):
            while True:
                z[1] = z[1] + 1
                try:
                    z.commit()
                    break
                except ConflictError:
                    z.rollback()

    run_all(work, [()] * 3)
    z = _open(LocalStore(tmp_path))
    assert z[1] == 3 * COMMITS
    values = [int(_open(LocalStore(tmp_path), version=version.number)[1]) for version in z.versions()]
    assert values == list(range(3 * COMMITS + 1))


def test_appends_of_several_processes_and_a_pruner(tmp_path: Path) -> None:
    _create(LocalStore(tmp_path), shape=0, chunks=3, dtype="i4")

    def append(number: int) -> None:
        z = _open(LocalStore(tmp_path))
        for step in range(COMMITS):
            while True:
                try:
                    with z.transaction(f"{number}"):
                        z.append(np.array([100 * number + step], "i4"))
                    break
                except ConflictError:
                    pass

    def prune(number: int) -> None:
        z = _open(LocalStore(tmp_path))
        for _ in range(8):
            z.refresh()
            z.prune(keep=2, grace=timedelta(seconds=60))

    run_all(lambda work, number: work(number), [(append, 1), (append, 2), (prune, 0)])
    elements = _open(LocalStore(tmp_path))[:].tolist()
    for number in (1, 2):
        assert [value for value in elements if value // 100 == number] == [100 * number + n for n in range(COMMITS)]
    assert len(elements) == 2 * COMMITS


def test_killed_committers_leave_whole_versions(tmp_path: Path) -> None:
    """Every version has the same number in all chunks and in the attributes."""
    z = _create(LocalStore(tmp_path), shape=8, chunks=1, dtype="i4", attributes={"number": 0})

    def work() -> None:
        array = _open(LocalStore(tmp_path))
        number = int(array[0])
        while True:
            number += 1
            array[:] = number
            array.attrs["number"] = number
            array.commit(f"{number}")

    random = Random(0)
    for _ in range(8):
        child = forked(work)
        time.sleep(random.uniform(0.02, 0.12))
        os.kill(child, signal.SIGKILL)
        assert wait_for(child) == -signal.SIGKILL
        current = _open(LocalStore(tmp_path), mode="r")
        assert set(current[:].tolist()) == {current.attrs["number"]}
    z.refresh()
    assert z.version.number > 3
    for version in z.versions()[1:]:
        old = _open(LocalStore(tmp_path), version=version.number)
        assert set(old[:].tolist()) == {version.number} == {old.attrs["number"]}
    before = len(list(LocalStore(tmp_path).list()))
    z.prune(keep=1, grace=timedelta(0))
    assert len(list(LocalStore(tmp_path).list())) < before
    assert set(z[:].tolist()) == {z.version.number}


REASON = reason_not_to()


@pytest.mark.skipif(REASON is not None, reason=str(REASON))
@pytest.mark.parametrize("act", ["commit", "prune"])
def test_a_process_that_is_killed_at_any_system_call(act: str, tmp_path: Path) -> None:
    """Afterwards all versions are whole, and the next session commits and prunes."""
    made_before(tmp_path)
    random = Random(act)
    stop = killed = 0
    numbers: set[tuple[int, int]] = set()
    while kill_once(tmp_path, act, numbers, stop) is None:
        killed += 1
        stop += random.randint(1, 90)
    assert killed > 1
    assert numbers == ({(2, 0), (3, 0)} if act == "commit" else {(2, 0), (2, 2)})


def made_before(folder: Path) -> None:
    z = _create(LocalStore(folder / "before"), shape=6, chunks=2, dtype="i4", attributes={"number": 0})
    for number in (1, 2):
        z[:] = number
        z.attrs["number"] = number
        z.commit(f"{number}")


def kill_once(place: Path, act: str, numbers: set[tuple[int, int]], stop: int) -> int | None:
    """Kills a process at a stop, and adds the newest and the oldest version. The number of its stops if it finished
    before."""
    folder = place / "v.zarr"

    def work(array: VersionedArray) -> None:
        if act == "commit":
            array.commit("3")
        else:
            array.prune(keep=1, grace=timedelta(0))

    def check() -> VersionedArray:
        array = _open(LocalStore(folder))
        for version in array.versions():
            old = _open(LocalStore(folder), version=version.number)
            assert set(old[:].tolist()) == {version.number} == {old.attrs["number"]}
        return array

    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(place / "before", folder)
    array = _open(LocalStore(folder))
    if act == "commit":
        array[:] = 3
        array.attrs["number"] = 3
    stops = kill_at(lambda: work(array), stop)
    if act == "commit":
        array.rollback()  # that of the parent, which shares the session
    current = check()
    numbers.add((current.version.number, current.versions()[0].number))
    current[:] = current.attrs["number"] = current.version.number + 1
    current.commit("next")
    current.prune(keep=1, grace=timedelta(0))
    check()
    return stops
