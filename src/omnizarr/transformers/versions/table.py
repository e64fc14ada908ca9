"""The table of a version: which value each key has. It is divided into pages, which versions share.

A commit writes the pages that change, and a list of all pages. With 1024 keys per page, a page and the list of a
million keys both have about 60 KB.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from omnizarr.transformers.versions.records import Changes, PageRef, ValueRef

__all__ = ["PAGE", "Table"]

PAGE = 1024  # the most keys in a page

_Page: TypeAlias = dict[str, ValueRef]


class Table:
    """The entries of a version by key. `load` returns the entries of a page, in the order of their keys."""

    def __init__(self, pages: Sequence[PageRef], load: Callable[[PageRef], _Page]) -> None:
        self.pages = tuple(pages)
        self._firsts = [page.first for page in pages]
        self._load = load

    def get(self, key: str) -> ValueRef | None:
        """The entry of a key; None if there is no such key."""
        index = bisect_right(self._firsts, key) - 1
        return None if index < 0 else self._load(self.pages[index]).get(key)

    def items(self, prefix: str = "") -> Iterator[tuple[str, ValueRef]]:
        """The keys that start with `prefix`, in order, with their entries."""
        start = max(0, bisect_right(self._firsts, prefix) - 1)
        for page in self.pages[start:]:
            if page.first > prefix and not page.first.startswith(prefix):
                return
            for key, entry in self._load(page).items():
                if key.startswith(prefix):
                    yield key, entry

    def names(self) -> Iterator[str]:
        """The names of all values."""
        for page in self.pages:
            yield from (entry.name for entry in self._load(page).values())

    def changed(self, changes: Changes) -> list[PageRef | _Page]:
        """The pages of a table with these changes, in order: those that stay, and the entries of new ones."""
        touched: dict[int, list[str]] = {}
        for key in changes:
            touched.setdefault(max(0, bisect_right(self._firsts, key) - 1), []).append(key)
        pages: list[PageRef | _Page] = []
        for index, page in enumerate(self.pages):
            if index in touched:
                pages.extend(_split(_merged(self._load(page), changes, touched[index])))
            else:
                pages.append(page)
        if not self.pages:
            pages.extend(_split(_merged({}, changes, changes)))
        return self._joined(pages)

    def _joined(self, pages: Iterable[PageRef | _Page]) -> list[PageRef | _Page]:
        """The same pages, with new ones of less than a quarter joined to their neighbours."""
        joined: list[PageRef | _Page] = []
        for page in pages:
            if joined and (_small(page) or _small(joined[-1])) and _count(page) + _count(joined[-1]) <= PAGE:
                joined[-1] = {**self._entries(joined[-1]), **self._entries(page)}
            else:
                joined.append(page)
        return joined

    def _entries(self, page: PageRef | _Page) -> _Page:
        return self._load(page) if isinstance(page, PageRef) else page


def _merged(entries: _Page, changes: Changes, keys: Iterable[str]) -> _Page:
    """The entries with the changes of these keys."""
    merged = dict(entries)
    for key in keys:
        if (change := changes[key]) is None:
            merged.pop(key, None)
        else:
            merged[key] = change
    return merged


def _split(entries: _Page) -> Iterator[_Page]:
    """Pages of equal length, none longer than `PAGE`."""
    keys = sorted(entries)
    count = -(-len(keys) // PAGE)
    for number in range(count):
        part = keys[number * len(keys) // count : (number + 1) * len(keys) // count]
        yield {key: entries[key] for key in part}


def _count(page: PageRef | _Page) -> int:
    return page.length if isinstance(page, PageRef) else len(page)


def _small(page: PageRef | _Page) -> bool:
    return not isinstance(page, PageRef) and len(page) < PAGE // 4
