"""Removing old versions, and values that no version uses.

1. Compare-and-set the head: it names the oldest version that stays, and a fence, which is a time. From then on, no
   session that began before the fence or from a removed version can commit.
2. Collect the names that the remaining versions use.
3. Erase all other names that sessions before the fence wrote.

Later commits use only values of remaining versions and of sessions after the fence, so that step 3 erases nothing that
they need. After a crash, the next call removes the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from omnizarr.errors import ArgumentError, StoreError, UncertainWriteError
from omnizarr.transformers.versions.history import History
from omnizarr.transformers.versions.records import KINDS, Commit, Head, dump_head, session_time, stamp

__all__ = ["PruneReport", "prune_history"]

_MOST_TRIES = 100
_BATCH = 1000  # keys that are erased together


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What `prune` removed, or would remove."""

    versions: tuple[int, ...]
    """The numbers of the versions."""
    keys: int
    """The number of stored keys: values, pages and commits."""
    oldest: int
    """The number of the oldest version that is kept."""


def prune_history(
    history: History,
    *,
    keep: int | None = None,
    older_than: timedelta | None = None,
    grace: timedelta = timedelta(days=1),
    dry_run: bool = False,
) -> PruneReport:
    """Remove the oldest versions, and everything that no remaining version uses; `VersionedArray.prune` explains the
    arguments."""
    _check(keep, older_than, grace)
    store = history.store
    if not dry_run:
        store.check_writable()
    now = datetime.now(UTC)
    for _ in range(_MOST_TRIES):
        head, token = history.head()
        try:
            removed, remaining = _divide(history.versions(head), now, keep, older_than, grace)
            fence = max(head.fence, stamp(now - grace))
            oldest = remaining[0].number
            if not dry_run:
                updates = store.updates
                assert updates is not None, "the caller checks it"
                new = dump_head(Head(head.number, head.commit, oldest, fence))
                if not updates.write(history.head_key, new, token):
                    continue
            used = _used(history, remaining)
        except UncertainWriteError:
            continue
        except StoreError:
            if history.head()[0] == head:
                raise
            continue  # another call removed versions in the meantime
        count = _erase(history, fence, used, dry_run=dry_run)
        return PruneReport(tuple(commit.number for commit in removed), count, oldest)
    raise StoreError(
        f"cannot prune {store!r}: gave up after {_MOST_TRIES} attempts, because other writers keep changing the head",
        store=repr(store),
        key=history.head_key,
    )


def _check(keep: int | None, older_than: timedelta | None, grace: timedelta) -> None:
    if keep is not None and (not isinstance(keep, int) or isinstance(keep, bool) or keep < 1):
        raise ArgumentError(f"`keep`: expected an integer of at least 1, found {keep!r}", argument="keep")
    for name, age in (("older_than", older_than), ("grace", grace)):
        if (age is not None or name == "grace") and (not isinstance(age, timedelta) or age < timedelta(0)):
            raise ArgumentError(f"`{name}`: expected a timedelta of at least 0, found {age!r}", argument=name)


def _divide(
    commits: list[Commit], now: datetime, keep: int | None, older_than: timedelta | None, grace: timedelta
) -> tuple[list[Commit], list[Commit]]:
    """The versions to remove, and those that stay. A version ages from the time when the next one replaced it."""
    count = 0
    if keep is not None or older_than is not None:
        limit = now - max(grace, older_than or grace)
        for following in commits[1:]:
            replaced = following.version.time
            if (keep is not None and len(commits) - count <= keep) or replaced is None or replaced > limit:
                break
            count += 1
    return commits[:count], commits[count:]


def _used(history: History, commits: list[Commit]) -> set[str]:
    """The names that these versions use."""
    used: set[str] = set()
    seen: set[str] = set()
    for commit in commits:
        used.add(commit.name)
        if commit.document is not None:
            used.add(commit.document.name)
        for page in commit.pages:
            if page.name not in seen:
                seen.add(page.name)
                used.add(page.name)
                used.update(entry.name for entry in history.page(page).values())
    return used


def _erase(history: History, fence: str, used: set[str], *, dry_run: bool) -> int:
    """Erase everything that sessions before the fence wrote and no version uses; how many keys that are."""
    count = 0
    batch: list[str] = []
    for key in _unused(history, fence, used):
        count += 1
        if not dry_run:
            batch.append(key)
            if len(batch) == _BATCH:
                history.store.erase_values(batch)
                batch = []
    if batch:
        history.store.erase_values(batch)
    return count


def _unused(history: History, fence: str, used: set[str]) -> Iterator[str]:
    for kind in KINDS:
        start = history.key(kind, "")
        _, sessions = history.store.list_dir(start)
        for session in sessions:
            if session_time(session[len(start) :]) >= fence:
                continue
            for key in list(history.store.list_prefix(session)):
                if key[len(start) :] not in used:
                    yield key
