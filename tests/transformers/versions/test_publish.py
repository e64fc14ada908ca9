"""Commits: merges and conflicts, the search for versions, and failures of the store at every request."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TypeVar

import pytest

from omnizarr.errors import ConflictError, StoreError, UncertainWriteError
from omnizarr.store import MemoryStore, Store
from omnizarr.testing import Fault, FaultyStore, RecordingStore, RequestStore
from omnizarr.transformers.versions import Session, commit, open_session

T = TypeVar("T")


def values(store: Store, version: int | None = None) -> dict[str, bytes]:
    session = open_session(store, "", None, version)
    return {key: bytes(session.get(key) or b"") for key in session.list()}


def changed(session: Session, **changes: bytes | None) -> Session:
    for key, value in changes.items():
        if value is None:
            session.erase(key)
        else:
            session.set(key, value)
    return session


def begin(store: Store, **changes: bytes | None) -> Session:
    return changed(open_session(store, "", None), **changes)


def test_Z19_sessions_with_different_keys_merge() -> None:
    store = MemoryStore()
    commit(begin(store, a=b"0", b=b"0", c=b"0"), "first")
    one, two, three = begin(store, a=b"1"), begin(store, b=b"2"), begin(store, c=None, d=b"3")
    for session in (one, two, three):
        commit(session, "")
    assert values(store) == {"a": b"1", "b": b"2", "d": b"3"}
    assert values(store, 1) == {"a": b"0", "b": b"0", "c": b"0"}
    assert values(store, 2) == {"a": b"1", "b": b"0", "c": b"0"}


CHANGES: dict[str, bytes | None] = {"set": b"new", "erase": None}


@pytest.mark.parametrize(("mine", "theirs"), list(itertools.product(CHANGES, CHANGES)))
@pytest.mark.parametrize("exists", [False, True])
def test_Z19_a_key_that_both_changed_is_a_conflict(mine: str, theirs: str, exists: bool) -> None:
    store = MemoryStore()
    commit(begin(store, k=b"old" if exists else None, other=b"0"), "first")
    one, two = begin(store, k=CHANGES[theirs], x=b"x"), begin(store, k=CHANGES[mine], y=b"y")
    commit(one, "")
    before = values(store)
    real = (exists or theirs == "set") and (exists or mine == "set")  # erasing an absent key changes nothing
    if not real:
        commit(two, "")
        assert values(store)["y"] == b"y"
        return
    with pytest.raises(ConflictError, match="changed 1 of the same keys") as raised:
        commit(two, "")
    assert raised.value.keys == ("k",)
    assert values(store) == before, "nothing is published"
    assert two.get("y") == b"y", "the changes are kept"
    assert not two.closed
    changed(two, y=b"later")


def test_a_commit_without_changes_is_the_current_version() -> None:
    store = MemoryStore()
    session = commit(begin(store, a=b"0"), "first")
    assert commit(session, "none").base.number == 1
    assert commit(begin(store, absent=None), "none").base.number == 1


def test_finding_a_version_takes_few_requests() -> None:
    inner = MemoryStore()
    session = open_session(inner, "", None)
    count = 300
    for number in range(1, count + 1):
        session = commit(changed(session, k=b"%d" % number), f"version {number}")
    for number in (1, 2, 3, 100, 150, 255, 256, 299, 300):
        store = RecordingStore(inner)
        found = open_session(store, "", None, number)
        assert found.base.version.message == f"version {number}"
        assert found.get("k") == b"%d" % number
        assert store.requests <= 3 * math.log2(count) + 5
    assert [version.number for version in session.history.public()] == list(range(count + 1))


# -- failures


@pytest.mark.parametrize("kind", ["fail", "tear"])
def test_Z18_a_failure_at_any_request_leaves_the_old_version_or_the_new_one(kind: str) -> None:
    """And the session can be committed again, or another one."""
    for number in itertools.count(1):
        inner = MemoryStore()
        commit(begin(inner, a=b"0", b=b"0"), "first")
        store = FaultyStore(inner, [])
        session = begin(store, a=b"1", b=None, c=b"1")
        before = store.count
        methods = ["set"] if kind == "tear" else None  # a compare-and-set is atomic
        store.faults = (Fault(kind, calls=[before + number], methods=methods),)  # type: ignore[arg-type]
        old, new = {"a": b"0", "b": b"0"}, {"a": b"1", "c": b"1"}
        try:
            commit(session, "second")
        except StoreError:
            assert store.met
            assert values(inner) in (old, new)
            commit(session, "again")
            assert values(inner) == new
            assert open_session(inner, "", None).base.number == 2
        else:
            assert values(inner) == new
            if store.count < before + number:
                assert number > 4
                return


class Unsure(RequestStore):
    """The first compare-and-set fails without saying whether it was stored."""

    def __init__(self, inner: Store, landed: bool, meanwhile: Callable[[], object], error: BaseException) -> None:
        super().__init__(inner)
        self.landed, self.meanwhile, self.error = landed, meanwhile, error
        self.met = False

    def request(self, method: str, key: str, act: Callable[[], T], *, torn: Callable[[], object] | None = None) -> T:
        if method != "updates.write" or self.met:
            return act()
        self.met = True
        if self.landed:
            assert act()
        self.meanwhile()
        raise self.error


@pytest.mark.parametrize("landed", [False, True])
@pytest.mark.parametrize("overtaken", [False, True])
def test_an_uncertain_commit_is_published_once(landed: bool, overtaken: bool) -> None:
    """Meanwhile another session may commit on top of it."""
    store = MemoryStore()
    commit(begin(store, a=b"0"), "first")

    def meanwhile() -> None:
        if overtaken:
            commit(begin(store, c=b"2"), "other")

    session = begin(Unsure(store, landed, meanwhile, UncertainWriteError("lost")), b=b"1")
    commit(session, "mine")
    assert values(store) == {"a": b"0", "b": b"1", **({"c": b"2"} if overtaken else {})}
    messages = [version.message for version in session.history.public()]
    assert messages.count("mine") == 1


def test_a_failed_answer_does_not_erase_published_values() -> None:
    """The head is published, but the caller gets an error, changes more and commits again."""
    inner = MemoryStore()
    commit(begin(inner, a=b"0"), "first")
    session = begin(Unsure(inner, True, lambda: None, KeyboardInterrupt()), a=b"1", b=b"1")
    with pytest.raises(KeyboardInterrupt):
        commit(session, "second")
    changed(session, a=b"2")
    commit(session, "third")
    assert values(inner, 2) == {"a": b"1", "b": b"1"}
    assert values(inner, 3) == {"a": b"2", "b": b"1"}


def test_a_replaced_array_is_detected() -> None:
    store = MemoryStore()
    session = commit(begin(store, a=b"0"), "first")
    changed(session, a=b"1")
    store.erase_prefix("")
    with pytest.raises(StoreError, match="erased or replaced"):
        commit(session, "second")
    commit(begin(store, x=b"0"), "another array")
    with pytest.raises(StoreError, match="replaced the array"):
        commit(session, "second")
    assert values(store) == {"x": b"0"}
