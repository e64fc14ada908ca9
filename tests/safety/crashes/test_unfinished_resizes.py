"""A shrink on a store without locks that is killed: the elements outside the new shape do not come back."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.safety.ptrace import kill_at, reason_not_to

import omnizarr
from omnizarr.model import UNFINISHED_RESIZE
from omnizarr.nodes import resize_mark
from omnizarr.store.thread_locks import TaskLock, thread_task_lock
from omnizarr.store.wrappers import TransparentStore
from omnizarr.testing import Fault, FaultyStore

GENERATIONS: tuple[Any, ...] = (1, 2, "3-draft-2020", "3-draft-2022", 3, "n5")
REASON = reason_not_to()
DATA = np.arange(1, 41, dtype="i4").reshape(10, 4)


class StoppedError(Exception):
    pass


class Unlocked(TransparentStore):
    """A store without locks that stops, as a crash does, before the write with the number `stop`."""

    locking = False

    def __init__(self, inner: omnizarr.Store, stop: int = -1) -> None:
        super().__init__(inner)
        self.stop = stop
        self.writes = 0

    def check_writable(self) -> None:
        if self.stop >= 0:
            if self.writes >= self.stop:
                raise StoppedError
            self.writes += 1


class OtherProcess(Unlocked):
    """A store with task locks of its own, as in another process."""

    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        return thread_task_lock(f"{id(self)}", key)


@pytest.fixture
def short_lease(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(resize_mark, "_LEASE", 0.05)
    monkeypatch.setattr(resize_mark, "_PAUSE", 0.01)
    return


def grow(z: omnizarr.Array) -> None:
    z.resize((12, 4))
    found = z[...]
    kept = 10 if (found[5:10] != 0).all() else 3
    assert (found[:kept] == DATA[:kept]).all()
    assert (found[kept:] == 0).all(), "what was cut off does not come back"


def add(z: omnizarr.Array) -> None:
    z.append(np.full((1, 4), 77, "i4"))
    z.resize((12, 4))
    found = z[...]
    kept = 10 if (found[5:10] != 0).all() else 3
    assert (found[:kept] == DATA[:kept]).all()
    assert (found[kept] == 77).all()
    assert (found[kept + 1 :] == 0).all()


@pytest.mark.parametrize("zarr_format", GENERATIONS)
@pytest.mark.parametrize("after", [grow, add])
def test_a_shrink_that_stops_at_any_write(
    zarr_format: Any, after: Callable[[omnizarr.Array], None], short_lease: None
) -> None:
    stops, marks = 0, 0
    while True:
        inner = omnizarr.MemoryStore()
        omnizarr.create_array(inner, data=DATA, chunks=(2, 4), fill_value=0, zarr_format=zarr_format)
        z = omnizarr.open_array(Unlocked(inner))
        z.store.stop = stops  # type: ignore[attr-defined]
        try:
            z.resize((3, 4))
        except StoppedError:
            resize_mark._failed.clear()  # a crash of the process forgets it
            z = omnizarr.open_array(Unlocked(inner))
            marks += UNFINISHED_RESIZE in z._model.extra
            after(z)
            assert UNFINISHED_RESIZE not in omnizarr.open_array(inner)._model.extra
            stops += 1
        else:
            assert UNFINISHED_RESIZE not in omnizarr.open_array(inner)._model.extra
            break
    assert stops > 4
    assert marks > 2


def test_a_failed_shrink_of_this_process_is_finished_at_once() -> None:
    inner = omnizarr.MemoryStore()
    omnizarr.create_array(inner, data=DATA, chunks=(2, 4), fill_value=0)
    z = omnizarr.open_array(Unlocked(FaultyStore(inner, [Fault("fail", methods=["erase"])])))
    with pytest.raises(omnizarr.errors.StoreError):
        z.resize((3, 4))
    assert UNFINISHED_RESIZE in omnizarr.open_array(inner)._model.extra
    grow(omnizarr.open_array(Unlocked(inner)))


def test_an_attribute_can_change_while_a_shrink_is_unfinished(short_lease: None) -> None:
    inner = omnizarr.MemoryStore()
    z = omnizarr.create_array(inner, data=DATA, chunks=(2, 4), fill_value=0)
    z._change(lambda model: resize_mark.ResizeMark(z).added_to(model))
    other = omnizarr.open_array(Unlocked(inner))
    other.attrs["a"] = 1
    assert UNFINISHED_RESIZE in omnizarr.open_array(inner)._model.extra
    assert other.append(np.zeros((1, 4), "i4")) == (11, 4)
    assert UNFINISHED_RESIZE not in omnizarr.open_array(inner)._model.extra
    assert omnizarr.open_array(inner).attrs["a"] == 1


def test_an_append_waits_for_a_shrink_that_renews_its_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resize_mark, "_RENEWAL", 0.0)
    monkeypatch.setattr(resize_mark, "_PAUSE", 0.005)
    monkeypatch.setattr(resize_mark, "_LEASE", 20.0)
    inner = omnizarr.MemoryStore()
    omnizarr.create_array(inner, data=np.arange(1, 41), chunks=1, fill_value=0)
    began, go = threading.Event(), threading.Event()

    class Slow(OtherProcess):
        def erase(self, key: str) -> None:
            began.set()
            assert go.wait(30)
            self.inner.erase(key)

    z = omnizarr.open_array(Slow(inner))
    shrinking = threading.Thread(target=lambda: z.resize(3))
    shrinking.start()
    assert began.wait(30)
    other = omnizarr.open_array(Unlocked(inner))
    appending = threading.Thread(target=lambda: other.append([7, 8]))
    appending.start()
    appending.join(0.2)
    assert appending.is_alive()
    go.set()
    shrinking.join(30)
    appending.join(30)
    assert omnizarr.open_array(inner)[...].tolist() == [1, 2, 3, 7, 8]


def test_a_shrink_that_another_writer_took_over_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resize_mark, "_RENEWAL", 0.0)
    inner = omnizarr.MemoryStore()
    omnizarr.create_array(inner, data=np.arange(1, 41), chunks=1, fill_value=0)

    class Silent(OtherProcess):
        erased = 0

        def erase(self, key: str) -> None:
            self.erased += 1
            if self.erased == 3:
                other = omnizarr.open_array(inner)
                assert resize_mark._take_over(other, other._model.extra[UNFINISHED_RESIZE])
                other.append([7, 8])
            self.inner.erase(key)

    z = omnizarr.open_array(Silent(inner))
    with pytest.raises(omnizarr.errors.StoreError, match="another writer has taken over"):
        z.resize(3)
    resize_mark._failed.clear()


@pytest.mark.skipif(REASON is not None, reason=str(REASON))
@pytest.mark.parametrize("after", [grow, add])
def test_a_shrink_in_a_database_that_is_killed_at_any_system_call(
    tmp_path: Path, after: Callable[[omnizarr.Array], None], short_lease: None
) -> None:
    made_before(tmp_path)
    stop = killed = 0
    marks: list[bool] = []
    random = Random(after.__name__)
    while kill_once(tmp_path, after, marks, stop) is None:
        killed += 1
        stop += random.randint(20, 90)
    assert killed > 5
    assert any(marks)


def made_before(folder: Path) -> None:
    (folder / "before").mkdir()
    with omnizarr.SQLiteStore(folder / "before" / "x.sqlite") as store:
        omnizarr.create_array(store, data=DATA, chunks=(2, 4), fill_value=0)


def kill_once(folder: Path, after: Callable[[omnizarr.Array], None], marks: list[bool], stop: int) -> int | None:
    """Kills a shrink at a stop. The number of its stops if it finished before."""
    place = folder / "x"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "before", place)
    stops = kill_at(lambda: omnizarr.open_array(omnizarr.SQLiteStore(place / "x.sqlite")).resize((3, 4)), stop)
    with omnizarr.SQLiteStore(place / "x.sqlite") as store:
        z = omnizarr.open_array(store)
        marks.append(UNFINISHED_RESIZE in z._model.extra)
        after(z)
    return stops


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("zarr_format", GENERATIONS[1:])
def test_moving_an_array_whose_shrink_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zarr_format: Any, nested: bool
) -> None:
    """The mark of the shrink is in a lock file, which does not move."""
    for store in (omnizarr.LocalStore(tmp_path), omnizarr.MemoryStore()):
        group = omnizarr.create_group(store, zarr_format=zarr_format)
        old, new = ("g/a", "h/a") if nested else ("a", "b")
        array = group.create_array(old, data=DATA, chunks=(3, 4))

        def stop(*_: Any) -> None:
            raise StoppedError

        with monkeypatch.context() as patch:
            patch.setattr(resize_mark.stored_chunks, "trim", stop)
            with pytest.raises(StoppedError):
                array.resize((4, 4))
        group.move(old.split("/")[0], new.split("/")[0])
        group[new].resize((10, 4))
        np.testing.assert_array_equal(group[new], np.concatenate([DATA[:4], np.zeros((6, 4), "i4")]))
