"""Atomic writes of a LocalStore: interrupted writes, removed directories, and errors of the system."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from tests.store.local.temp_files import all_paths

import omnizarr
from omnizarr.errors import InvalidKeyError, StoreError
from omnizarr.native import NO_LINKS
from omnizarr.store import LocalStore
from omnizarr.store.local import files


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), Interrupted()]
)
@pytest.mark.parametrize("call", ["pwrite", "close", "replace"])
def test_a_set_that_fails_midway_changes_nothing(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, error: BaseException, call: str
):
    store.set("a/k", b"old")
    real = {name: getattr(os, name) for name in ("pwrite", "close", "replace")}
    written = []

    def failing(*arguments: object) -> None:
        if call == "pwrite" and not written:
            written.append(
                real["pwrite"](arguments[0], bytes(arguments[1])[:2], 0)
            )  # a short write; the next call fails
            return written[0]
        if call == "close":
            real["close"](*arguments)
        raise error

    with monkeypatch.context() as patch, omnizarr.config(native=0):
        if call == "close":  # on a network file system, where a file is closed before it is renamed
            patch.setattr(store._locks, "guards_files", lambda: False)
        patch.setattr(os, call, failing)
        with pytest.raises(StoreError if isinstance(error, OSError) else type(error)) as caught:
            store.set("a/k", b"new value")
    if isinstance(error, OSError):
        assert caught.value.errno == errno.ENOSPC
        assert "disk is full" in str(caught.value)
        assert str(store.path("a/k")) in str(caught.value)
        assert caught.value.key == "a/k"
    assert store.get("a/k") == b"old"
    assert all_paths(Path(store.location)) == ["a", "a/k"]


def test_short_writes_are_continued(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, start: real(file, data[:3], start))
    with omnizarr.config(native=0):
        store.set("k", b"0123456789")
        store.set("n", memoryview(b"0123456789"))
    assert store.get("k") == store.get("n") == b"0123456789"


@pytest.mark.parametrize("native", [0, 1])
@pytest.mark.parametrize(
    "key", ["k", "a/k", "b/k", "b/c/k", "b/é/k", "b/c/é", "a/old", "a/old/k", "b//k", "b/\ud800/k"]
)
def test_the_first_write_into_a_directory_is_the_same_with_and_without_the_kernel(
    store: LocalStore, native: int, key: str
):
    """Each operation on a store that has created no directory yet: a set, and compare-and-set of an absent value and of
    another version."""
    store.set("a/old", b"old")
    location = Path(store.location)
    with omnizarr.config(native=native):
        for again in (False, True):  # into a directory that does not exist, then into one that is not known
            version = store.updates.read("a/old")[1]
            store = LocalStore(location)
            valid = key not in ("a/old/k", "b//k", "b/\ud800/k")
            if not valid:
                with pytest.raises(StoreError):
                    store.set(key, b"x")
                with pytest.raises(StoreError):
                    store.updates.write(key, b"x", None)
                assert all_paths(location) == ["a", "a/old"]
                continue
            if key != "a/old":
                assert not store.updates.write(key, b"x", version)
                assert (location / "b").exists() == (again and key.startswith("b/"))
            assert store.updates.write(key, b"x", None) == (key != "a/old")
            assert not store.updates.write(key, b"y", None)
            store.set(key, b"z")
            assert store.get(key) == b"z"
            assert {path for path in all_paths(location) if (location / path).is_file()} == {"a/old", key}
            store.set("a/old", b"old")
            if key != "a/old":
                os.unlink(location / key)


def test_a_path_that_is_too_long_is_rejected_in_a_known_directory(store: LocalStore):
    """The kernel could create such a file, but nothing could read it."""
    prefix = "x" * 100 + "/"
    while len(store.location) + len(prefix) < 3900:
        prefix += "x" * 100 + "/"
    store.set(prefix + "k", b"x")
    name = "y" * 200
    with pytest.raises(StoreError, match="too long"):
        store.set(prefix + name, b"x")
    with pytest.raises(StoreError, match="too long"):
        store.updates.write(prefix + name, b"x", None)
    assert store.get(prefix + "k") == b"x"
    assert store.list_dir(prefix) == ([prefix + "k"], [])


def test_a_removed_directory_is_created_again(store: LocalStore):
    store.set("a/b/k", b"x")
    other = LocalStore(store.location)
    other.erase_prefix("")
    store.set("a/b/k", b"y")
    assert other.get("a/b/k") == b"y"
    os.unlink(store.path("a/b/k"))
    os.removedirs(store.path("a/b"))
    store.set("a/b/k", b"z")
    assert other.get("a/b/k") == b"z"


def test_errors_for_keys_below_a_file_and_keys_that_are_directories(store: LocalStore):
    store.set("a/b", b"x")
    with pytest.raises(StoreError, match="no key can lie below another one") as caught:
        store.set("a/b/c", b"x")
    assert caught.value.errno == errno.ENOTDIR
    with pytest.raises(StoreError, match="a directory is where a file is needed") as caught:
        store.set("a", b"x")
    assert caught.value.errno == errno.EISDIR
    assert all_paths(Path(store.location)) == ["a", "a/b"]
    root_is_a_file = LocalStore(store.path("a/b"))
    assert root_is_a_file.get("k") is None
    assert list(root_is_a_file.list()) == []
    with pytest.raises(StoreError):
        root_is_a_file.set("k", b"x")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root has every permission")
def test_permission_errors(store: LocalStore):
    store.set("a/k", b"x")
    os.chmod(store.path("a/k"), 0)
    os.chmod(store.path("a"), 0o555)
    try:
        for operation in (lambda: store.get("a/k"), lambda: store.set("a/n", b"x"), lambda: store.erase("a/k")):
            with pytest.raises(StoreError, match="ermission") as caught:
                operation()
            assert caught.value.errno == errno.EACCES
    finally:
        os.chmod(store.path("a"), 0o755)


@pytest.mark.parametrize("call", ["open", "fstat", "stat", "unlink", "scandir"])
def test_system_errors_become_store_errors(store: LocalStore, monkeypatch: pytest.MonkeyPatch, call: str):
    store.set("a/k", b"x")
    operations = {
        "open": [lambda: store.get("a/k"), lambda: store.set("a/k", b"x")],
        "fstat": [lambda: store.get("a/k"), lambda: store.get_partial_values([("a/k", None)] * 2)],
        "stat": [lambda: store.size("a/k"), lambda: LocalStore(store.location).get("a/k")],
        "unlink": [lambda: store.erase("a/k"), lambda: store.erase_prefix("a/")],
        "scandir": [lambda: list(store.list()), lambda: store.list_dir(""), lambda: store.erase_prefix("a/")],
    }[call]

    def failing(*arguments: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "x")

    for operation in operations:
        with monkeypatch.context() as patch, omnizarr.config(native=0):
            patch.setattr(os, call, failing)
            with pytest.raises(StoreError, match="Permission denied") as caught:
                operation()
        assert caught.value.errno == errno.EACCES
        assert store.location in caught.value.message
    assert store.get("a/k") == b"x"


def test_replacing_is_retried_on_windows_while_a_reader_has_the_file_open(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
):
    real = os.replace
    errors = [PermissionError(errno.EACCES, "a reader has it open")] * 3

    def replace(source: str, target: str) -> None:
        if errors:
            raise errors.pop()
        real(source, target)

    monkeypatch.setattr(files, "WINDOWS", True)
    monkeypatch.setattr(os, "replace", replace)
    store.set("k", b"x")
    assert store.get("k") == b"x"


def test_paths_of_rows_of_keys(store: LocalStore, tmp_path: Path):
    for key in ("c/0/1", "c/0/2", "k"):
        store.set(key, b"x")
    (Path(store.location) / "link").symlink_to(tmp_path)
    rows = [("c/0/", ("1", "2")), ("k", ("",)), ("c/", ("0/1", "0/3")), ("absent/", ("1", "2")), ("c/1/", ())]
    expected = ["c/0/1", "c/0/2", "k", "c/0/1", "c/0/3"]
    for _ in range(2):
        file_paths, _ = store.local_files.paths(rows)
        assert [os.path.relpath(path, store.location) for path in file_paths[:5]] == expected
        assert file_paths[5:] == ["", ""]
    path, flags = store.local_files.path("c/0/2")
    assert (path, flags & ~NO_LINKS) == (file_paths[1], store.local_files.paths([])[1])
    for row in [("", ("a/../../secret",)), ("c/0/", ("..", "1")), ("", ("link/f",)), ("link/", ("1", "2"))]:
        with pytest.raises(InvalidKeyError):
            store.local_files.paths([row])


@pytest.mark.parametrize("native", [1, 0])
def test_a_write_outlasts_threads_that_keep_removing_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, native: int
) -> None:
    """A write that stores nothing removes the empty directories that it created; another thread may be inside."""
    make_directory, removed = files.make_directory, []

    def make_after_another_thread(path: str) -> bool:
        parent = Path(path).parent
        if parent.name == "c" and len(removed) < 9:
            parent.rmdir()
            removed.append(parent)
        return make_directory(path)

    monkeypatch.setattr(files, "make_directory", make_after_another_thread)
    with omnizarr.config(native=native):
        z = omnizarr.create_array(tmp_path, data=np.ones((2, 2)), chunks=(1, 1), compressors=None)
    assert len(removed) == 9
    assert (z[...] == 1).all()
