"""Publishing the changes of a session as a new version.

1. Read the head. If it is not the base of the session, compare the entries of the changed keys in both versions: a
   difference is a conflict.
2. Store the new pages and the commit.
3. Compare-and-set the head. If another writer was faster, start again.

A crash before step 3 leaves the old version, and records that `prune` removes later.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

from omnizarr.errors import ConflictError, StoreError, UncertainWriteError
from omnizarr.store import Buffer
from omnizarr.store.contract import Version
from omnizarr.transformers.versions.records import (
    Commit,
    Head,
    PageRef,
    ValueRef,
    dump_commit,
    dump_head,
    dump_page,
    new_name,
    session_time,
    stamp,
)
from omnizarr.transformers.versions.session import Session
from omnizarr.transformers.versions.session_state import DOCUMENT

__all__ = ["Mergeable", "commit_session"]

_MOST_TRIES = 200
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 1.0  # seconds

Mergeable: TypeAlias = Callable[[Buffer, Buffer], bool]
"""Whether chunks that were written for the first document are correct for the second one, too."""


def commit_session(session: Session, message: str, mergeable: Mergeable) -> Commit:
    """Publish the changes, and end the session; the current version if there are none.

    ConflictError, without a change, if another session changed one of the same keys since this one began.
    """
    session.check_writable()
    with session.changing():
        session.check_open()
        pause = _FIRST_PAUSE
        for _ in range(_MOST_TRIES):
            commit = _attempt(session, message, mergeable)
            if commit is not None:
                session.closed = True
                return commit
            time.sleep(random.uniform(0, pause))
            pause = min(_LONGEST_PAUSE, 2 * pause)
    raise StoreError(
        f"cannot commit to {session!r}: gave up after {_MOST_TRIES} attempts, because other writers keep committing",
        hint="the changes are kept: call `commit` again",
        store=repr(session),
        key=session.history.head_key,
    )


def _attempt(session: Session, message: str, mergeable: Mergeable) -> Commit | None:
    """The commit, once the head points to it; None if another writer changed the head."""
    head, token = session.history.head()
    try:
        return _attempt_on(session, head, token, message, mergeable)
    except StoreError:
        if session.history.head()[0] == head:
            raise
        return None  # `prune` may have removed a record of an older version in the meantime


def _attempt_on(session: Session, head: Head, token: Version, message: str, mergeable: Mergeable) -> Commit | None:
    history = session.history
    _settle(session, head)
    if not session.changes:
        return session.base
    session.begin()  # before the check: it compares the time at which the session began
    _check_head(session, head)
    parent = history.commit(head.commit, head.number)
    if parent.name != session.base.name:
        _check_conflicts(session, parent, mergeable)
    commit = _store_records(session, parent, head, message)
    session.attempts.append(commit)
    session.share_values()  # from now on, the head may refer to them
    updates = session.inner.updates
    assert updates is not None
    new = dump_head(Head(commit.number, commit.name, head.oldest, head.fence))
    try:
        return commit if updates.write(history.head_key, new, token) else None
    except UncertainWriteError:
        return None  # the next attempt finds out


def _settle(session: Session, head: Head) -> None:
    """If an earlier attempt was published, make it the base, and keep the changes that came after it."""
    history = session.history
    for commit in reversed(session.attempts):
        if (
            max(1, head.oldest) <= commit.number <= head.number
            and history.find(commit.number, head).name == commit.name
        ):
            table = history.table(commit)
            session.rebase(
                commit,
                {
                    name: entry
                    for name, entry in session.changes.items()
                    if entry != (commit.document if name == DOCUMENT else table.get(name))
                },
            )
            break


def _check_head(session: Session, head: Head) -> None:
    """Reject to commit if the base was pruned, or values of this session may have been, or the array was replaced."""
    base = session.base
    lost = None
    if head.number < base.number:
        lost = "another writer erased or replaced the array"
    elif min(base.number, session.source) < head.oldest:
        lost = f"`prune` removed version {min(base.number, session.source)}, from which it began"
    elif not session.is_same_array() or session.history.find(base.number, head).name != base.name:
        lost = "another writer replaced the array"
    elif session_time(session.begin()) < head.fence:
        lost = f"it began before {head.fence}, and `prune` removed the uncommitted values of sessions before that time"
    if lost is not None:
        raise StoreError(
            f"the session of {session!r} cannot be committed: {lost}",
            hint="open the array again and repeat the changes",
            store=repr(session),
            key=session.history.head_key,
        )


def _check_conflicts(session: Session, parent: Commit, mergeable: Mergeable) -> None:
    history, base = session.history, session.base
    before, after = history.table(base), history.table(parent)
    conflicts = [
        session.prefix + name for name in session.changes if name != DOCUMENT and before.get(name) != after.get(name)
    ]
    document = session.document
    if document is not None:
        old = session.document_of(base)
        if (
            base.document != parent.document
            and (DOCUMENT in session.changes or not mergeable(old, session.document_of(parent)))
        ) or (DOCUMENT in session.changes and not mergeable(old, bytes(session.get(document) or b""))):
            conflicts.append(document)
    if conflicts:
        shown = ", ".join(f"`{key}`" for key in conflicts[:5]) + (" …" if len(conflicts) > 5 else "")
        raise ConflictError(
            f"version {parent.number} of {session!r} changed {len(conflicts)} of the same keys as this session, which "
            f"began from version {base.number}: {shown}",
            hint="the uncommitted changes are kept; `rollback()` discards them, then repeat them on the new version",
            store=repr(session),
            key=conflicts[0],
            keys=tuple(conflicts),
        )


def _store_records(session: Session, parent: Commit, head: Head, message: str) -> Commit:
    history = session.history
    writer = session.begin()
    changes = {name: entry for name, entry in session.changes.items() if name != DOCUMENT}
    records: list[tuple[str, bytes]] = []
    pages: list[PageRef] = []
    for page in history.table(parent).changed(changes):
        if not isinstance(page, PageRef):
            entries, page = page, PageRef(next(iter(page)), new_name(writer), len(page))
            records.append((history.key("pages", page.name), dump_page(entries)))
        pages.append(page)
    document: ValueRef | None = session.changes.get(DOCUMENT, parent.document)
    commit = Commit(
        number=parent.number + 1,
        name=new_name(writer),
        parent=parent.name or None,
        jump=history.jump(parent, head.oldest),
        message=message,
        time=stamp(datetime.now(UTC)),
        document=document,
        pages=tuple(pages),
    )
    session.inner.set_each(records)
    session.inner.set(history.key("commits", commit.name), dump_commit(commit))
    session.inner.flush()
    return commit
