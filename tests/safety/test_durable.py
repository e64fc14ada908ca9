"""`durable=True`: data are on disk when the write returns, in an order that keeps them consistent after a crash."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The operations on files and directories, by name; temporary names are replaced by `new`."""
    found: list[tuple[str, str]] = []
    names: dict[int, str] = {}

    def name(path: Any) -> str:
        base = os.path.basename(str(path).rstrip("/"))
        return "new" if base.startswith(".omnizarr-") else base

    def watched(function: str, describe: Any) -> None:
        real = getattr(os, function)

        def call(*arguments: Any, **options: Any) -> Any:
            result = real(*arguments, **options)
            text = describe(result, *arguments)
            if text is not None:
                found.append((function, text))
            return result

        monkeypatch.setattr(os, function, call)

    watched("open", lambda file, path, *_: names.__setitem__(file, name(path)))
    watched("pwrite", lambda _, file, data, start: names[file])
    watched("fsync", lambda _, file: names[file])
    watched("replace", lambda _, old, new: f"{name(old)} to {name(new)}")
    watched("mkdir", lambda _, path, *__: name(path))
    watched("unlink", lambda _, path: name(path))
    return found


def test_a_file_is_synced_before_its_rename_and_its_directory_before_the_end(tmp_path: Path, calls: Any) -> None:
    store = omnizarr.LocalStore(tmp_path / "root", durable=True)
    (tmp_path / "root").mkdir()
    calls.clear()
    store.set("a/b/k", b"x")
    assert calls == [
        ("mkdir", "a"),
        ("mkdir", "b"),
        ("pwrite", "new"),
        ("fsync", "new"),
        ("replace", "new to k"),
        ("fsync", "b"),
        ("fsync", "a"),
        ("fsync", "root"),
    ]
    calls.clear()
    value, version = store.updates.read("a/b/k")
    assert value == b"x"
    assert store.updates.write("a/b/k", b"y", version)
    assert calls == [("pwrite", "new"), ("fsync", "new"), ("replace", "new to k"), ("fsync", "b")]
    calls.clear()
    store.erase("a/b/k")
    assert calls == [("unlink", "k"), ("fsync", "b")]


def test_a_batch_is_written_then_synced_then_renamed_then_its_directory_synced_once(tmp_path: Path, calls: Any) -> None:
    store = omnizarr.LocalStore(tmp_path, durable=True)
    store.set("a/k", b"")
    calls.clear()
    store.set_each([(f"a/{number}", b"x") for number in range(3)])
    assert calls == [
        *[("pwrite", "new")] * 3,
        *[("fsync", "new")] * 3,
        *[("replace", f"new to {number}") for number in range(3)],
        ("fsync", "a"),
    ]


def test_a_row_of_chunks_is_a_batch(tmp_path: Path, calls: Any) -> None:
    store = omnizarr.LocalStore(tmp_path, durable=True)
    z = omnizarr.create_array(store, shape=(2, 64), dtype="u1", chunks=(1, 4))
    calls.clear()
    with omnizarr.config(threads=1):
        z[...] = 1
    assert [what for what, _ in calls].count("fsync") <= 32 + 2 * 8 + 2
    assert z[...].all()
    assert [name for what, name in calls if what == "replace"] == [f"new to {number % 16}" for number in range(32)]


def test_ordinary_stores_sync_nothing(tmp_path: Path, calls: Any) -> None:
    z = omnizarr.create_array(tmp_path, shape=64, dtype="u1", chunks=4)
    z[...] = 1
    z[3] = 2
    z.append(np.ones(3, "u1"))
    assert "fsync" not in {what for what, _ in calls}


def test_derived_stores_are_durable_too(tmp_path: Path) -> None:
    import copy
    import pickle

    store = omnizarr.LocalStore.from_url(tmp_path.as_uri(), durable=True)
    above = store.parent()
    assert above is not None
    for other in (pickle.loads(pickle.dumps(store)), copy.copy(store), above[0]):
        assert other._writer.durable  # type: ignore[attr-defined]
    assert omnizarr.open_group(tmp_path.as_uri(), storage_options={"durable": True}).store._writer.durable  # type: ignore[attr-defined]
