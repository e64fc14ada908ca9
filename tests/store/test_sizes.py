"""`list_sizes`: the same answers whether a store lists lengths itself or is asked for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from omnizarr.store import LocalStore, MemoryStore, ObjectStore, PrefixStore, Store, WrapperStore
from omnizarr.store.sizes import list_sizes
from omnizarr.testing import RecordingStore

VALUES = {"a": b"1", "g/zarr.json": b"{}", "g/x/c/0/0": b"123", "g/x/c/0/1": b"", "h": b"12345"}


def stores(folder: Path) -> Iterator[Store]:
    yield LocalStore(folder / "local")
    yield MemoryStore()
    yield WrapperStore(LocalStore(folder / "wrapped"))
    yield PrefixStore(LocalStore(folder / "prefixed"), "below")


def test_all_stores_answer_alike(tmp_path: Path) -> None:
    for store in stores(tmp_path):
        store.set_each(VALUES.items())
        assert dict(list_sizes(store, "")) == {key: len(value) for key, value in VALUES.items()}
        assert dict(list_sizes(store, "g/x/")) == {"g/x/c/0/0": 3, "g/x/c/0/1": 0}
        assert list(list_sizes(store, "none/")) == []


def test_a_local_store_looks_at_no_key_alone(tmp_path: Path) -> None:
    LocalStore(tmp_path).set_each(VALUES.items())

    class Blind(LocalStore):
        def size(self, key: str) -> int | None:
            raise AssertionError(key)

    with pytest.raises(AssertionError):  # it has its own `size`, which counts
        list(list_sizes(Blind(tmp_path), ""))
    recorded = RecordingStore(LocalStore(tmp_path))
    assert len(dict(list_sizes(recorded, ""))) == len(VALUES)
    assert {call.method for call in recorded.calls} == {"list_prefix", "size"}


def test_links_are_left_out_unless_they_are_followed(tmp_path: Path) -> None:
    (tmp_path / "beside").write_bytes(b"1234")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "link").symlink_to(tmp_path / "beside")
    assert list(list_sizes(LocalStore(tmp_path / "store"), "")) == []
    assert list(list_sizes(LocalStore(tmp_path / "store", follow_symlinks=True), "")) == [("link", 4)]


def test_a_bucket_answers_by_its_listing() -> None:
    obstore = pytest.importorskip("obstore")
    store = ObjectStore(obstore.store.MemoryStore(), prefix="p")
    store.set_each(VALUES.items())
    assert dict(list_sizes(store, "g/")) == {"g/zarr.json": 2, "g/x/c/0/0": 3, "g/x/c/0/1": 0}


def test_a_remote_store_without_lengths_is_asked_for_many_at_once() -> None:
    class Remote(MemoryStore):
        remote = True

    store = Remote()
    store.set_each((f"{number}", b"x" * number) for number in range(2500))
    assert dict(list_sizes(store, "")) == {f"{number}": number for number in range(2500)}
