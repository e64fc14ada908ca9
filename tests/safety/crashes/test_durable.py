"""`durable=True`: data are on disk when the write returns, in an order that keeps them consistent after a crash."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr

UNNAMED = hasattr(os, "O_TMPFILE")


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

    def opened(file: int, path: Any, flags: int, *_: Any) -> None:
        unnamed = hasattr(os, "O_TMPFILE") and flags & os.O_TMPFILE == os.O_TMPFILE
        names[file] = "new" if unnamed else name(path)

    watched("open", opened)
    watched("link", lambda _, old, new: f"new to {name(new)}")
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
        ("replace", "new to 0"),
        *[("link" if UNNAMED else "replace", f"new to {number}") for number in (1, 2)],
        ("fsync", "a"),
    ]
    calls.clear()
    store.set_each([(f"a/{number}", b"y") for number in range(3)])
    given = [("link", "new to new")] if UNNAMED else []
    renamed = [call for number in (1, 2) for call in (*given, ("replace", f"new to {number}"))]
    assert calls[6:] == [("replace", "new to 0"), *renamed, ("fsync", "a")]
    assert store.get("a/2") == b"y"


@pytest.mark.skipif(not UNNAMED, reason="this system has no files without names")
@pytest.mark.parametrize("error", [errno.EPERM, errno.EXDEV, errno.ENOENT])
def test_files_without_names_that_cannot_get_one_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def link(*_: Any, **__: Any) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "link", link)
    store = omnizarr.LocalStore(tmp_path, durable=True)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(2):
        store.set_each([(f"a/{number}", b"%d" % number) for number in range(70)])
    assert all(store.get(f"a/{number}") == b"%d" % number for number in range(70))
    assert len(os.listdir(tmp_path / "a")) == 70
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.EISDIR])
def test_file_systems_without_unnamed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    real = os.open

    def open_named(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if UNNAMED and flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(error, os.strerror(error))
        return real(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", open_named)
    store = omnizarr.LocalStore(tmp_path, durable=True)
    store.set_each([(f"a/{number}", b"x") for number in range(5)])
    assert sorted(os.listdir(tmp_path / "a")) == [str(number) for number in range(5)]


def test_a_row_of_chunks_is_a_batch(tmp_path: Path, calls: Any) -> None:
    store = omnizarr.LocalStore(tmp_path, durable=True)
    z = omnizarr.create_array(store, shape=(2, 64), dtype="u1", chunks=(1, 4))
    calls.clear()
    with omnizarr.config(threads=1):
        z[...] = 1
    assert [what for what, _ in calls].count("fsync") <= 32 + 2 * 8 + 2
    assert z[...].all()
    assert [name for what, name in calls if what in ("replace", "link")] == [
        f"new to {number % 16}" for number in range(32)
    ]


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
