"""What a session knows: its version, and its uncommitted changes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from omnizarr.errors import InvalidKeyError, ReadOnlyError, StoreError
from omnizarr.store import Buffer, ByteRange, Store, WrapperStore, check_key
from omnizarr.store.contract import extent_of, flat
from omnizarr.store.thread_locks import Stripes
from omnizarr.transformers.versions.history import History
from omnizarr.transformers.versions.records import AREA, EMPTY, Commit, ValueRef, new_name, new_session

__all__ = ["DOCUMENT", "SessionState"]

DOCUMENT = ""
"""Stands for the array's document among the changed keys, which are relative to the array's prefix."""

_CHANGING = Stripes()
_NUMBERS = itertools.count(1)
_forks = 0  # in this process and its ancestors: a child shares the sessions that its parent has at that time


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=_count_fork, after_in_child=_count_fork)


class SessionState(WrapperStore):
    """The base class of `Session`: entries and changes, without the verbs of a store."""

    def __init__(
        self,
        inner: Store,
        prefix: str,
        document: str | None,
        base: Commit = EMPTY,
        *,
        history: History | None = None,
        pinned: bool = False,
    ) -> None:
        super().__init__(inner)
        self.in_memory = False
        self.prefix = prefix
        self.document = document
        self.base = base
        self.pinned = pinned
        """Whether it shows a version that the caller chose, so that it cannot be changed."""
        self.history = History(inner, prefix) if history is None else history
        self.changes: dict[str, ValueRef | None] = {}
        """The changed keys, relative to the prefix. Change it only while holding `changing`."""
        self.inherited: dict[str, ValueRef | None] = {}
        """The changes that it had when it was copied from another session."""
        self.session: str | None = None
        """The name under which values are stored; None before the first one."""
        self.source = base.number
        """The oldest version whose values the changes refer to."""
        self.closed = False
        self._outer: bytes | None = None
        """The document at its own key, once it was read."""
        self._table = self.history.table(base)
        self.attempts: list[Commit] = []
        """Commits that were prepared; after an error of the store, it is not known whether they were published."""
        self._own: set[str] = set()
        """The names of values that only this object knows, and may erase when it replaces them."""
        self._forks = _forks
        self._number = next(_NUMBERS)

    def changing(self) -> AbstractContextManager[Any]:
        """The lock of `changes`, between the threads of this process."""
        return _CHANGING.of(f"{self._number}")

    @property
    def read_only(self) -> bool:
        return self.pinned or self.inner.read_only

    def check_writable(self) -> None:
        self.inner.check_writable()
        if self.pinned:
            raise ReadOnlyError(
                f"version {self.base.number} of {self!r} cannot be changed",
                hint="open the array without `version` to change the newest version",
                store=repr(self),
            )
        if self.inner.updates is None:
            raise ReadOnlyError(
                f"versioned arrays in {self.inner!r} cannot be changed: the store has no compare-and-set, so that "
                "commits of several writers could be lost",
                hint="use a local directory, S3, GCS, Azure or SQLite; `checkout` copies a version to any store",
                store=repr(self),
            )

    def relative(self, key: str) -> str | None:
        """A key of the array without its prefix, or `DOCUMENT`; None if it is not a key of the array."""
        if key == self.document:
            return DOCUMENT
        if not key.startswith(self.prefix):
            return None
        name = key[len(self.prefix) :]
        if name.startswith(AREA) or name == AREA[:-1]:
            raise InvalidKeyError(f"`{key}` is reserved for the versions of the array", store=repr(self), key=key)
        if not name:
            check_key(key)
        return name

    def entry(self, name: str) -> ValueRef | None:
        """The value of a relative key; None if there is none."""
        try:
            return self.changes[name]
        except KeyError:
            if name == DOCUMENT:
                return self.base.document
            entry = self._table.get(name)
            if entry is None:
                check_key(name)
            return entry

    def value_key(self, entry: ValueRef) -> str:
        """The key of a stored value in the inner store."""
        return self.history.key("values", entry.name)

    def is_outer(self, name: str) -> bool:
        """Whether the value is the document as it was created, which lies at its own key."""
        return name == DOCUMENT and self.base.document is None and DOCUMENT not in self.changes

    def check_length(self, key: str, entry: ValueRef, range: ByteRange | None, length: int) -> None:
        """Reject a value of another length than its entry gives."""
        if length != extent_of(range, entry.size)[1]:
            raise StoreError(
                f"`{key}` in version {self.base.number} is damaged: it should have {entry.size} bytes",
                store=repr(self),
                key=self.value_key(entry),
            )

    def check_replaced(self, key: str, name: str, entry: ValueRef) -> None:
        """Raise unless another thread of this session has replaced the value in the meantime."""
        if self.entry(name) == entry:
            raise StoreError(
                f"`{key}` belongs to version {self.base.number}, but its value does not exist any more",
                hint="`prune` removed the version while it was in use, or the store is damaged; open the array again",
                store=repr(self),
                key=self.value_key(entry),
            )

    def begin(self) -> str:
        """The name of the session; made by the first change."""
        if self.session is None:
            self.session = new_session()
        return self.session

    def store_value(self, value: Buffer) -> ValueRef:
        """Store a value for a change that the caller makes while holding `changing`."""
        self.begin()
        data = flat(value)
        entry = self.new_entry(len(data))
        self.inner.set(self.value_key(entry), data)
        return entry

    def rebase(self, base: Commit, changes: dict[str, ValueRef | None]) -> None:
        """Continue from another version with these changes; the caller holds `changing`."""
        self.base, self.changes, self._table = base, changes, self.history.table(base)
        self.attempts = []

    def new_entry(self, size: int) -> ValueRef:
        """An entry for a new value of this session."""
        if self.session is None:
            with self.changing():
                self.begin()
        entry = ValueRef(new_name(self.begin()), size)
        self._own.add(entry.name)
        return entry

    def forget(self, entries: Iterable[ValueRef | None]) -> None:
        """Erase values that this session has replaced. Values that a copy of the session may use are left to
        `prune`."""
        if self._forks != _forks:
            self._own.clear()
            self._forks = _forks
        for entry in entries:
            if entry is not None and entry.name in self._own:
                self._own.discard(entry.name)
                self.inner.erase(self.value_key(entry))

    def share_values(self) -> None:
        """Call before a copy of the session, or a commit, refers to its values: they are not erased any more."""
        self._own.clear()

    def has_lost_changes(self) -> bool:
        """Whether there are changes that are lost with this object: uncommitted, and made by it."""
        return bool(self.changes) and not self.closed and self.changes != self.inherited

    def check_open(self) -> None:
        """Reject changes after `commit` or `rollback` has ended this session."""
        if self.closed:
            raise StoreError(
                f"the session of {self!r} has ended while this thread was writing",
                hint="finish all writes before `commit` or `rollback`",
                store=repr(self),
            )

    def erase_locked(self, name: str) -> None:
        """Erase a relative key; the caller holds `changing`."""
        if name == DOCUMENT:
            raise StoreError(
                f"the document of the versioned array in {self!r} cannot be erased",
                hint="to erase the array with all its versions, delete it from its group",
                store=repr(self),
                key=self.document,
            )
        if self._table.get(name) is None:
            self.changes.pop(name, None)  # as if it had never been set
        else:
            self.changes[name] = None
