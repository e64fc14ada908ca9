"""LocalStore: the store suite, its location, reading, erasing and listing."""

from __future__ import annotations

import errno
import os
import pickle
import sys
from pathlib import Path

import pytest
from tests.store.local.temp_files import all_paths, leave_temp_file

import omnizarr
from omnizarr.errors import LocationError, ReadOnlyError, StoreError
from omnizarr.native import kernel
from omnizarr.store import LocalStore
from omnizarr.store.local import files, flock, locking, paths
from omnizarr.testing import StoreSuite


class TestLocal(StoreSuite):
    case_sensitive = sys.platform not in ("darwin", "win32")

    def make_store(self, tmp_path: Path) -> LocalStore:
        return LocalStore(tmp_path / "created by the first write")


class TestFollowingLinks(StoreSuite):
    case_sensitive = TestLocal.case_sensitive

    def make_store(self, tmp_path: Path) -> LocalStore:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        return LocalStore(tmp_path / "link", follow_symlinks=True)


class TestWithoutModernCalls(StoreSuite):
    """A platform without pread, preadv and O_NOFOLLOW, with the rules of Windows for file names."""

    case_sensitive = TestLocal.case_sensitive

    @pytest.fixture(autouse=True)
    def platform(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "_pread", files._seek_and_read)
        monkeypatch.setattr(files, "_preadv", None)
        monkeypatch.setattr(files, "WINDOWS", os.name == "nt")
        monkeypatch.setattr(paths, "_WINDOWS", True)
        monkeypatch.setattr(paths, "_NOFOLLOW", 0)

    def make_store(self, tmp_path: Path) -> LocalStore:
        return LocalStore(tmp_path)


# -- the location


def test_R118_a_key_is_a_file_under_the_root(store: LocalStore, tmp_path: Path):
    store.set("a/b/c.0", b"x")
    assert (tmp_path / "root" / "a" / "b" / "c.0").read_bytes() == b"x"
    assert store.path("a/b/c.0") == tmp_path / "root" / "a" / "b" / "c.0"
    (tmp_path / "root" / "d").mkdir()
    (tmp_path / "root" / "d" / "e").write_bytes(b"y")
    assert store.get("d/e") == b"y"
    assert sorted(store.list()) == ["a/b/c.0", "d/e"]


def test_the_root_becomes_an_absolute_path_at_creation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    store = LocalStore("x/../data")
    monkeypatch.chdir("/")
    assert store.location == str(tmp_path / "data")
    assert store == LocalStore(tmp_path / "data")
    assert store != LocalStore(tmp_path / "other")
    assert repr(store) == f"LocalStore({tmp_path / 'data'})"


def test_dots_after_a_link_are_resolved_by_the_system(tmp_path: Path):
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    LocalStore(tmp_path / "link" / ".." / "data").set("k", b"x")
    assert (tmp_path / "far" / "data" / "k").exists()


def test_a_tilde_is_not_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    LocalStore("~").set("k", b"x")
    assert (tmp_path / "~" / "k").exists()


@pytest.mark.parametrize("root", ["", "a\0b", b"bytes", "file:///data", "s3://bucket/data"])
def test_roots_that_are_not_paths_are_rejected(root: str):
    with pytest.raises(LocationError):
        LocalStore(root)


def test_R117_file_urls(tmp_path: Path):
    store = LocalStore(tmp_path / "my data")
    assert store.url.endswith("/my%20data")
    assert LocalStore.from_url(store.url) == store
    assert LocalStore.from_url("file:///my%20data", read_only=True).location == os.path.abspath("/my data")
    assert LocalStore.from_url("file:///x", read_only=True).read_only


def test_a_pickle_keeps_the_options(tmp_path: Path):
    (tmp_path / "link").symlink_to("away")
    store = pickle.loads(pickle.dumps(LocalStore(tmp_path, read_only=True, follow_symlinks=True)))
    assert store.get("link/k") is None
    with pytest.raises(ReadOnlyError):
        store.set("k", b"x")


def test_without_file_locks_two_paths_of_one_directory_share_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    one, two = LocalStore(tmp_path / "real", locking=False), LocalStore(tmp_path / "link", locking=False)
    locked = []
    monkeypatch.setattr(locking, "thread_lock", lambda place, keys: locked.append((place, keys)))
    one.lock(["k"])
    two.lock(["k"])
    assert locked[0] == locked[1]


