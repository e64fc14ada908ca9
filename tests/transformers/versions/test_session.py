"""A session is a store: private changes over one version, with every verb and capability of a store."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from omnizarr.chunk_keys import DefaultKeys
from omnizarr.errors import ArgumentError, InvalidKeyError, ReadOnlyError, StoreError
from omnizarr.store import LocalStore, MemoryStore, SQLiteStore, Store
from omnizarr.testing import StoreSuite
from omnizarr.transformers import ArrayPlace, MemoryCache, ShardingTransformer, Versions, wrap_all
from omnizarr.transformers.versions import Session, commit, open_session


class TestSessionInMemory(StoreSuite):
    pickled_is_equal = False
    shared_by_processes = False

    def make_store(self, tmp_path: Path) -> Store:
        return open_session(MemoryStore(), "", None)


class TestSessionBelowAPrefix(StoreSuite):
    """Half of the keys of the suite belong to the array, the others to the store below."""

    shared_by_processes = False

    def make_store(self, tmp_path: Path) -> Store:
        return open_session(LocalStore(tmp_path), "a/", None)


class TestSessionAfterCommits(StoreSuite):
    """The suite on a version that has a table and erased everything."""

    pickled_is_equal = False
    shared_by_processes = False

    def make_store(self, tmp_path: Path) -> Store:
        session = open_session(MemoryStore(), "", None)
        session.set_each((f"a/{number}", b"x") for number in range(3000))
        session = commit(session, "many keys")
        session.erase_prefix("")
        return commit(session, "no keys")


class TestSessionInSQLite(StoreSuite):
    shared_by_processes = False

    def make_store(self, tmp_path: Path) -> Store:
        return open_session(SQLiteStore(tmp_path / "versions.sqlite"), "", None)


def filled(store: Store, prefix: str = "a/") -> Session:
    session = open_session(store, prefix, None)
    session.set_each([(f"{prefix}c/0", b"zero"), (f"{prefix}c/1", b"one")])
    return commit(session, "first")


def test_changes_are_private_until_commit() -> None:
    store = MemoryStore()
    session = filled(store)
    session.set("a/c/0", b"changed")
    session.erase("a/c/1")
    session.set("a/c/2", b"two")
    other = open_session(store, "a/", None)
    assert [bytes(other.get(f"a/c/{number}") or b"") for number in range(3)] == [b"zero", b"one", b""]
    commit(session, "second")
    assert [bytes(other.get(f"a/c/{number}") or b"") for number in range(3)] == [b"zero", b"one", b""]
    new = open_session(store, "a/", None)
    assert new.get("a/c/0") == b"changed"
    assert sorted(new.list_prefix("a/")) == ["a/c/0", "a/c/2"]


def test_unchanged_values_are_shared_by_versions() -> None:
    store = MemoryStore()
    session = open_session(store, "", None)
    session.set_each((f"c/{number}", bytes(100)) for number in range(5000))
    session = commit(session, "first")
    before = set(store.list())
    session.set("c/77", b"x")
    commit(session, "second")
    new = set(store.list()) - before
    kinds = sorted(key.split("/")[1] for key in new)
    assert kinds == ["commits", "pages", "values"], "one chunk, its page and the commit"


def test_keys_of_versions_are_reserved() -> None:
    session = filled(MemoryStore())
    for key in ("a/__versions__/head.json", "a/__versions__", "a/__versions__/values/x"):
        for act in (session.get, session.erase, session.exists, lambda key: session.set(key, b"")):
            with pytest.raises(InvalidKeyError, match="reserved"):
                act(key)
    assert all("__versions__" not in key for key in session.list())


def test_a_missing_value_is_an_error_and_not_an_absent_chunk() -> None:
    store = MemoryStore()
    session = filled(store)
    store.erase_prefix("a/__versions__/values/")
    for act in (
        lambda: session.get("a/c/0"),
        lambda: session.get_into("a/c/0", 0, memoryview(bytearray(4))),
        lambda: list(session.get_each([("a/c/0", (0, 1))])),
        lambda: session.snapshots.open("a/c/0"),  # type: ignore[union-attr]
        lambda: session.updates.read("a/c/0"),  # type: ignore[union-attr]
    ):
        with pytest.raises(StoreError, match="does not exist any more"):
            act()


def test_a_value_of_another_length_is_an_error() -> None:
    store = MemoryStore()
    session = filled(store)
    for key in store.list_prefix("a/__versions__/values/"):
        store.set(key, b"longer than before")
    for act in (
        lambda: session.get("a/c/0"),
        lambda: session.snapshots.open("a/c/0"),  # type: ignore[union-attr]
        lambda: session.updates.read("a/c/0"),  # type: ignore[union-attr]
    ):
        with pytest.raises(StoreError, match="damaged"):
            act()


def test_replaced_values_of_a_session_are_erased() -> None:
    store = MemoryStore()
    session = filled(store)
    for number in range(10):
        session.set("a/c/0", bytes([number]))
    assert len(list(store.list_prefix("a/__versions__/values/"))) == 3


def test_a_copy_of_a_session_keeps_its_values(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    session = filled(store)
    session.set("a/c/0", b"shared with the copy")
    copy = pickle.loads(pickle.dumps(session))
    session.set("a/c/0", b"replaced")
    assert copy.get("a/c/0") == b"shared with the copy"
    commit(copy, "by the copy")
    assert open_session(store, "a/", None).get("a/c/0") == b"shared with the copy"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_keeps_the_values_of_its_session(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    session = filled(store)
    session.set("a/c/0", b"shared with the child")
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.read(ready, 1)
            if session.get("a/c/0") == b"shared with the child":
                session.set("a/c/1", b"by the child")
                commit(session, "by the child")
                status = 0
        finally:
            os._exit(status)
    session.set("a/c/0", b"replaced by the parent")
    os.write(go, b"x")
    assert os.waitpid(child, 0)[1] == 0
    new = open_session(store, "a/", None)
    assert new.get("a/c/0") == b"shared with the child"
    assert new.get("a/c/1") == b"by the child"


def test_a_version_is_read_only() -> None:
    store = MemoryStore()
    commit_session = filled(store)
    commit_session.set("a/c/0", b"second")
    commit(commit_session, "second")
    old = open_session(store, "a/", None, version=1)
    assert old.get("a/c/0") == b"zero"
    assert old.read_only
    for act in (lambda: old.set("a/c/0", b""), lambda: old.erase("a/c/0"), lambda: commit(old, "")):
        with pytest.raises(ReadOnlyError, match="version 1"):
            act()
    assert list(open_session(store, "a/", None, version=0).list_prefix("a/")) == []
    with pytest.raises(ArgumentError, match="from 0 to 2, found 3"):
        open_session(store, "a/", None, version=3)


def test_a_store_without_updates_is_read_only() -> None:
    class Plain(MemoryStore, keeps_capabilities=True):
        updates = None

    data: dict[str, bytes] = {}
    filled(MemoryStore(data))
    session = open_session(Plain(data), "a/", None)
    assert session.get("a/c/0") == b"zero"
    with pytest.raises(ReadOnlyError, match="no compare-and-set"):
        session.set("a/c/0", b"x")


def test_a_write_after_commit_is_refused() -> None:
    session = filled(MemoryStore())
    session.set("a/c/0", b"x")
    commit(session, "second")
    with pytest.raises(StoreError, match="has ended"):
        session.set("a/c/0", b"lost")
    updates = session.updates
    assert updates is not None
    with pytest.raises(StoreError, match="has ended"):
        updates.write("a/c/5", b"lost", None)


def test_it_must_be_the_last_transformer() -> None:
    place = ArrayPlace("a/", (20,), (5,), DefaultKeys())
    with pytest.raises(ArgumentError, match="must be the last storage transformer"):
        wrap_all(MemoryStore(), [Versions(), ShardingTransformer((2,))], place)
    wrap_all(MemoryStore(), [Versions(), MemoryCache()], place)
    store = wrap_all(MemoryStore(), [MemoryCache(), ShardingTransformer((2,)), Versions()], place)
    store.set("a/c/0", b"x")
    assert store.get("a/c/0") == b"x"
