"""Damaged and hostile records give an error of ours, and never other data."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.errors import MetadataError, OmnizarrError
from omnizarr.store import MemoryStore
from omnizarr.transformers.versions import commit, open_session
from omnizarr.transformers.versions.records import (
    Commit,
    Head,
    PageRef,
    ValueRef,
    dump_commit,
    dump_head,
    dump_page,
    parse_commit,
    parse_head,
    parse_page,
)

NAME = f"20260101T000000000000Z-{0:016x}/{1:024x}"
COMMIT = Commit(2, NAME, NAME, (1, NAME), "text", "20260101T000000000000Z", ValueRef(NAME, 3), (PageRef("c", NAME, 1),))
LIMIT = 10**6


def test_records_round_trip() -> None:
    for head in (Head(), Head(2, NAME, 1, "20260101T000000000000Z")):
        assert parse_head(dump_head(head), "head", LIMIT) == head
    for record in (COMMIT, Commit(1, NAME, None, None, "", COMMIT.time, None, ())):
        assert parse_commit(dump_commit(record), NAME, "commit", LIMIT) == record
    page = {"a": ValueRef(NAME, 0), "b/c": ValueRef(NAME, 2**40)}
    assert parse_page(dump_page(page), PageRef("a", NAME, 2), "page", LIMIT) == page


def _changed(record: bytes, members: dict[str, Any]) -> bytes:
    return json.dumps({**json.loads(record), **members}).encode()


@pytest.mark.parametrize(
    "members",
    [
        {"format": 2},
        {"format": True},
        {"number": -1},
        {"number": 1.5},
        {"number": 2**70},
        {"commit": "../../secret"},
        {"commit": None},
        {"number": 0},
        {"oldest": 3},
        {"fence": "tomorrow"},
        {"fence": "99999999T999999999999Z"},
    ],
)
def test_invalid_heads_are_refused(members: dict[str, Any]) -> None:
    with pytest.raises(MetadataError, match=r"head.*is invalid"):
        parse_head(_changed(dump_head(Head(2, NAME)), members), "head", LIMIT)


@pytest.mark.parametrize(
    "members",
    [
        {"format": None},
        {"number": 0},
        {"number": 1},
        {"parent": None},
        {"parent": "x" * 100},
        {"jump": [2, NAME]},
        {"jump": [1]},
        {"message": 5},
        {"time": "yesterday"},
        {"document": [NAME, -1]},
        {"document": [NAME + "/../x", 1]},
        {"pages": {}},
        {"pages": [["a", NAME, 0]]},
        {"pages": [["b", NAME, 1], ["a", NAME, 1]]},
        {"pages": [["a", NAME]]},
    ],
)
def test_invalid_commits_are_refused(members: dict[str, Any]) -> None:
    with pytest.raises(MetadataError, match=r"commit.*is invalid"):
        parse_commit(_changed(dump_commit(COMMIT), members), NAME, "commit", LIMIT)


@pytest.mark.parametrize(
    "items",
    [
        {},
        [],
        [["a", NAME, 1]],
        [["a", NAME, 1], ["a", NAME, 1]],
        [["b", NAME, 1], ["a", NAME, 1]],
        [["a", NAME, 1], ["../b", NAME, 1]],
        [["a", NAME, 1], ["b", "name", 1]],
        [["a", NAME, 1], ["b", NAME, True]],
        [["a", NAME, 1], [5, NAME, 1]],
        [["0", NAME, 1], ["a", NAME, 1]],
    ],
)
def test_invalid_pages_are_refused(items: Any) -> None:
    with pytest.raises(MetadataError, match="page"):
        parse_page(json.dumps(items).encode(), PageRef("a", NAME, 2), "page", LIMIT)


def test_records_that_disagree_are_refused() -> None:
    store = MemoryStore()
    session = open_session(store, "", None)
    for number in range(3):
        session.set("c/0", b"%d" % number)
        session = commit(session, "")
    head = parse_head(bytes(store.get("__versions__/head.json") or b""), "head", LIMIT)
    store.set("__versions__/head.json", dump_head(Head(9, head.commit)))
    with pytest.raises(OmnizarrError, match="it is version 3, but was stored as 9"):
        open_session(store, "", None)


@given(st.data())
def test_damage_is_found_or_harmless(data: st.DataObject) -> None:
    """Whatever bytes replace a record, reading gives an error of ours or the values that were stored."""
    store = MemoryStore()
    session = open_session(store, "", None)
    session.set_each([("c/0", b"zero"), ("c/1", b"one")])
    session = commit(session, "first")
    session.set("c/1", b"uno")
    commit(session, "second")
    key = data.draw(st.sampled_from(sorted(key for key in store.list() if "/values/" not in key)))
    value = bytearray(store.get(key) or b"")
    for _ in range(data.draw(st.integers(1, 3))):
        value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(value)))
    store.set(key, bytes(value[:cut]) if data.draw(st.booleans()) else bytes(value))
    try:
        damaged = open_session(store, "", None)
        values = {key: damaged.get(key) for key in ("c/0", "c/1")}
        list(damaged.list())
        damaged.history.public()
    except OmnizarrError:
        return
    # A changed key or name may hide a chunk or show that of the old version, but never anything else.
    assert values["c/0"] in (b"zero", None)
    assert values["c/1"] in (b"uno", b"one", None)
