"""Writers that change one array, or the group, during an append to several arrays, or after it crashed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.nodes.resize.test_joint_append import GENERATIONS, check, check_nothing_outside, crashed, grow, made

import omnizarr
from omnizarr.errors import ArgumentError, StoreError
from omnizarr.nodes import resize_mark
from omnizarr.nodes.joint_append import append as module
from omnizarr.nodes.joint_append import journal as journal_module
from omnizarr.nodes.joint_append.append import finish_unfinished_append, joint_append
from omnizarr.nodes.joint_append.journal import JOURNAL, journal_of
from omnizarr.store import MemoryStore
from omnizarr.testing import Fault, FaultyStore

STOPS = ["write", "commit", "finish"]


@pytest.fixture(autouse=True)
def short_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "_LEASE", 0.3)
    monkeypatch.setattr(resize_mark, "_LEASE", 0.3)
    monkeypatch.setattr(resize_mark, "_PAUSE", 0.01)
    monkeypatch.setattr(journal_module, "_PAUSE", 0.01)


@pytest.fixture(params=["folder", "SQLite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[omnizarr.Store]:
    if request.param == "folder":
        yield omnizarr.LocalStore(tmp_path / "x.zarr")
    elif request.param == "memory":
        yield MemoryStore()
    else:
        with omnizarr.SQLiteStore(tmp_path / "x.sqlite") as database:
            yield database


def no_journal(store: omnizarr.Store) -> bool:
    return all(
        JOURNAL not in omnizarr.open_group(store, mode="r", use_consolidated=use)._model.attributes
        for use in (None, False)
    )


@pytest.mark.parametrize("growth", [{"a": (0, 1), "absent": (0, 1)}, {"a": (0, 1), "group": (0, 1)}])
def test_an_append_that_cannot_begin_leaves_no_journal(store: omnizarr.Store, growth: Any) -> None:
    group = made(store)
    group.create_group("group")
    with pytest.raises((KeyError, ArgumentError)), joint_append(group, growth):
        pass
    assert no_journal(store)
    grow(omnizarr.open_group(store, mode="r+"))


@pytest.mark.parametrize("consolidate", [False, True])
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_an_append_to_one_array_after_a_crash(
    store: omnizarr.Store, zarr_format: Any, stop: str, consolidate: bool
) -> None:
    """It keeps the rows of a committed append, and erases those of another."""
    if consolidate and zarr_format in ("3-draft-2022", "n5"):
        pytest.skip("the generation has no consolidated metadata")
    crashed(made(store, zarr_format, consolidate=consolidate), stop)
    length = 7 if stop == "finish" else 5
    omnizarr.open_group(store, mode="r+")["a"].append([50])
    np.testing.assert_array_equal(omnizarr.open_array(store, path="a"), [*range(1, length + 1), 50])
    group = omnizarr.open_group(store, mode="r+")
    finish_unfinished_append(group)
    np.testing.assert_array_equal(omnizarr.open_array(store, path="a"), [*range(1, length + 1), 50])
    for use in (None, False):
        reader = omnizarr.open_group(store, mode="r", use_consolidated=use)
        assert (reader["a"].shape, reader["b"].shape) == ((length + 1,), (2, length))
    assert no_journal(store)
    check_nothing_outside(group)
    group["b"].resize((2, 20))
    assert (group["b"][:, length:] == 0).all()


@pytest.mark.parametrize("stop", STOPS)
def test_a_resize_after_a_crash_is_final(store: omnizarr.Store, stop: str) -> None:
    crashed(made(store), stop)
    omnizarr.open_array(store, path="a").resize(4)
    omnizarr.open_array(store, path="a").resize(5)  # the shape before the append
    finish_unfinished_append(omnizarr.open_group(store, mode="r+"))
    np.testing.assert_array_equal(omnizarr.open_array(store, path="a"), [1, 2, 3, 4, 0])
    check_nothing_outside(omnizarr.open_group(store, mode="r+"))


@pytest.mark.parametrize("consolidate", [False, True])
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_changes_of_attributes_after_a_crash(
    store: omnizarr.Store, zarr_format: Any, stop: str, consolidate: bool
) -> None:
    if consolidate and zarr_format in ("3-draft-2022", "n5"):
        pytest.skip("the generation has no consolidated metadata")
    crashed(made(store, zarr_format, consolidate=consolidate), stop)
    group = omnizarr.open_group(store, mode="r+")
    group["a"].attrs["unit"] = "K"
    group.attrs.put({"title": "x"})
    finish_unfinished_append(omnizarr.open_group(store, mode="r+"))
    check(store, grown=stop == "finish")
    assert no_journal(store)
    assert omnizarr.open_group(store, mode="r")["a"].attrs.asdict() == {"unit": "K"}


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_change_of_attributes_between_the_commit_and_the_new_shapes(
    store: omnizarr.Store, monkeypatch: pytest.MonkeyPatch, zarr_format: Any
) -> None:
    """A writer that is killed in the middle of `_commit`, at each of its changes of stored documents."""
    group = made(store, zarr_format, consolidate=True)
    for name in ("change_journal", "change_copies"):
        crash_in_commit(group, monkeypatch, name)
        omnizarr.open_group(store, mode="r+")["a"].attrs["unit"] = "K"
        group = omnizarr.open_group(store, mode="r+")
        finish_unfinished_append(group)
        shapes = {
            (reader["a"].shape[0], reader["b"].shape[1])
            for use in (None, False)
            for reader in [omnizarr.open_group(store, mode="r", use_consolidated=use)]
        }
        assert len(shapes) == 1
        (lengths,) = shapes
        assert lengths[0] == lengths[1]


def crash_in_commit(group: omnizarr.Group, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Kills the writer after the first write of the commit, or after the second."""

    class KilledError(BaseException):
        pass

    def kill(*_: Any) -> Any:
        raise KilledError

    committing = False
    journal, commit = journal_module.change_journal, module._commit
    consolidated = group._context.consolidated
    assert consolidated is not None
    copies = consolidated.change_copies

    def change_journal(*arguments: Any) -> Any:
        result = journal(*arguments)
        if committing and result is not None and result.committed and name == "change_journal":
            raise KilledError
        return result

    def change_copies(edit: Any) -> None:
        copies(edit)
        if name == "change_copies":
            raise KilledError

    def marked_commit(*arguments: Any) -> Any:
        nonlocal committing
        committing = True
        return commit(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(journal_module, "change_journal", change_journal)
        patch.setattr(module, "_commit", marked_commit)
        patch.setattr(module, "recover", kill)
        patch.setattr(journal_module, "_failed", set())
        patch.setattr(consolidated, "change_copies", change_copies)
        with pytest.raises(KilledError):
            fill_new_rows(group)


def fill_new_rows(group: omnizarr.Group) -> None:
    length = group["a"].shape[0]
    with joint_append(group, {"a": (0, 2), "b": (1, 2)}) as grown:
        grown["a"][length:] = 9
        grown["b"][:, length:] = 9


@pytest.mark.parametrize("stop", STOPS)
def test_an_array_that_is_erased_after_a_crash(store: omnizarr.Store, stop: str) -> None:
    crashed(made(store), stop)
    group = omnizarr.open_group(store, mode="r+")
    del group["a"]
    with joint_append(group, {"b": (1, 1)}) as grown:
        grown["b"][:, -1] = 9
    assert group["b"].shape == (2, 8 if stop == "finish" else 6)
    assert no_journal(store)


@pytest.mark.parametrize("change", ["append", "resize", "shrink"])
def test_a_change_of_one_array_during_an_append_to_several(store: omnizarr.Store, change: str) -> None:
    """The change waits until the append ends: no rows are lost."""
    made(store)
    group = omnizarr.open_group(store, mode="r+")

    def act() -> None:
        array = omnizarr.open_array(store, path="a")
        if change == "append":
            array.append([50])
        else:
            array.resize({"resize": 20, "shrink": 3}[change])

    with joint_append(group, {"a": (0, 2), "b": (1, 2)}) as grown:
        thread = threading.Thread(target=act)
        thread.start()
        thread.join(0.2)
        grown["a"][5:] = [6, 7]
        grown["b"][:, 5:] = 100
    thread.join()
    expected = {"append": [*range(1, 8), 50], "resize": [*range(1, 8), *[0] * 13], "shrink": [1, 2, 3]}[change]
    np.testing.assert_array_equal(omnizarr.open_array(store, path="a"), expected)
    assert omnizarr.open_array(store, path="b").shape == (2, 7)


def test_an_append_to_several_arrays_waits_for_a_shrink(store: omnizarr.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shrink would erase the new rows."""
    made(store)
    begun, resume = threading.Event(), threading.Event()
    trim = resize_mark.stored_chunks.trim

    def slow_trim(*arguments: Any) -> None:
        if threading.current_thread() is shrinker:
            begun.set()
            resume.wait()
        trim(*arguments)

    monkeypatch.setattr(resize_mark, "_LEASE", 30)
    monkeypatch.setattr(resize_mark.stored_chunks, "trim", slow_trim)
    shrinker = threading.Thread(target=lambda: omnizarr.open_array(store, path="a").resize(3))
    shrinker.start()
    begun.wait()
    threading.Timer(0.2, resume.set).start()
    with joint_append(omnizarr.open_group(store, mode="r+"), {"a": (0, 2)}) as grown:
        grown["a"][3:] = [8, 9]
        resume.set()
        shrinker.join()
    np.testing.assert_array_equal(omnizarr.open_array(store, path="a"), [1, 2, 3, 8, 9])


def test_a_commit_whose_answer_is_lost_is_no_failure() -> None:
    """If an append raises, its rows are not there: the caller may repeat it."""
    lost = 0
    for number in range(1, 300):
        inner = MemoryStore()
        made(inner, consolidate=True)
        store = FaultyStore(inner)
        group = omnizarr.open_group(store, mode="r+")
        store.faults = (Fault("lose", [store.count + number]),)
        try:
            grow(group)
        except StoreError:
            lost += 1
            finish_unfinished_append(omnizarr.open_group(inner, mode="r+"))
            check(inner, grown=False)
        else:
            check(inner, grown=True)
        if not store.met:
            break
    assert 0 < lost < number


@pytest.mark.parametrize("stop", STOPS)
def test_an_outdated_journal_does_not_hide_rows(store: omnizarr.Store, stop: str) -> None:
    """`Group.attrs` neither shows the journal nor removes it."""
    crashed(made(store), stop)
    group = omnizarr.open_group(store, mode="r+")
    assert group.attrs.asdict() == {"title": "x"}
    group.attrs.clear()
    assert omnizarr.open_group(store, mode="r+")._model.attributes.keys() == {JOURNAL}
    group["a"].resize(9)
    journal = journal_of(group.refresh()._model.attributes)
    assert journal is None or journal.valid_shape("a", (9,)) == (9,)