# -- reading


def test_one_read_opens_one_file(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    store.set("a/k", b"0123456789")
    opened = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda *arguments: opened.append(arguments[0]) or real(*arguments))
    monkeypatch.setattr(os, "stat", None)  # no other call inspects the file
    for read in (
        lambda: store.get("a/k"),
        lambda: store.get("a/k", (2, 3)),
        lambda: store.get("a/k", (-2, None)),
        lambda: store.get_into("a/k", 0, memoryview(bytearray(4))),
        lambda: store.updates.read("a/k"),
        lambda: store.get_partial_values([("a/k", (0, 1)), ("a/k", (5, 1)), ("a/k", None)]),
    ):
        opened.clear()
        read()
        assert opened == [str(store.path("a/k"))]


def test_short_reads_are_continued(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    store.set("k", b"0123456789")
    pread, preadv = files._pread, files._preadv
    monkeypatch.setattr(files, "_pread", lambda file, length, start: pread(file, min(length, 3), start))
    assert store.get("k") == b"0123456789"
    assert store.get("k", (1, 8)) == b"12345678"
    if preadv is not None:
        monkeypatch.setattr(files, "_preadv", lambda file, views, start: preadv(file, [views[0][:3]], start))
    target = bytearray(12)
    assert store.get_into("k", 1, memoryview(target)) == 9
    assert target == b"123456789\0\0\0"


def test_a_file_that_shrinks_while_it_is_read(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    store.set("k", b"0123456789")
    real = os.fstat

    def larger(file: int) -> os.stat_result:
        return os.stat_result((*real(file)[:6], 20, *real(file)[7:]))

    monkeypatch.setattr(os, "fstat", larger)
    assert store.get("k") == b"0123456789"


def test_directories_of_absent_keys_are_not_cached(store: LocalStore):
    assert store.get("a/b/k") is None
    (Path(store.location) / "a" / "b").mkdir(parents=True)
    (Path(store.location) / "a" / "b" / "k").write_bytes(b"x")
    assert store.get("a/b/k") == b"x"


def test_the_cache_of_directories_is_bounded(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "_REMEMBERED", 10)
    for number in range(50):
        store.set(f"d{number}/e/k", b"x")
    assert len(store._paths.folders) <= 10
    assert all(store.get(f"d{number}/e/k") == b"x" for number in range(50))


def test_keys_with_names_that_are_too_long_are_absent_and_cannot_be_set(store: LocalStore):
    for key in ("x" * 300, "a/" + "x" * 300, "x" * 300 + "/a", "/".join(["x" * 200] * 50)):
        assert store.get(key) is None
        assert not store.exists(key)
        store.erase(key)
        with pytest.raises(StoreError, match="too long") as caught:
            store.set(key, b"x")
        assert caught.value.errno == errno.ENAMETOOLONG
    store.erase_prefix("")
    assert all_paths(Path(store.location)) == []


def prefix_with_path_length(store: LocalStore, length: int) -> str:
    """A prefix whose directory has a path of exactly `length` characters."""
    room = length - len(store.location) - 1
    steps = ["x" * 100] * (room // 101 - 1)
    steps += ["y" * 50, "z" * (room - 101 * len(steps) - 51)]
    assert len(str(store.path("/".join(steps)))) == length
    return "/".join(steps) + "/"


@pytest.mark.skipif(not hasattr(os, "pathconf"), reason="this platform does not report its maximum path length")
@pytest.mark.parametrize("short", range(-2, 8))
def test_a_write_to_a_path_near_the_length_limit_leaves_no_directories(store: LocalStore, short: int):
    """The path of the directory ends before, at or after the limit; a further slash can exceed it."""
    store.set("kept/k", b"x")
    prefix = prefix_with_path_length(store, os.pathconf("/", "PC_PATH_MAX") - short)
    with pytest.raises(StoreError, match="too long"):
        store.set(prefix + "k", b"x")
    assert all_paths(Path(store.location)) == ["kept", "kept/k"]


@pytest.mark.skipif(not hasattr(os, "pathconf"), reason="this platform does not report its maximum path length")
@pytest.mark.parametrize("follow", [False, True])
def test_the_directory_with_the_longest_path_is_listed_and_erased(store: LocalStore, follow: bool):
    store = LocalStore(store.location, follow_symlinks=follow)
    prefix = prefix_with_path_length(store, os.pathconf("/", "PC_PATH_MAX") - 1)
    os.makedirs(store.path(prefix[:-1]))
    assert list(store.list()) == []
    assert store.list_dir(prefix) == ([], [])
    assert store.list_dir(prefix[: prefix.rfind("/", 0, -1) + 1]) == ([], [prefix])
    store.erase_prefix("")
    assert all_paths(Path(store.location)) == []


def test_a_failed_write_removes_only_the_directories_it_created(store: LocalStore):
    os.makedirs(store.path("a/empty"))
    with pytest.raises(StoreError, match="too long"):
        store.set("a/empty/b/c/" + "x" * 300, b"x")
    assert all_paths(Path(store.location)) == ["a", "a/empty"]
    store.set("a/empty/b/c/k", b"x")
    assert store.get("a/empty/b/c/k") == b"x"


# -- erasing


def test_a_directory_that_loses_its_last_key_is_removed(store: LocalStore):
    store.set("a/b/c/k", b"x")
    store.set("a/k", b"x")
    store.erase("a/b/c/k")
    assert all_paths(Path(store.location)) == ["a", "a/k"]
    store.erase("a/k")
    assert Path(store.location).exists()
    assert all_paths(Path(store.location)) == []


def test_A66_erase_never_removes_a_directory(store: LocalStore):
    (Path(store.location) / "empty").mkdir(parents=True)
    store.erase("empty")
    store.erase("empty/absent")
    assert all_paths(Path(store.location)) == ["empty"]


def test_erase_prefix_removes_files_of_every_kind(store: LocalStore):
    store.set("a/b/k", b"x")
    store.set("k", b"x")
    (store.path("a") / "empty").mkdir()
    if sys.platform == "linux":
        (store.path("a") / os.fsdecode(b"caf\xe9")).mkdir()
        os.mkfifo(store.path("a") / "pipe")
    leave_temp_file(store.path("a"))
    store.erase_prefix("a/")
    assert all_paths(Path(store.location)) == ["k"]


# -- listing


@pytest.mark.skipif(sys.platform != "linux", reason="on this platform file names are always text")
def test_file_names_that_are_not_unicode_are_skipped(store: LocalStore):
    store.set("a/k", b"x")
    (store.path("a") / os.fsdecode(b"caf\xe9")).write_bytes(b"")
    (Path(store.location) / os.fsdecode(b"\xff")).mkdir()
    assert list(store.list()) == ["a/k"]
    assert store.list_dir("a/") == (["a/k"], [])
    assert store.list_dir("") == ([], ["a/"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no named pipes")
def test_only_regular_files_are_keys(store: LocalStore):
    store.set("k", b"x")
    os.mkfifo(store.path("pipe"))
    assert list(store.list()) == ["k"]
    assert not store.exists("pipe")


def test_a_deep_tree(store: LocalStore):
    key = "/".join(["d"] * 300)
    store.set(key, b"x")
    assert LocalStore(store.location).get(key) == b"x"
    assert list(store.list()) == [key]
    store.erase_prefix("d/")
    assert all_paths(Path(store.location)) == []


def test_updates_read_no_value_above_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    updates = LocalStore(tmp_path).updates
    assert updates is not None
    LocalStore(tmp_path).set("k", b"four")
    assert updates.read("k", 4) == updates.read("k")
    assert updates.read("absent", 4) == (None, None)
    monkeypatch.setattr("omnizarr.store.local.files.read", lambda *_: pytest.fail("it was read"))
    assert updates.read("k", 3) is None


@pytest.mark.skipif(not flock.AVAILABLE, reason="this platform has no flock")
def test_a_partial_write_of_a_chunk_calls_stat_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protecting an uncontended write may cost at most a tenth of its time, which is a few system calls."""
    z = omnizarr.create_array(tmp_path, shape=8, dtype="u1", chunks=8)
    z[...] = 1
    z[1] = 2  # checks the type of the file system
    stat_calls, stat = [], os.stat
    monkeypatch.setattr(os, "stat", lambda path, **options: stat_calls.append(path) or stat(path, **options))
    with omnizarr.config(native=0):
        z[2] = 3
    assert stat_calls == [str(tmp_path / "c" / "0")]
    z[3] = 4
    if kernel() is not None:
        assert len(stat_calls) == 1, "the kernel calls stat itself"
