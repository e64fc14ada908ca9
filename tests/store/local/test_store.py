"""LocalStore: the store suite; symbolic links, temporary files, directories, and errors of the system."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import omnizarr
from omnizarr.errors import InvalidKeyError, LocationError, ReadOnlyError, StoreError
from omnizarr.native import kernel
from omnizarr.store import LocalStore
from omnizarr.store.local import files, flock, locking, paths, temp_names
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
        monkeypatch.setattr(files, "_WINDOWS", os.name == "nt")
        monkeypatch.setattr(paths, "_WINDOWS", True)
        monkeypatch.setattr(paths, "_NOFOLLOW", 0)

    def make_store(self, tmp_path: Path) -> LocalStore:
        return LocalStore(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "root")


def all_paths(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def leave_temp_file(folder: Path, *, host: str | None = None, process: int | None = None, age: float = 0) -> Path:
    """Create a temporary file like one of a crashed writer. `age` is in seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".omnizarr-{host or temp_names._host()}-{process or dead_process()}-7.tmp"
    path.write_bytes(b"half")
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


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


# -- keys that point outside the root


@pytest.mark.parametrize("key", ["../outside", "a/../../outside", "/etc/hostname", "a/./b"])
def test_no_key_points_outside_the_root(store: LocalStore, tmp_path: Path, key: str):
    (tmp_path / "outside").write_bytes(b"secret")
    store.set("a/k", b"x")
    for operation in (store.get, store.exists, store.size, store.erase, lambda key: store.set(key, b"x")):
        with pytest.raises(InvalidKeyError):
            operation(key)
    assert (tmp_path / "outside").read_bytes() == b"secret"


