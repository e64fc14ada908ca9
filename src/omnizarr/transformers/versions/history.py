"""Reading the versions of an array: the head, commits by name and by number, and pages of tables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

from omnizarr.config import config
from omnizarr.errors import ArgumentError, MetadataError, StoreError
from omnizarr.store import Buffer, Store
from omnizarr.store.contract import Version
from omnizarr.transformers.versions.records import (
    AREA,
    EMPTY,
    HEAD,
    ArrayVersion,
    Commit,
    Head,
    PageRef,
    ValueRef,
    parse_commit,
    parse_head,
    parse_page,
)
from omnizarr.transformers.versions.table import Table

__all__ = ["History"]

T = TypeVar("T")

_MOST_TRIES = 100
_PAGES, _COMMITS = 256, 64  # kept in memory; a page takes about 200 KB


class History:
    """The versions of the array with this prefix. Records never change, so they are kept in memory."""

    def __init__(self, store: Store, prefix: str) -> None:
        self.store = store
        self.prefix = prefix
        self._commits: _Recent[Commit] = _Recent(_COMMITS)
        self._pages: _Recent[dict[str, ValueRef]] = _Recent(_PAGES)

    def key(self, kind: str, name: str) -> str:
        """The key of a record or a value."""
        return f"{self.prefix}{AREA}{kind}/{name}"

    @property
    def head_key(self) -> str:
        return self.prefix + HEAD

    def head(self) -> tuple[Head, Version]:
        """The current head, and the version of its value; None if there was no commit yet."""
        store, key, limit = self.store, self.head_key, config.current.max_document_bytes
        value: Buffer | None
        if store.updates is None:
            value, version = store.get_current(key), None
        else:
            answer = store.updates.read(key)
            assert answer is not None, "there is no limit"
            value, version = answer
        return (Head(), None) if value is None else (parse_head(value, f"`{key}` in {store!r}", limit), version)

    def at_head(self, read: Callable[[Head], T]) -> T:
        """What `read` returns for the current head. Tries again if the head changes and a record is gone, because
        `prune` removes records after it has changed the head."""
        for _ in range(_MOST_TRIES):
            head, _version = self.head()
            try:
                return read(head)
            except StoreError:
                if self.head()[0] == head:
                    raise
        raise StoreError(
            f"gave up after {_MOST_TRIES} attempts, because other writers keep changing `{self.head_key}`",
            store=repr(self.store),
            key=self.head_key,
        )

    def newest(self) -> Commit:
        """The commit of the newest version."""
        return self.at_head(lambda head: self.commit(head.commit, head.number))

    def commit(self, name: str, number: int) -> Commit:
        """The commit of this name; `number` is the one that the reference to it gives."""
        if not name:
            return EMPTY
        commit = self._commits.get(name, self._fetch_commit)
        if commit.number != number:
            raise self._damaged("commits", name, f"it is version {commit.number}, but was stored as {number}")
        return commit

    def _fetch_commit(self, name: str) -> Commit:
        data, what, limit = self._fetch("commits", name)
        return parse_commit(data, name, what, limit)

    def table(self, commit: Commit) -> Table:
        """The table of a version."""
        return Table(commit.pages, self.page)

    def page(self, page: PageRef) -> dict[str, ValueRef]:
        """The entries of a page. Treat as read-only."""

        def fetch(name: str) -> dict[str, ValueRef]:
            data, what, limit = self._fetch("pages", name)
            return parse_page(data, page, what, limit)

        return self._pages.get(page.name, fetch)

    def _fetch(self, kind: str, name: str) -> tuple[Buffer, str, int]:
        key, limit = self.key(kind, name), config.current.max_document_bytes
        value = self.store.get(key, (0, limit + 1))
        if value is None:
            raise self._damaged(kind, name, "it does not exist")
        return value, f"`{key}` in {self.store!r}", limit

    def _damaged(self, kind: str, name: str, reason: str) -> StoreError:
        key = self.key(kind, name)
        return StoreError(
            f"the record `{key}` of a versioned array cannot be used: {reason}",
            hint="`prune` removed its version while it was in use, or the store is damaged; open the array again",
            store=repr(self.store),
            key=key,
        )

    def find(self, number: int, head: Head) -> Commit:
        """The commit of a version; ArgumentError if there is none."""
        if not head.oldest <= number <= head.number:
            raise ArgumentError(
                f"`version`: expected a number from {head.oldest} to {head.number}, found {number}",
                argument="version",
                hint="`versions()` lists the versions that are kept" if number > head.number else "`prune` removed it",
            )
        if number == 0:
            return EMPTY
        commit = self.commit(head.commit, head.number)
        while commit.number > number:
            if commit.jump is not None and commit.jump[0] >= number:
                commit = self.commit(commit.jump[1], commit.jump[0])
            else:
                assert commit.parent is not None
                commit = self.commit(commit.parent, commit.number - 1)
        return commit

    def jump(self, parent: Commit, oldest: int) -> tuple[int, str] | None:
        """The jump of the commit after `parent`: distances double, so that `find` takes about 2 log n steps."""
        if parent.number == 0:
            return None
        near = parent.jump
        if near is not None and near[0] >= max(1, oldest):
            far = self.commit(near[1], near[0]).jump
            if far is not None and parent.number - near[0] == near[0] - far[0]:
                return far
        return parent.number, parent.name

    def versions(self, head: Head) -> list[Commit]:
        """The commits of all versions that are kept, from the oldest to the newest."""
        self._fetch_all(head)
        commits: list[Commit] = []
        name, number = head.commit, head.number
        while number >= max(1, head.oldest):
            commit = self.commit(name, number)
            commits.append(commit)
            name, number = commit.parent or "", number - 1
        if head.oldest == 0:
            commits.append(EMPTY)
        return commits[::-1]

    def _fetch_all(self, head: Head) -> None:
        """Fetch the commits together, if that saves requests."""
        count = head.number - head.oldest + 1
        if not (self.store.remote and self.store.listable) or count < 4:
            return
        start = self.key("commits", "")
        self._commits.limit = max(self._commits.limit, count + _COMMITS)
        names = [key[len(start) :] for key in self.store.list_prefix(start)]
        limit = config.current.max_document_bytes
        for index, value in self.store.get_each([(start + name, (0, limit + 1)) for name in names]):
            if value is not None:
                name = names[index]
                what = f"`{start}{name}` in {self.store!r}"
                with suppress(MetadataError):  # reported later, if it belongs to a version
                    self._commits.get(name, partial(_parse, value, what, limit))

    def public(self) -> list[ArrayVersion]:
        """All versions that are kept, from the oldest to the newest."""
        return [commit.version for commit in self.at_head(self.versions)]


def _parse(value: Buffer, what: str, limit: int, name: str) -> Commit:
    return parse_commit(value, name, what, limit)


class _Recent(Generic[T]):
    """The most recently fetched records by name. Many threads may use it: each step is one operation of a dict."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._items: dict[str, T] = {}

    def get(self, name: str, fetch: Callable[[str], T]) -> T:
        item = self._items.get(name)
        if item is None:
            item = self._items[name] = fetch(name)
            while len(self._items) > self.limit:
                try:
                    self._items.pop(next(iter(self._items)), None)
                except (StopIteration, RuntimeError):  # another thread dropped one
                    break
        return item
