"""Promise 3: a killed writer leaves at most one temporary file per thread, the next writer removes it, and a full disk
leaves none."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.safety.ptrace import CAN_FAIL_CALLS, fail_at, kill_at, reason_not_to

import omnizarr
from omnizarr.store import LocalStore
from omnizarr.store.local import file_writer, files, flock, temp_names

REASON = reason_not_to()
LAYOUTS: dict[str, dict[str, Any]] = {
    "raw": {"chunks": (8, 8), "compressors": None},
    "zstd": {"chunks": (8, 8), "compressors": ["zstd"]},
    "python": {"chunks": (8, 8), "compressors": ["zstd", "crc32c"]},
    "flat": {"chunks": (8, 8), "zarr_format": 2},
    "shards": {"chunks": (4, 4), "shards": (16, 16)},
}

pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


def made(place: Path, layout: dict[str, Any]) -> omnizarr.Array:
    return omnizarr.create_array(place, data=np.arange(1, 4097).reshape(64, 64), **layout)


def whole(z: omnizarr.Array) -> None:
    z[...] = 7


def part(z: omnizarr.Array) -> None:
    z[3:60, 3:60] = 7


def attributes(z: omnizarr.Array) -> None:
    z.attrs["a"] = 7


ACTS = {act.__name__: act for act in (whole, part, attributes)}


def leftovers(place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if temp_names.is_temporary(path.name)]


ALL_CASES = [(layout, act, native) for layout in LAYOUTS for act in ACTS for native in (1, 0)]
CASES = [case for place, case in enumerate(ALL_CASES) if place % 3 == 0 or case[:2] == ("raw", "whole")]


@pytest.mark.parametrize(("layout", "act", "native"), CASES)
def test_a_killed_writer_leaves_one_file_that_the_next_writer_removes(
    tmp_path: Path, layout: str, act: str, native: int
) -> None:
    made(tmp_path / "before", LAYOUTS[layout])
    random = Random(f"{layout} {act} {native}")
    stop = 0
    while kill_once(tmp_path, layout, act, native, stop) is None:
        stop += random.randint(1, 900)


def kill_once(folder: Path, layout: str, act: str, native: int, stop: int) -> int | None:
    """Kills a writer at a stop. The number of its stops if it finished before."""
    place = folder / "x"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "before", place)
    with omnizarr.config(threads=1, native=native):
        z = omnizarr.open_array(place)
        stops = kill_at(lambda: ACTS[act](z), stop)
        assert len(leftovers(place)) <= (stops is None)
        file_writer._swept.clear()  # as in a new process
        ACTS[act](omnizarr.open_array(place))
    assert leftovers(place) == []
    return stops


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("new", [False, True])
def test_a_killed_durable_writer_leaves_one_file_that_the_next_writer_removes(
    tmp_path: Path, layout: str, new: bool
) -> None:
    """It syncs up to 64 files together."""
    made_before_durable(tmp_path, layout, new)
    random = Random(f"{layout} {new}")
    stop = 0
    while kill_durable_once(tmp_path, new, stop) is None:
        stop += random.randint(1, 600)


def made_before_durable(folder: Path, layout: str, new: bool) -> None:
    made(folder / "before", LAYOUTS[layout])
    if new:
        omnizarr.open_array(folder / "before")[...] = 0  # erases the chunks


def kill_durable_once(folder: Path, new: bool, stop: int) -> int | None:
    place = folder / "x"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "before", place)
    with omnizarr.config(threads=1):
        z = omnizarr.open_array(LocalStore(place, durable=True))
        stops = kill_at(lambda: whole(z), stop)
        assert len(leftovers(place)) <= (stops is None)
        found = omnizarr.open_array(place)[...]
        assert ((found == 7) | (found == (0 if new else np.arange(1, 4097).reshape(64, 64)))).all()
        file_writer._swept.clear()  # as in a new process
        whole(z)
    assert leftovers(place) == []
    return stops


@pytest.mark.skipif(not CAN_FAIL_CALLS, reason="unknown registers")
@pytest.mark.parametrize(("layout", "act", "native"), CASES)
@pytest.mark.parametrize("durable", [False, True])
def test_a_full_disk_leaves_no_file_and_old_or_new_values(
    tmp_path: Path, layout: str, act: str, native: int, durable: bool
) -> None:
    made(tmp_path / "before", LAYOUTS[layout])
    random = Random(f"{layout} {act} {native} {durable}")
    call = 0
    while fill_disk_once(tmp_path, act, native, durable, call) is None:
        call += random.randint(1, 300)


def fill_disk_once(folder: Path, act: str, native: int, durable: bool, call: int) -> int | None:
    """The disk is full at a call that needs space. The number of these calls if there are fewer."""
    place = folder / "x"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "before", place)
    with omnizarr.config(threads=1, native=native):
        old = omnizarr.open_array(place)[...]
        new = old.copy()
        if act != "attributes":
            new[np.s_[3:60, 3:60] if act == "part" else ...] = 7
        z = omnizarr.open_array(LocalStore(place, durable=durable))

        def work() -> None:
            try:
                ACTS[act](z)
            except omnizarr.errors.StoreError as error:
                if error.errno != errno.ENOSPC or "disk is full" not in str(error):
                    raise

        calls = fail_at(work, call, errno.ENOSPC)
        assert leftovers(place) == []
        found = omnizarr.open_array(place)[...]
        assert ((found == old) | (found == new)).all()
    return calls


def leave(folder: Path, *, guarded: bool = True) -> Path:
    """A temporary file as a killed writer on another host leaves it."""
    path = folder / temp_names.new_name(guarded=guarded).replace(temp_names._host(), "0123456789ab")
    path.write_bytes(b"half")
    return path


def test_a_full_disk_makes_the_store_remove_files_of_crashed_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    store.set_each([("a/k", b"old"), ("b/k", b"old")])
    abandoned = leave(tmp_path / "b")
    real = files._write_new

    def write(file: int, data: Any) -> None:
        if abandoned.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(file, data)

    monkeypatch.setattr(files, "_write_new", write)
    monkeypatch.setattr(file_writer, "kernel", lambda: None)
    store.set("a/k", b"new")
    assert store.get("a/k") == b"new"
    assert not abandoned.exists()


def test_sweep_decides_by_the_lock_and_by_the_age(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("k", b"x")
    held: list[int] = []
    written = files_of_live_writer(tmp_path, held)
    guarded, unguarded = leave(tmp_path), leave(tmp_path, guarded=False)
    assert store.sweep() == 1
    assert not guarded.exists(), "its lock is free"
    assert unguarded.exists(), "its writer may live on another machine"
    assert store.sweep(older_than=60) == 0
    assert store.sweep(older_than=-1) == 1
    assert not unguarded.exists()
    assert written.exists(), "it is locked"
    os.close(held.pop())
    assert list(store.list()) == ["k"]
    assert not written.exists()


def files_of_live_writer(folder: Path, held: list[int]) -> Path:
    path = Path(files.create_temporary(f"{folder}{os.sep}", b"half", held, guarded=True))
    renamed = path.with_name(path.name.replace(temp_names._host(), "0123456789ab"))
    return path.rename(renamed)


def test_a_writer_survives_that_its_new_file_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that removes abandoned files sees the file before its writer has locked it."""
    store = LocalStore(tmp_path)
    real = flock.lock_if_free
    calls: list[int] = []

    def lock_if_free(file: int) -> bool:
        calls.append(file)
        if len(calls) == 1:
            for path in leftovers(tmp_path):
                path.unlink()
        return real(file) and len(calls) != 2

    monkeypatch.setattr(flock, "lock_if_free", lock_if_free)
    with omnizarr.config(native=0):
        store.set("k", b"x")
    assert len(calls) == 3
    assert store.get("k") == b"x"
    assert os.listdir(tmp_path) == ["k"]


def test_the_first_writes_into_a_large_directory_look_at_some_entries_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temp_names, "_SOME", 10)
    store = LocalStore(tmp_path)
    store.set("c/k", b"x")
    for number in range(95):
        (tmp_path / "c" / str(number)).touch()
    abandoned = [leave(tmp_path / "c") for _ in range(4)]
    file_writer._swept.clear()  # as in a new process
    remaining = []
    for _ in range(11):
        store.set("c/k", b"x")
        remaining.append(sum(path.exists() for path in abandoned))
    assert remaining == sorted(remaining, reverse=True)
    assert remaining[-1] == 0
    assert f"{tmp_path}{os.sep}c{os.sep}" in file_writer._swept
    assert not file_writer._sweeping
