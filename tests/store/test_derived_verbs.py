"""Stores with fewer verbs pass the store suite: one listing, and whole values by parts of values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from omnizarr.errors import StoreError
from omnizarr.store import Buffer, ByteRange, MemoryStore, Request, Store, StoreWithPartialAccess
from omnizarr.testing import StoreSuite


class _Values(Store):
    """Values without a listing."""

    def __init__(self) -> None:
        self.inner = MemoryStore()

    @property
    def location(self) -> str:
        return self.inner.location

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        return self.inner.get(key, range)

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        self.inner.set(key, value)

    def erase(self, key: str) -> None:
        self.check_writable()
        self.inner.erase(key)


class OnlyList(_Values):
    def list(self) -> Iterator[str]:
        return self.inner.list()


class OnlyListDir(_Values):
    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        return self.inner.list_dir(prefix)


class OnlyParts(StoreWithPartialAccess):
    """The interface that the draft of 2022 calls StoreWithPartialAccess, and a listing."""

    def __init__(self) -> None:
        self.inner = MemoryStore()

    @property
    def location(self) -> str:
        return f"parts of {self.inner.location}"  # the inner store has locks of its own

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        return self.inner.get_partial_values(requests)

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        self.check_writable()
        self.inner.set_partial_values(items)

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        self.inner.erase_values(keys)

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        return self.inner.list_dir(prefix)


class TestOnlyList(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> Store:
        return OnlyList()


class TestOnlyListDir(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> Store:
        return OnlyListDir()


class TestOnlyParts(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> Store:
        return OnlyParts()


@pytest.mark.parametrize("kind", [OnlyList, OnlyListDir, OnlyParts])
def test_S61_S62_all_verbs_are_derived_from_a_few(kind: Any) -> None:
    store = kind()
    for key in ("a", "a/b", "a/c/d", "e/f"):
        store.set(key, b"a long value")
    store.set("a", b"short")
    assert (store.get("a"), store.get("a/b", (2, 4)), store.get("absent")) == (b"short", b"long", None)
    assert sorted(store.list()) == ["a", "a/b", "a/c/d", "e/f"]
    assert sorted(store.list_prefix("a/")) == ["a/b", "a/c/d"]
    assert store.list_dir("a/") == (["a/b"], ["a/c/"])
    store.erase_prefix("a/")
    assert sorted(store.list()) == ["a", "e/f"]


@pytest.mark.parametrize("result", [(["b"], []), ([], ["a/"]), ([], ["c/"])])
def test_a_list_dir_without_prefixes_is_an_error_and_no_endless_loop(result: Any) -> None:
    class Relative(_Values):
        def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
            return result if prefix else ([], ["a/"])

    with pytest.raises(
        StoreError, match=r"`list_dir\('a/'\)` of Relative.* expected keys and prefixes that start with"
    ):
        list(Relative().list())


def test_a_store_without_any_listing_or_values_is_incomplete() -> None:
    with pytest.raises(TypeError, match="list_prefix"):
        _Values()  # type: ignore[abstract]

    class WithoutWriting(StoreWithPartialAccess):
        get_partial_values = OnlyParts.get_partial_values
        erase_values = OnlyParts.erase_values
        list_dir = OnlyParts.list_dir

        @property
        def location(self) -> str:
            return ""

    with pytest.raises(TypeError, match="set_each"):
        WithoutWriting()  # type: ignore[abstract]