@pytest.fixture
def linked(store: LocalStore, tmp_path: Path) -> LocalStore:
    """A store with links to a directory and a file outside the root, and to a directory inside."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "k").write_bytes(b"secret")
    store.set("inside/k", b"x")
    root = Path(store.location)
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "k")
    (root / "inside" / "again").symlink_to(root / "inside")
    return store


@pytest.mark.parametrize("key", ["folder/k", "file", "inside/again/k"])
def test_links_are_rejected(linked: LocalStore, key: str, monkeypatch: pytest.MonkeyPatch):
    target = memoryview(bytearray(1))
    reads = (
        linked.get,
        linked.exists,
        linked.size,
        linked.updates.read,
        lambda key: linked.get_into(key, 0, target),
        lambda key: linked.get_partial_values([(key, None), (key, (0, 1))]),
    )
    for operation in reads:
        with pytest.raises(InvalidKeyError, match="link") as caught:
            operation(key)
        assert "follow_symlinks=True" in str(caught.value)
    monkeypatch.setattr(paths, "_NOFOLLOW", 0)  # the system has no O_NOFOLLOW
    with pytest.raises(InvalidKeyError, match="link"):
        LocalStore(linked.location).get(key)


def test_writing_erasing_and_listing_through_a_link_is_rejected(linked: LocalStore, tmp_path: Path):
    for operation in (
        lambda: linked.set("folder/new", b"x"),
        lambda: linked.erase("folder/k"),
        lambda: linked.erase_prefix("folder/"),
        lambda: linked.list_dir("folder/"),
        lambda: list(linked.list_prefix("folder/")),
    ):
        with pytest.raises(InvalidKeyError, match="link"):
            operation()
    assert list(linked.list()) == ["inside/k"]
    assert linked.list_dir("") == ([], ["inside/"])
    linked.set("file", b"replaces the link")
    linked.erase_prefix("")
    assert all_paths(Path(linked.location)) == []
    assert (tmp_path / "outside" / "k").read_bytes() == b"secret"


def test_follow_symlinks(linked: LocalStore):
    store = LocalStore(linked.location, follow_symlinks=True)
    root = Path(store.location)
    (root / "broken").symlink_to("nowhere")
    (root / "self").symlink_to("self")
    assert [store.get(key) for key in ("folder/k", "file", "inside/again/again/k")] == [b"secret", b"secret", b"x"]
    assert sorted(store.list()) == ["file", "folder/k", "inside/k"], "a cycle of links is listed once"
    assert store.list_dir("") == (["file"], ["folder/", "inside/"])
    assert store.get("broken") is None
    store.set("folder/new", b"y")
    assert (root / "folder" / "new").read_bytes() == b"y"


def test_erase_prefix_never_follows_links(linked: LocalStore, tmp_path: Path):
    LocalStore(linked.location, follow_symlinks=True).erase_prefix("")
    assert all_paths(Path(linked.location)) == []
    assert (tmp_path / "outside" / "k").exists()


def test_a_removed_directory_that_is_replaced_by_a_link_is_rejected(store: LocalStore, tmp_path: Path):
    store.set("a/k", b"x")
    store.erase("a/k")
    (tmp_path / "outside").mkdir()
    (Path(store.location) / "a").symlink_to(tmp_path / "outside")
    with pytest.raises(InvalidKeyError):
        store.set("a/k", b"x")
    assert all_paths(tmp_path / "outside") == []


# -- atomic writes


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), Interrupted()]
)
@pytest.mark.parametrize("call", ["write", "close", "replace"])
def test_a_set_that_fails_midway_changes_nothing(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, error: BaseException, call: str
):
    store.set("a/k", b"old")
    real = {name: getattr(os, name) for name in ("write", "close", "replace")}
    written = []

    def failing(*arguments: object) -> None:
        if call == "write" and not written:
            written.append(real["write"](arguments[0], bytes(arguments[1])[:2]))  # a short write; the next call fails
            return written[0]
        if call == "close":
            real["close"](*arguments)
        raise error

    with monkeypatch.context() as patch, omnizarr.config(native=0):
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
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:3]))
    store.set("k", b"0123456789")
    store.set("n", memoryview(b"0123456789"))
    assert store.get("k") == store.get("n") == b"0123456789"


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
        with monkeypatch.context() as patch:
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

    monkeypatch.setattr(files, "_WINDOWS", True)
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
    assert store.local_files.path("c/0/2") == (file_paths[1], store.local_files.paths([])[1])
    for row in [("", ("a/../../secret",)), ("c/0/", ("..", "1")), ("", ("link/f",)), ("link/", ("1", "2"))]:
        with pytest.raises(InvalidKeyError):
            store.local_files.paths([row])


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_uses_its_own_temporary_names():
    temp_names.new_name()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, temp_names.new_name().encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert f"-{child}-" in os.read(read, 1000).decode()
    assert f"-{os.getpid()}-" in temp_names.new_name()
    os.close(read)
    os.close(write)


def test_erase_prefix_keeps_temporary_files_of_live_writers(store: LocalStore):
    store.set("a/k", b"x")
    temp_file = leave_temp_file(store.path("a"), process=os.getpid())
    store.erase_prefix("a/")
    assert temp_file.exists()
    assert list(store.list()) == []


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


# -- temporary files of crashed writers


def test_keys_that_look_like_temporary_files_are_rejected(store: LocalStore):
    name = temp_names.new_name()
    for key in (name, f"a/{name}", f"{name}/k"):
        for operation in (store.get, store.exists, store.erase, lambda key: store.set(key, b"x")):
            with pytest.raises(InvalidKeyError, match="being written"):
                operation(key)
    store.set(".omnizarr", b"an ordinary key")
    assert list(store.list()) == [".omnizarr"]


@pytest.mark.skipif(os.name == "nt", reason="on Windows only the age of a file decides")
def test_temporary_files_of_crashed_writers_are_hidden_and_swept(store: LocalStore):
    store.set("a/k", b"x")
    for operation in (
        lambda: list(store.list()),
        lambda: store.list_dir("a/"),
        lambda: store.erase_prefix("a/"),
        store.sweep,
    ):
        store.set("a/k", b"x")
        temp_file = leave_temp_file(store.path("a"))
        reader = LocalStore(store.location, read_only=True)
        assert list(reader.list()) == ["a/k"]
        assert reader.list_dir("a/") == (["a/k"], [])
        assert temp_file.exists(), "a read-only store removes nothing"
        operation()
        assert not temp_file.exists()
    with pytest.raises(ReadOnlyError):
        reader.sweep()


@pytest.mark.skipif(os.name == "nt", reason="on Windows only the age of a file decides")
def test_sweep_removes_directories_that_become_empty(store: LocalStore):
    leave_temp_file(Path(store.location) / "a" / "b")
    store.sweep()
    assert all_paths(Path(store.location)) == []


def test_sweep_keeps_files_of_live_writers_and_other_hosts(store: LocalStore):
    root = Path(store.location)
    ours = leave_temp_file(root, process=os.getpid())
    another_host = leave_temp_file(root, host="0123456789ab")
    store.sweep()
    assert ours.exists()
    assert another_host.exists()
    assert list(store.list()) == []


def test_sweep_removes_every_temporary_file_older_than_a_day(store: LocalStore):
    root = Path(store.location)
    temp_files = [
        leave_temp_file(root, host="0123456789ab", age=90_000),
        leave_temp_file(root, process=2**70, age=90_000),
    ]
    store.sweep()
    assert not any(path.exists() for path in temp_files)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this platform has no SIGKILL")
def test_a_killed_writer_leaves_no_visible_change(store: LocalStore):
    store.set("a/k", b"old")
    program = (
        "import os, sys, time\n"
        "import omnizarr\n"
        "from omnizarr.store import LocalStore\n"
        "def stopped(*paths):\n"
        "    print('written', flush=True)\n"
        "    time.sleep(60)\n"
        "os.replace = stopped\n"
        "omnizarr.config.set(native=0)\n"
        "LocalStore(sys.argv[1]).set('a/k', b'new' * 1000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, store.location], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"written\n"
        assert len(all_paths(store.path("a"))) == 2
        assert list(store.list()) == ["a/k"], "hidden, and not swept while its writer lives"
        assert len(all_paths(store.path("a"))) == 2
        writer.kill()
    assert store.get("a/k") == b"old"
    assert list(store.list()) == ["a/k"]
    assert all_paths(store.path("a")) == ["k"]


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
