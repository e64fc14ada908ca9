"""Keys and symbolic links that point outside the root of a LocalStore."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.store.local.temp_files import all_paths

from omnizarr.errors import InvalidKeyError
from omnizarr.store import LocalStore
from omnizarr.store.local import paths

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
