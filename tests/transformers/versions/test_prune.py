"""Pruning removes what no version needs, and nothing else."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest

from omnizarr.errors import ArgumentError, StoreError
from omnizarr.store import MemoryStore, Store
from omnizarr.testing import Fault, FaultyStore
from omnizarr.transformers.versions import PruneReport, commit, open_session, prune_history
from omnizarr.transformers.versions.history import History

NOW = timedelta(0)


def history(store: Store, versions: int = 5) -> Store:
    """Version n has a=n and n in the key k<n>."""
    session = open_session(store, "", None)
    for number in range(1, versions + 1):
        session.set("a", b"%d" % number)
        session.set(f"k{number}", b"%d" % number)
        session = commit(session, f"version {number}")
    return store


def prune(store: Store, **options: object) -> PruneReport:
    return prune_history(History(store, ""), **options)  # type: ignore[arg-type]


def check(store: Store, oldest: int, newest: int = 5) -> None:
    found = open_session(store, "", None).history
    assert [version.number for version in found.public()] == list(range(oldest, newest + 1))
    for number in range(oldest, newest + 1):
        session = open_session(store, "", None, number)
        expected = {f"k{other}": b"%d" % other for other in range(1, number + 1)}
        if number:
            expected["a"] = b"%d" % number
        assert {key: bytes(session.get(key) or b"") for key in session.list()} == expected


def test_old_versions_are_removed() -> None:
    store = history(MemoryStore())
    before = set(store.list())
    planned = prune(store, keep=2, grace=NOW, dry_run=True)
    assert set(store.list()) == before
    report = prune(store, keep=2, grace=NOW)
    assert report == planned
    assert report.versions == (0, 1, 2, 3)
    assert report.oldest == 4
    # Of versions 1 to 3: the commit, the page and the value of `a`.
    assert report.keys == 9
    assert len(before) - len(set(store.list())) == 9
    check(store, 4)
    with pytest.raises(ArgumentError, match="expected a number from 4 to 5, found 3"):
        open_session(store, "", None, 3)
    assert prune(store, keep=2, grace=NOW) == PruneReport((), 0, 4)


def test_ages_and_counts_both_keep_versions() -> None:
    store = history(MemoryStore())
    assert prune(store).versions == ()
    assert prune(store, keep=1).versions == (), "all are younger than a day"
    assert prune(store, keep=1, older_than=timedelta(days=2), grace=NOW).versions == ()
    assert prune(store, older_than=NOW, grace=NOW, dry_run=True).versions == (0, 1, 2, 3, 4)
    assert prune(store, keep=10, older_than=NOW, grace=NOW).versions == ()
    check(store, 0)
    for options in ({"keep": 0}, {"keep": True}, {"older_than": 5}, {"grace": timedelta(-1)}):
        with pytest.raises(ArgumentError, match="expected"):
            prune(store, **options)


def test_the_search_for_versions_works_after_pruning() -> None:
    store = history(MemoryStore(), 40)
    prune(store, keep=20, grace=NOW)
    session = open_session(store, "", None)
    for number in range(41, 80):
        session.set("a", b"%d" % number)
        session.set(f"k{number}", b"%d" % number)
        session = commit(session, "")
    check(store, 21, 79)


def test_uncommitted_values_are_kept_for_the_grace_period() -> None:
    store = history(MemoryStore())
    session = open_session(store, "", None)
    session.set("a", b"5")
    session.set("k5", b"5")
    session.set("k6", b"6")
    prune(store, keep=1)
    prune(store, keep=1, grace=timedelta(minutes=1))
    session = commit(session, "still possible")
    session.erase("k6")
    session.set("abandoned", b"x")
    assert prune(store, grace=NOW).keys > 0
    with pytest.raises(StoreError, match="it began before"):
        commit(session, "too late")
    assert open_session(store, "", None).base.version.message == "still possible"


def test_a_session_from_a_removed_version_cannot_commit() -> None:
    store = history(MemoryStore())
    session = open_session(store, "", None)
    session.set("x", b"1")
    other = open_session(store, "", None)
    other.set("y", b"1")
    commit(other, "")
    head = History(store, "").head()[0]
    assert head.number == 6
    prune_history(History(store, ""), keep=1, grace=NOW)
    with pytest.raises(StoreError, match="`prune` removed version 5"):
        commit(session, "")


def test_a_reader_of_a_removed_version_gets_an_error() -> None:
    store = history(MemoryStore())
    reader = open_session(store, "", None, 2)
    prune(store, keep=1, grace=NOW)
    with pytest.raises(StoreError, match="`prune` removed"):
        reader.get("a")


def test_Z20_a_failure_at_any_request_loses_nothing() -> None:
    for number in itertools.count(1):
        inner = history(MemoryStore())
        store = FaultyStore(inner, [Fault("fail", calls=[number])])
        try:
            prune(store, keep=2, grace=NOW)
        except StoreError:
            assert store.met
        oldest = History(inner, "").head()[0].oldest
        assert oldest in (0, 4)
        check(inner, oldest)
        prune(inner, keep=2, grace=NOW)
        check(inner, 4)
        clean = history(MemoryStore())
        prune(clean, keep=2, grace=NOW)
        assert len(list(inner.list())) == len(list(clean.list())), "the next call removes the rest"
        if not store.met:
            return


def test_an_array_without_commits_can_be_pruned() -> None:
    store = MemoryStore()
    session = open_session(store, "", None)
    session.set("abandoned", b"x")
    assert prune(store, grace=NOW) == PruneReport((), 1, 0)
    with pytest.raises(StoreError, match="it began before"):
        commit(session, "too late")
    session = open_session(store, "", None)
    session.set("k", b"x")
    commit(session, "first")
    assert open_session(store, "", None).get("k") == b"x"
