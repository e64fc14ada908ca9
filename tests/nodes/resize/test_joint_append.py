"""Appending to several arrays of a group: all of them grow, or none does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import StoreError
from omnizarr.nodes import Group
from omnizarr.nodes.joint_append import append as module
from omnizarr.nodes.joint_append import journal as journal_module
from omnizarr.nodes.joint_append.append import finish_unfinished_append, joint_append
from omnizarr.nodes.joint_append.journal import JOURNAL, Journal, change_journal, journal_of
from omnizarr.store import MemoryStore, Store
from omnizarr.testing.request_store import RequestStore

GENERATIONS: tuple[Any, ...] = (2, "3-draft-2020", "3-draft-2022", 3, "n5")


def made(store: Any, zarr_format: Any = 3, *, consolidate: bool = False) -> omnizarr.Group:
    group = omnizarr.create_group(store, zarr_format=zarr_format, attributes={"title": "x"})
    group.create_array("a", data=np.arange(1, 6), chunks=(3,))
    group.create_array("b", data=np.arange(1, 11).reshape(2, 5), chunks=(2, 3))
    if consolidate:
        omnizarr.consolidate_metadata(group.store)
    return omnizarr.open_group(group.store, mode="r+")


def grow(group: omnizarr.Group, *, fail: BaseException | None = None) -> None:
    with joint_append(group, {"a": (0, 2), "b": (1, 2)}) as grown:
        grown["a"][5:] = [6, 7]
        grown["b"][:, 5:] = 100
        if fail is not None:
            raise fail


def check(store: Any, *, grown: bool) -> None:
    for consolidated in (None, False):
        group = omnizarr.open_group(store, mode="r", use_consolidated=consolidated)
        assert group.attrs.asdict() == {"title": "x"}
        length = 7 if grown else 5
        np.testing.assert_array_equal(group["a"], np.arange(1, length + 1))
        assert group["b"].shape == (2, length)
        np.testing.assert_array_equal(group["b"][:, :5], np.arange(1, 11).reshape(2, 5))
        assert (group["b"][:, 5:] == 100).all()


def check_nothing_outside(group: omnizarr.Group) -> None:
    """Checks that no rows reappear when an array grows by a resize."""
    length = len(group["a"])
    group["a"].resize(20)
    assert (omnizarr.open_array(group.store, path="a")[length:] == 0).all()


@pytest.mark.parametrize("consolidate", [False, True])
@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_all_arrays_grow(tmp_path: Any, zarr_format: Any, consolidate: bool) -> None:
    if consolidate and zarr_format in ("3-draft-2022", "n5"):
        pytest.skip("the generation has no consolidated metadata")
    for store in (tmp_path / "x.zarr", MemoryStore()):
        group = made(store, zarr_format, consolidate=consolidate)
        grow(group)
        check(store, grown=True)
        grow_more = {"a": (0, 1), "b": (1, 1)}
        with joint_append(group, grow_more) as grown:
            assert grown["a"].shape == (8,)
            assert omnizarr.open_array(store, path="a").shape == (7,)
        assert omnizarr.open_array(store, path="b").shape == (2, 8)


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
@pytest.mark.parametrize("consolidate", [False, True])
def test_a_failed_append_changes_nothing(tmp_path: Any, consolidate: bool, error: BaseException) -> None:
    for store in (tmp_path / "x.zarr", MemoryStore()):
        group = made(store, consolidate=consolidate)
        with pytest.raises(type(error)):
            grow(group, fail=error)
        check(store, grown=False)
        check_nothing_outside(group)


class Breaking(RequestStore):
    """Fails for good after a number of requests."""

    def __init__(self, inner: Store, requests: int) -> None:
        super().__init__(inner)
        self.left = requests

    def request(
        self, method: str, key: str, act: Callable[[], Any], *, torn: Callable[[], object] | None = None
    ) -> Any:
        self.left -= 1
        if self.left < 0:
            raise StoreError("the connection is lost")
        return act()


@pytest.mark.parametrize("consolidate", [False, True])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_store_that_breaks_at_any_request(zarr_format: Any, consolidate: bool) -> None:
    """The old or the new dataset is readable at once, and the next writer ends the append."""
    states = set()
    for requests in range(1000):
        inner = MemoryStore()
        made(inner, zarr_format, consolidate=consolidate)
        group = omnizarr.open_group(inner, mode="r+")
        store = Breaking(inner, requests)
        consolidated = group._context.consolidated
        if consolidated is not None:
            consolidated._store = store
        group = Group(group._context._replace(store=store), group._model)
        try:
            grow(group)
        except StoreError:
            pass
        else:
            break
        after = omnizarr.open_group(inner, mode="r+")
        finish_unfinished_append(after)
        grown = after["a"].shape == (7,)
        check(inner, grown=grown)
        check_nothing_outside(after)
        states.add(grown)
    assert states == {False, True}


def crashed(group: omnizarr.Group, stop: str) -> None:
    """Leaves the group as a writer that is killed at a step of the append."""

    class KilledError(BaseException):
        pass

    def kill(*_: Any) -> Any:
        raise KilledError

    steps: dict[str, Callable[..., Any]] = {"_commit": kill, "finish": kill, "recover": kill}
    with pytest.MonkeyPatch.context() as patch:
        for name in {"write": ["recover"], "commit": ["_commit", "recover"], "finish": ["finish", "recover"]}[stop]:
            patch.setattr(module, name, steps[name])
        patch.setattr(journal_module, "_failed", set())
        with pytest.raises(KilledError):
            grow(group, fail=KilledError() if stop == "write" else None)


@pytest.mark.parametrize("consolidate", [False, True])
@pytest.mark.parametrize("stop", ["write", "commit", "finish"])
@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_the_next_writer_ends_an_unfinished_append(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, zarr_format: Any, stop: str, consolidate: bool
) -> None:
    if consolidate and zarr_format in ("3-draft-2022", "n5"):
        pytest.skip("the generation has no consolidated metadata")
    monkeypatch.setattr(journal_module, "_LEASE", 0.3)
    for number, store in enumerate((tmp_path / "x.zarr", MemoryStore())):
        crashed(made(store, zarr_format, consolidate=consolidate), stop)
        assert JOURNAL in omnizarr.open_group(store, mode="r+")._model.attributes
        group = omnizarr.open_group(store, mode="r+")
        if number:
            finish_unfinished_append(group)
            assert JOURNAL not in group._model.attributes
            check(store, grown=stop == "finish")
            check_nothing_outside(group)
        else:
            length = 7 if stop == "finish" else 5
            with joint_append(group, {"a": (0, 1)}) as grown:
                assert grown["a"].shape == (length + 1,)
                grown["a"][length:] = 50
            group = omnizarr.open_group(store, mode="r+")
            assert group["b"].shape == (2, length)
            assert group["a"][-1] == 50


def test_appending_to_one_array_after_a_crash_keeps_the_committed_rows(tmp_path: Any) -> None:
    crashed(made(tmp_path), "finish")
    omnizarr.open_array(tmp_path, path="a").append([8])
    np.testing.assert_array_equal(omnizarr.open_array(tmp_path, path="a"), np.arange(1, 9))
    finish_unfinished_append(omnizarr.open_group(tmp_path, mode="r+"))
    assert omnizarr.open_array(tmp_path, path="a").shape == (8,)
    assert omnizarr.open_array(tmp_path, path="b").shape == (2, 7)


def test_a_writer_whose_journal_is_taken_over_does_not_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    group = made(store)
    with (
        pytest.raises(omnizarr.errors.StoreError, match="another writer has taken over"),
        joint_append(group, {"a": (0, 1)}),
    ):
        change_journal(omnizarr.open_group(store, mode="r+")._context, lambda journal: Journal("other", {}))
    assert omnizarr.open_array(store, path="a").shape == (5,)


def test_a_writer_waits_for_another_that_renews_its_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "_RENEWAL", 0.05)
    monkeypatch.setattr(journal_module, "_LEASE", 30)
    store = MemoryStore()
    made(store)

    def append() -> None:
        with joint_append(omnizarr.open_group(store, mode="r+"), {"a": (0, 1)}) as grown:
            grown["a"][-1] = 9

    threads = [threading.Thread(target=append) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(omnizarr.open_array(store, path="a"), [1, 2, 3, 4, 5, 9, 9, 9, 9])


@pytest.mark.parametrize(
    "value", [None, 3, {}, {"shapes": 3}, {"shapes": {"a": [[1]]}}, {"shapes": {"a": [[1], [-1]]}}]
)
def test_a_damaged_journal_counts_as_none(value: Any) -> None:
    assert journal_of({JOURNAL: value}) is None
