"""Versions of files that other processes can compare."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnizarr import LocalStore, MemoryStore
from omnizarr.errors import StoreError
from omnizarr.store import PrefixStore, ReadOnlyStore
from omnizarr.store.capabilities import ABSENT
from omnizarr.store.local import snapshot
from omnizarr.store.local.snapshot import lasting_version

HOUR_AGO = 1_700_000_000_123_456_789


def test_versions_are_those_of_snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path)
    for key in ("a/b/k", "a/l", "m"):
        store.set(key, b"value")
    keys = ["a/b/k", "a/l", "m", "a/b", "absent", "a/absent/k", "m/below"]
    snapshots = store.snapshots
    assert snapshots is not None
    assert snapshots.versions(keys) == [None] * 3 + [ABSENT] * 4, "written a moment ago"
    monkeypatch.setattr(snapshot, "_LONGEST_TICK", -(10**18))
    for view, prefix in ((store, ""), (ReadOnlyStore(store), ""), (PrefixStore(store, "a"), "a/")):
        own = [key.removeprefix(prefix) for key in keys if key.startswith(prefix)]
        assert view.snapshots is not None
        opened = [view.snapshots.open(key) for key in own]
        assert view.snapshots.versions(own) == [ABSENT if one is None else one.version for one in opened]
        assert view.snapshots.lasting
        assert view.snapshots.lasting_version(view.snapshots.versions(own[:1])[0])
        for one in opened:
            if one is not None:
                one.close()


def test_links_are_rejected_or_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"value")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/k").symlink_to(tmp_path / "other")
    strict, lenient = (
        LocalStore(tmp_path / "root").snapshots,
        LocalStore(tmp_path / "root", follow_symlinks=True).snapshots,
    )
    assert strict is not None
    assert lenient is not None
    with pytest.raises(StoreError):
        strict.versions(["k"])
    assert lenient.versions(["k", "l"]) == [None, ABSENT]


def test_what_does_not_last(tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(b"value")
    os.utime(tmp_path / "k", ns=(HOUR_AGO, HOUR_AGO))
    state = (1, 2, 3, HOUR_AGO, HOUR_AGO + 1)
    assert lasting_version(state) == lasting_version((9, *state[1:])), "the number of a device may change"
    assert lasting_version(state) != lasting_version((*state[:4], HOUR_AGO + 2))
    assert lasting_version((1, 2, 3, 5 * 10**9, 6 * 10**9)) is None, "the clock has whole seconds only"
    assert lasting_version(None) is None
    memory = MemoryStore().snapshots
    assert memory is not None
    assert (memory.lasting, memory.lasting_version("v"), memory.versions(["absent"])) == (False, None, [ABSENT])
