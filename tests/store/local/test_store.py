"""LocalStore: the suite that every store passes, and what only files have: links, leftovers, directories, errors."""

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
        return LocalStore(tmp_path / "made by the first write")


class TestFollowingLinks(StoreSuite):
    case_sensitive = TestLocal.case_sensitive

    def make_store(self, tmp_path: Path) -> LocalStore:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        return LocalStore(tmp_path / "link", follow_symlinks=True)


class TestWithoutModernCalls(StoreSuite):
    """A platform that lacks pread, preadv and O_NOFOLLOW, and is as particular about names as Windows."""

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


def everything(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def leave(folder: Path, *, host: str | None = None, process: int | None = None, age: float = 0) -> Path:
    """A file as a writer leaves it that died before it was done."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".omnizarr-{host or temp_names._host()}-{process or dead_process()}-7.tmp"
    path.write_bytes(b"half")
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


# -- the place


def test_R118_a_key_is_a_file_under_the_root(store: LocalStore, tmp_path: Path):
    store.set("a/b/c.0", b"x")
    assert (tmp_path / "root" / "a" / "b" / "c.0").read_bytes() == b"x"
    assert store.path("a/b/c.0") == tmp_path / "root" / "a" / "b" / "c.0"
    (tmp_path / "root" / "d").mkdir()
    (tmp_path / "root" / "d" / "e").write_bytes(b"y")
    assert store.get("d/e") == b"y"
    assert sorted(store.list()) == ["a/b/c.0", "d/e"]


def test_the_root_is_made_absolute_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    store = LocalStore("x/../data")
    monkeypatch.chdir("/")
    assert store.location == str(tmp_path / "data")
    assert store == LocalStore(tmp_path / "data")
    assert store != LocalStore(tmp_path / "other")
    assert repr(store) == f"LocalStore({tmp_path / 'data'})"


def test_dots_behind_a_link_are_left_to_the_system(tmp_path: Path):
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    LocalStore(tmp_path / "link" / ".." / "data").set("k", b"x")
    assert (tmp_path / "far" / "data" / "k").exists()


def test_a_tilde_is_an_ordinary_character(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    LocalStore("~").set("k", b"x")
    assert (tmp_path / "~" / "k").exists()


@pytest.mark.parametrize("root", ["", "a\0b", b"bytes", "file:///data", "s3://bucket/data"])
def test_what_is_no_path_is_refused(root: str):
    with pytest.raises(LocationError):
        LocalStore(root)


def test_R117_file_urls(tmp_path: Path):
    store = LocalStore(tmp_path / "my data")
    assert store.url.endswith("/my%20data")
    assert LocalStore.from_url(store.url) == store
    assert LocalStore.from_url("file:///my%20data", read_only=True).location == os.path.abspath("/my data")
    assert LocalStore.from_url("file:///x", read_only=True).read_only


def test_a_pickle_keeps_how_the_store_was_opened(tmp_path: Path):
    (tmp_path / "link").symlink_to("away")
    store = pickle.loads(pickle.dumps(LocalStore(tmp_path, read_only=True, follow_symlinks=True)))
    assert store.get("link/k") is None
    with pytest.raises(ReadOnlyError):
        store.set("k", b"x")


def test_without_locks_two_spellings_of_one_directory_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    one, two = LocalStore(tmp_path / "real", locking=False), LocalStore(tmp_path / "link", locking=False)
    places = []
    monkeypatch.setattr(locking, "process_lock", lambda place, keys: places.append((place, keys)))
    one.lock(["k"])
    two.lock(["k"])
    assert places[0] == places[1]


# -- reading


def test_one_read_opens_one_file(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    store.set("a/k", b"0123456789")
    opened = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda *arguments: opened.append(arguments[0]) or real(*arguments))
    monkeypatch.setattr(os, "stat", None)  # nor is the file looked at in another way
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


def test_a_read_that_gives_less_is_continued(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
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


def test_a_file_that_shrinks_while_it_is_read_ends_where_it_ends(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    store.set("k", b"0123456789")
    real = os.fstat

    def larger(file: int) -> os.stat_result:
        return os.stat_result((*real(file)[:6], 20, *real(file)[7:]))

    monkeypatch.setattr(os, "fstat", larger)
    assert store.get("k") == b"0123456789"


def test_directories_of_absent_keys_are_not_remembered(store: LocalStore):
    assert store.get("a/b/k") is None
    (Path(store.location) / "a" / "b").mkdir(parents=True)
    (Path(store.location) / "a" / "b" / "k").write_bytes(b"x")
    assert store.get("a/b/k") == b"x"


def test_what_is_remembered_is_bounded(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "_REMEMBERED", 10)
    for number in range(50):
        store.set(f"d{number}/e/k", b"x")
    assert len(store._paths.folders) <= 10
    assert all(store.get(f"d{number}/e/k") == b"x" for number in range(50))


def test_a_name_that_is_too_long_is_absent_and_cannot_be_set(store: LocalStore):
    for key in ("x" * 300, "a/" + "x" * 300, "x" * 300 + "/a", "/".join(["x" * 200] * 50)):
        assert store.get(key) is None
        assert not store.exists(key)
        store.erase(key)
        with pytest.raises(StoreError, match="too long") as caught:
            store.set(key, b"x")
        assert caught.value.errno == errno.ENAMETOOLONG
    store.erase_prefix("")
    assert everything(Path(store.location)) == []


def as_deep(store: LocalStore, length: int) -> str:
    """A prefix whose directory has a path of exactly so many characters."""
    room = length - len(store.location) - 1
    steps = ["x" * 100] * (room // 101 - 1)
    steps += ["y" * 50, "z" * (room - 101 * len(steps) - 51)]
    assert len(str(store.path("/".join(steps)))) == length
    return "/".join(steps) + "/"


@pytest.mark.skipif(not hasattr(os, "pathconf"), reason="only POSIX says how long a path can be")
@pytest.mark.parametrize("short", range(-2, 8))
def test_a_path_that_is_nearly_too_long_leaves_nothing_behind(store: LocalStore, short: int):
    """With the end of the path at, before and behind the limit, where a slash more is one too many."""
    store.set("kept/k", b"x")
    prefix = as_deep(store, os.pathconf("/", "PC_PATH_MAX") - short)
    with pytest.raises(StoreError, match="too long"):
        store.set(prefix + "k", b"x")
    assert everything(Path(store.location)) == ["kept", "kept/k"]


@pytest.mark.skipif(not hasattr(os, "pathconf"), reason="only POSIX says how long a path can be")
@pytest.mark.parametrize("follow", [False, True])
def test_the_deepest_directory_there_can_be_is_listed_and_erased(store: LocalStore, follow: bool):
    store = LocalStore(store.location, follow_symlinks=follow)
    prefix = as_deep(store, os.pathconf("/", "PC_PATH_MAX") - 1)
    os.makedirs(store.path(prefix[:-1]))
    assert list(store.list()) == []
    assert store.list_dir(prefix) == ([], [])
    assert store.list_dir(prefix[: prefix.rfind("/", 0, -1) + 1]) == ([], [prefix])
    store.erase_prefix("")
    assert everything(Path(store.location)) == []


def test_a_failed_write_removes_only_the_directories_it_made(store: LocalStore):
    os.makedirs(store.path("a/empty"))
    with pytest.raises(StoreError, match="too long"):
        store.set("a/empty/b/c/" + "x" * 300, b"x")
    assert everything(Path(store.location)) == ["a", "a/empty"]
    store.set("a/empty/b/c/k", b"x")
    assert store.get("a/empty/b/c/k") == b"x"


# -- keys that would leave the root


@pytest.mark.parametrize("key", ["../outside", "a/../../outside", "/etc/hostname", "a/./b"])
def test_no_key_leaves_the_root(store: LocalStore, tmp_path: Path, key: str):
    (tmp_path / "outside").write_bytes(b"secret")
    store.set("a/k", b"x")
    for act in (store.get, store.exists, store.size, store.erase, lambda key: store.set(key, b"x")):
        with pytest.raises(InvalidKeyError):
            act(key)
    assert (tmp_path / "outside").read_bytes() == b"secret"


@pytest.fixture
def linked(store: LocalStore, tmp_path: Path) -> LocalStore:
    """A store with a link to a directory and one to a file outside of it, and a link to a directory inside."""
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
def test_links_are_refused(linked: LocalStore, key: str, monkeypatch: pytest.MonkeyPatch):
    target = memoryview(bytearray(1))
    reads = (
        linked.get,
        linked.exists,
        linked.size,
        linked.updates.read,
        lambda key: linked.get_into(key, 0, target),
        lambda key: linked.get_partial_values([(key, None), (key, (0, 1))]),
    )
    for act in reads:
        with pytest.raises(InvalidKeyError, match="link") as caught:
            act(key)
        assert "follow_symlinks=True" in str(caught.value)
    monkeypatch.setattr(paths, "_NOFOLLOW", 0)  # as where the system cannot refuse them itself
    with pytest.raises(InvalidKeyError, match="link"):
        LocalStore(linked.location).get(key)


def test_nothing_is_written_erased_or_listed_through_a_link(linked: LocalStore, tmp_path: Path):
    for act in (
        lambda: linked.set("folder/new", b"x"),
        lambda: linked.erase("folder/k"),
        lambda: linked.erase_prefix("folder/"),
        lambda: linked.list_dir("folder/"),
        lambda: list(linked.list_prefix("folder/")),
    ):
        with pytest.raises(InvalidKeyError, match="link"):
            act()
    assert list(linked.list()) == ["inside/k"]
    assert linked.list_dir("") == ([], ["inside/"])
    linked.set("file", b"replaces the link")
    linked.erase_prefix("")
    assert everything(Path(linked.location)) == []
    assert (tmp_path / "outside" / "k").read_bytes() == b"secret"


def test_links_are_followed_if_asked(linked: LocalStore):
    store = LocalStore(linked.location, follow_symlinks=True)
    root = Path(store.location)
    (root / "broken").symlink_to("nowhere")
    (root / "self").symlink_to("self")
    assert [store.get(key) for key in ("folder/k", "file", "inside/again/again/k")] == [b"secret", b"secret", b"x"]
    assert sorted(store.list()) == ["file", "folder/k", "inside/k"], "a circle of links is walked once"
    assert store.list_dir("") == (["file"], ["folder/", "inside/"])
    assert store.get("broken") is None
    store.set("folder/new", b"y")
    assert (root / "folder" / "new").read_bytes() == b"y"


def test_even_a_store_that_follows_links_erases_nothing_behind_them(linked: LocalStore, tmp_path: Path):
    LocalStore(linked.location, follow_symlinks=True).erase_prefix("")
    assert everything(Path(linked.location)) == []
    assert (tmp_path / "outside" / "k").exists()


def test_a_directory_that_becomes_a_link_after_it_vanished_is_refused(store: LocalStore, tmp_path: Path):
    store.set("a/k", b"x")
    store.erase("a/k")
    (tmp_path / "outside").mkdir()
    (Path(store.location) / "a").symlink_to(tmp_path / "outside")
    with pytest.raises(InvalidKeyError):
        store.set("a/k", b"x")
    assert everything(tmp_path / "outside") == []


# -- writing, wholly or not at all


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), Interrupted()]
)
@pytest.mark.parametrize("call", ["write", "close", "replace"])
def test_a_set_that_fails_half_way_changes_nothing(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, error: BaseException, call: str
):
    store.set("a/k", b"old")
    real = {name: getattr(os, name) for name in ("write", "close", "replace")}
    written = []

    def failing(*arguments: object) -> None:
        if call == "write" and not written:
            written.append(real["write"](arguments[0], bytes(arguments[1])[:2]))  # some bytes, then no more
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
    assert everything(Path(store.location)) == ["a", "a/k"]


def test_a_write_that_takes_less_is_continued(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:3]))
    store.set("k", b"0123456789")
    store.set("n", memoryview(b"0123456789"))
    assert store.get("k") == store.get("n") == b"0123456789"


def test_a_directory_that_vanished_is_made_again(store: LocalStore):
    store.set("a/b/k", b"x")
    other = LocalStore(store.location)
    other.erase_prefix("")
    store.set("a/b/k", b"y")
    assert other.get("a/b/k") == b"y"
    os.unlink(store.path("a/b/k"))
    os.removedirs(store.path("a/b"))
    store.set("a/b/k", b"z")
    assert other.get("a/b/k") == b"z"


def test_a_file_above_and_a_directory_in_the_place_of_a_key_are_named(store: LocalStore):
    store.set("a/b", b"x")
    with pytest.raises(StoreError, match="no key can lie below another one") as caught:
        store.set("a/b/c", b"x")
    assert caught.value.errno == errno.ENOTDIR
    with pytest.raises(StoreError, match="a directory is where a file is needed") as caught:
        store.set("a", b"x")
    assert caught.value.errno == errno.EISDIR
    assert everything(Path(store.location)) == ["a", "a/b"]
    root_is_a_file = LocalStore(store.path("a/b"))
    assert root_is_a_file.get("k") is None
    assert list(root_is_a_file.list()) == []
    with pytest.raises(StoreError):
        root_is_a_file.set("k", b"x")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_permission_problem_says_so(store: LocalStore):
    store.set("a/k", b"x")
    os.chmod(store.path("a/k"), 0)
    os.chmod(store.path("a"), 0o555)
    try:
        for act in (lambda: store.get("a/k"), lambda: store.set("a/n", b"x"), lambda: store.erase("a/k")):
            with pytest.raises(StoreError, match="ermission") as caught:
                act()
            assert caught.value.errno == errno.EACCES
    finally:
        os.chmod(store.path("a"), 0o755)


@pytest.mark.parametrize("call", ["open", "fstat", "stat", "unlink", "scandir"])
def test_errors_of_the_system_become_ours(store: LocalStore, monkeypatch: pytest.MonkeyPatch, call: str):
    store.set("a/k", b"x")
    acts = {
        "open": [lambda: store.get("a/k"), lambda: store.set("a/k", b"x")],
        "fstat": [lambda: store.get("a/k"), lambda: store.get_partial_values([("a/k", None)] * 2)],
        "stat": [lambda: store.size("a/k"), lambda: LocalStore(store.location).get("a/k")],
        "unlink": [lambda: store.erase("a/k"), lambda: store.erase_prefix("a/")],
        "scandir": [lambda: list(store.list()), lambda: store.list_dir(""), lambda: store.erase_prefix("a/")],
    }[call]

    def failing(*arguments: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "x")

    for act in acts:
        with monkeypatch.context() as patch:
            patch.setattr(os, call, failing)
            with pytest.raises(StoreError, match="Permission denied") as caught:
                act()
        assert caught.value.errno == errno.EACCES
        assert store.location in caught.value.message
    assert store.get("a/k") == b"x"


def test_replacing_is_tried_again_where_readers_stand_in_the_way(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    real = os.replace
    refusals = [PermissionError(errno.EACCES, "a reader has it open")] * 3

    def replace(source: str, target: str) -> None:
        if refusals:
            raise refusals.pop()
        real(source, target)

    monkeypatch.setattr(files, "_WINDOWS", True)
    monkeypatch.setattr(os, "replace", replace)
    store.set("k", b"x")
    assert store.get("k") == b"x"


def test_files_of_rows_of_keys(store: LocalStore, tmp_path: Path):
    for key in ("c/0/1", "c/0/2", "k"):
        store.set(key, b"x")
    (Path(store.location) / "link").symlink_to(tmp_path)
    rows = [("c/0/", ("1", "2")), ("k", ("",)), ("c/", ("0/1", "0/3")), ("absent/", ("1", "2")), ("c/1/", ())]
    expected = ["c/0/1", "c/0/2", "k", "c/0/1", "c/0/3"]
    for _ in range(2):
        found, _ = store.local_files.paths(rows)
        assert [os.path.relpath(path, store.location) for path in found[:5]] == expected
        assert found[5:] == ["", ""]
    assert store.local_files.path("c/0/2") == (found[1], store.local_files.paths([])[1])
    for row in [("", ("a/../../secret",)), ("c/0/", ("..", "1")), ("", ("link/f",)), ("link/", ("1", "2"))]:
        with pytest.raises(InvalidKeyError):
            store.local_files.paths([row])


# -- erasing


def test_a_directory_that_loses_its_last_key_is_removed(store: LocalStore):
    store.set("a/b/c/k", b"x")
    store.set("a/k", b"x")
    store.erase("a/b/c/k")
    assert everything(Path(store.location)) == ["a", "a/k"]
    store.erase("a/k")
    assert Path(store.location).exists()
    assert everything(Path(store.location)) == []


def test_A66_erase_never_removes_a_directory(store: LocalStore):
    (Path(store.location) / "empty").mkdir(parents=True)
    store.erase("empty")
    store.erase("empty/absent")
    assert everything(Path(store.location)) == ["empty"]


def test_erase_prefix_removes_whatever_lies_there(store: LocalStore):
    store.set("a/b/k", b"x")
    store.set("k", b"x")
    (store.path("a") / "empty").mkdir()
    if sys.platform == "linux":
        (store.path("a") / os.fsdecode(b"caf\xe9")).mkdir()
        os.mkfifo(store.path("a") / "pipe")
    leave(store.path("a"))
    store.erase_prefix("a/")
    assert everything(Path(store.location)) == ["k"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_writes_under_its_own_name():
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


def test_erase_prefix_leaves_what_others_are_writing(store: LocalStore):
    store.set("a/k", b"x")
    unfinished = leave(store.path("a"), process=os.getpid())
    store.erase_prefix("a/")
    assert unfinished.exists()
    assert list(store.list()) == []


# -- listing


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are always text")
def test_names_that_are_no_text_are_skipped(store: LocalStore):
    store.set("a/k", b"x")
    (store.path("a") / os.fsdecode(b"caf\xe9")).write_bytes(b"")
    (Path(store.location) / os.fsdecode(b"\xff")).mkdir()
    assert list(store.list()) == ["a/k"]
    assert store.list_dir("a/") == (["a/k"], [])
    assert store.list_dir("") == ([], ["a/"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_what_is_no_file_is_no_key(store: LocalStore):
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
    assert everything(Path(store.location)) == []


# -- leftovers


def test_keys_that_look_like_our_temporary_files_are_refused(store: LocalStore):
    name = temp_names.new_name()
    for key in (name, f"a/{name}", f"{name}/k"):
        for act in (store.get, store.exists, store.erase, lambda key: store.set(key, b"x")):
            with pytest.raises(InvalidKeyError, match="being written"):
                act(key)
    store.set(".omnizarr", b"an ordinary key")
    assert list(store.list()) == [".omnizarr"]


@pytest.mark.skipif(os.name == "nt", reason="there only age decides")
def test_leftovers_of_dead_writers_are_hidden_and_swept(store: LocalStore):
    store.set("a/k", b"x")
    for act in (
        lambda: list(store.list()),
        lambda: store.list_dir("a/"),
        lambda: store.erase_prefix("a/"),
        store.sweep,
    ):
        store.set("a/k", b"x")
        left = leave(store.path("a"))
        reader = LocalStore(store.location, read_only=True)
        assert list(reader.list()) == ["a/k"]
        assert reader.list_dir("a/") == (["a/k"], [])
        assert left.exists(), "a reader removes nothing"
        act()
        assert not left.exists()
    with pytest.raises(ReadOnlyError):
        reader.sweep()


@pytest.mark.skipif(os.name == "nt", reason="there only age decides")
def test_a_directory_with_nothing_but_leftovers_goes_with_them(store: LocalStore):
    leave(Path(store.location) / "a" / "b")
    store.sweep()
    assert everything(Path(store.location)) == []


def test_what_may_still_be_written_stays(store: LocalStore):
    root = Path(store.location)
    ours = leave(root, process=os.getpid())
    another_host = leave(root, host="0123456789ab")
    store.sweep()
    assert ours.exists()
    assert another_host.exists()
    assert list(store.list()) == []


def test_what_is_older_than_a_day_goes_whoever_wrote_it(store: LocalStore):
    root = Path(store.location)
    left = [leave(root, host="0123456789ab", age=90_000), leave(root, process=2**70, age=90_000)]
    store.sweep()
    assert not any(path.exists() for path in left)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_a_killed_writer_leaves_nothing_to_be_seen(store: LocalStore):
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
        assert len(everything(store.path("a"))) == 2
        assert list(store.list()) == ["a/k"], "unfinished, and not swept while it is being written"
        assert len(everything(store.path("a"))) == 2
        writer.kill()
    assert store.get("a/k") == b"old"
    assert list(store.list()) == ["a/k"]
    assert everything(store.path("a")) == ["k"]


def test_a_value_that_is_too_long_is_not_read_to_be_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    updates = LocalStore(tmp_path).updates
    assert updates is not None
    LocalStore(tmp_path).set("k", b"four")
    assert updates.read("k", 4) == updates.read("k")
    assert updates.read("absent", 4) == (None, None)
    monkeypatch.setattr("omnizarr.store.local.files.read", lambda *_: pytest.fail("it was read"))
    assert updates.read("k", 3) is None


@pytest.mark.skipif(not flock.AVAILABLE, reason="no locks here")
def test_a_part_of_a_chunk_is_written_with_one_look_at_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What protects an uncontended write costs a tenth of it at most, which is a few calls of the system."""
    z = omnizarr.create_array(tmp_path, shape=8, dtype="u1", chunks=8)
    z[...] = 1
    z[1] = 2  # which looks at the file system
    looks, stat = [], os.stat
    monkeypatch.setattr(os, "stat", lambda path, **options: looks.append(path) or stat(path, **options))
    with omnizarr.config(native=0):
        z[2] = 3
    assert looks == [str(tmp_path / "c" / "0")]
    z[3] = 4
    if kernel() is not None:
        assert len(looks) == 1, "the compiled code looks by itself"
