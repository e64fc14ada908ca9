"""A session: a store that shows one version of an array, with changes that no other session sees until `commit`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from omnizarr.store import Buffer, ByteRange, Request, Store, check_key, check_prefix, provides
from omnizarr.store.contract import flat, patched, patches_by_key
from omnizarr.store.thread_locks import TaskLock, thread_lock, thread_task_lock
from omnizarr.transformers.versions.records import Commit, ValueRef
from omnizarr.transformers.versions.session_capabilities import SessionReads, SessionSnapshots, SessionUpdates
from omnizarr.transformers.versions.session_state import DOCUMENT, SessionState

__all__ = ["Session"]


class Session(SessionState):
    """The keys of one array in the state of one version, and uncommitted changes. Other keys are those of `inner`.

    New values are stored at once, under names of their own; the session remembers the names. `commit` publishes them
    all together. A session is private: a copy that another process unpickles has the same base and its own changes.
    """

    locking = True  # no other process can reach the changes of this session
    snapshots = provides(lambda store: None if store.inner.snapshots is None else SessionSnapshots(store))
    versioned_reads = provides(lambda store: None if store.inner.versioned_reads is None else SessionReads(store))
    updates = provides(lambda store: None if store.inner.updates is None else SessionUpdates(store))

    # -- the store as an object

    def __eq__(self, other: object) -> bool:
        return other is self or (
            isinstance(other, Session)
            and (other.inner, other.prefix, other.base.name, other.pinned)
            == (self.inner, self.prefix, self.base.name, self.pinned)
            and other.changes == self.changes
        )

    def __hash__(self) -> int:
        return hash((self.inner, self.prefix, self.base.name))

    def __reduce__(self) -> tuple[Any, ...]:
        self.share_values()
        with self.changing():
            state = dict(self.changes), self.session, self.closed, self.source
        return _restored, (type(self), self.inner, self.prefix, self.document, self.base, self.pinned, state)

    # -- keys

    def is_same_array(self) -> bool:
        """Whether the document at its own key, which never changes, is still the one that was read."""
        if self._outer is None or self.document is None:
            return True
        value = self.inner.get(self.document)
        return value is not None and bytes(value) == self._outer

    def document_of(self, commit: Commit) -> bytes:
        """The document of a version."""
        assert self.document is not None
        if commit.document is None:
            return bytes(self.inner.get(self.document) or b"")
        other = Session(self.inner, self.prefix, self.document, commit, history=self.history, pinned=True)
        return bytes(other.get(self.document) or b"")

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        name = self.relative(key)
        if name is None or self.is_outer(name):
            value = self.inner.get(key, range)
            if name is not None and range is None and value is not None:
                self._outer = bytes(value)
            return value
        while (entry := self.entry(name)) is not None:
            value = self.inner.get(self.value_key(entry), range)
            if value is not None:
                self.check_length(key, entry, range, len(value))
                return value
            self.check_replaced(key, name, entry)
        return None

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        name = self.relative(key)
        if name is None or self.is_outer(name) or start < 0:
            return self.inner.get_into(key, start, target)
        while (entry := self.entry(name)) is not None:
            length = self.inner.get_into(self.value_key(entry), start, target)
            if length is not None:
                self.check_length(key, entry, (start, len(target)), length)
                return length
            self.check_replaced(key, name, entry)
        return None

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        known: list[tuple[int, ValueRef | None]] = []
        batch: list[Request] = []
        for index, (key, range) in enumerate(requests):
            name = self.relative(key)
            if name is None or self.is_outer(name):
                if name is not None:
                    yield index, self.get(key, range)
                    continue
                known.append((index, None))
                batch.append((key, range))
            elif (entry := self.entry(name)) is None:
                yield index, None
            else:
                known.append((index, entry))
                batch.append((self.value_key(entry), range))
        for position, value in self.inner.get_each(batch) if batch else ():
            index, stored = known[position]
            key, range = requests[index]
            if stored is not None:
                if value is None:
                    value = self.get(key, range)  # replaced in the meantime, or missing
                else:
                    self.check_length(key, stored, range, len(value))
            yield index, value

    def exists(self, key: str) -> bool:
        name = self.relative(key)
        return self.inner.exists(key) if name is None or self.is_outer(name) else self.entry(name) is not None

    def size(self, key: str) -> int | None:
        name = self.relative(key)
        if name is None or self.is_outer(name):
            return self.inner.size(key)
        entry = self.entry(name)
        return None if entry is None else entry.size

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        self.set_each([(key, value)])

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        names: list[str] = []
        entries: list[ValueRef] = []

        def stored() -> Iterator[tuple[str, Buffer]]:
            for key, value in items:
                check_key(key)
                name = self.relative(key)
                if name is None:
                    yield key, value
                    continue
                data = flat(value)
                entry = self.new_entry(len(data))
                names.append(name)
                entries.append(entry)
                yield self.value_key(entry), data

        # If this fails, no key changes: a store may send values together, so that it is not known which it stored.
        self.inner.set_each(stored())
        replaced: list[ValueRef | None] = []
        with self.changing():
            self.check_open()
            for name, entry in zip(names, entries, strict=True):
                replaced.append(self.changes.get(name))
                self.changes[name] = entry
        self.forget(replaced)

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        self.check_writable()
        for key, patches in patches_by_key(items, repr(self)).items():
            with self.lock([key]):
                self.set(key, patched(self.get(key), patches))

    def erase(self, key: str) -> None:
        self.erase_values([key])

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        names: list[str] = []
        others: list[str] = []
        for key in keys:
            check_key(key)
            name = self.relative(key)
            if name is None:
                others.append(key)
            else:
                names.append(name)
        if others:
            self.inner.erase_values(others)
        replaced: list[ValueRef | None] = []
        with self.changing():
            self.check_open()
            for name in names:
                replaced.append(self.changes.get(name))
                self.erase_locked(name)
        self.forget(replaced)

    # -- listing

    def list(self) -> Iterator[str]:
        return self.list_prefix("")

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._listed(check_prefix(prefix))

    def _listed(self, prefix: str) -> Iterator[str]:
        own = self.prefix
        inside = prefix.startswith(own)
        if not inside:
            for key in self.inner.list_prefix(prefix):
                if key != self.document and not key.startswith(own):
                    yield key
        if inside or own.startswith(prefix):
            start = prefix[len(own) :]
            changes = dict(self.changes)
            changed = [name for name in changes if name.startswith(start) and name != DOCUMENT]
            yield from (own + name for name in changed if changes[name] is not None)
            for name, _ in self._table.items(start):
                if name not in changes:
                    yield own + name
        if self.document is not None and self.document.startswith(prefix) and self.exists(self.document):
            yield self.document

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        prefix = check_prefix(prefix)
        if prefix.startswith(self.prefix) or self.prefix.startswith(prefix):
            return Store.list_dir(self, prefix)
        return self.inner.list_dir(prefix)

    # -- agreement between writers: the threads of this process

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        return thread_lock(f"session-{self._number}", keys)

    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        return thread_task_lock(f"session-{self._number}", key)


def _restored(
    cls: type[Session], inner: Store, prefix: str, document: str | None, base: Commit, pinned: bool, state: Any
) -> Session:
    session = cls(inner, prefix, document, base, pinned=pinned)
    session.changes, session.session, session.closed, session.source = state
    session.inherited = dict(session.changes)
    return session
