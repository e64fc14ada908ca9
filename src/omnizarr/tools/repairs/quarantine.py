"""Quarantine: values that `repair` took out of a hierarchy, below the prefix `.omnizarr-quarantine/` of its store.

Each value has a number. Its bytes lie in `NAME/7/value`, and `NAME/7/entry.json` says which key it had and why it was
taken. Both are stored before the key changes, so a crash loses nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from omnizarr.errors import ArgumentError, StoreError
from omnizarr.formats.document_keys import QUARANTINE_PREFIX
from omnizarr.store import Store
from omnizarr.store.update import KeyAccess, set_if_absent, update
from omnizarr.tools.repairs.results import RestoreResult

__all__ = ["Quarantine", "restore_values"]


class Quarantine:
    """The quarantine of one run of `repair`. It exists from the first value on."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._count = 0
        self._name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(3).hex()}"

    @property
    def name(self) -> str | None:
        """Its name; None if it is empty."""
        return self._name if self._count else None

    def take(self, key: str, value: bytes, reason: str, replacement: bytes | None = None) -> bool:
        """Replaces the value of a key, or erases it, and keeps the old one. False, without a change, if another writer
        has changed it meanwhile."""
        prefix = self._store_entry(key, value, reason, None if replacement is None else _digest(replacement))
        if _exchange(self._store, key, value, replacement):
            return True
        self._count -= 1
        _erase_entry(self._store, prefix)
        return False

    def keep(self, key: str, value: bytes, reason: str) -> _Keeper:
        """Keeps the value of a key that the caller is about to change."""
        return _Keeper(self, key, value, reason, self._store_entry(key, value, reason, ""))

    def _store_entry(self, key: str, value: bytes, reason: str, replacement: str | None) -> str:
        prefix = f"{QUARANTINE_PREFIX}{self._name}/{self._count}/"
        self._store.set(f"{prefix}value", value)
        self.write_entry(prefix, key, value, reason, replacement)
        self._count += 1
        return prefix

    def write_entry(self, prefix: str, key: str, value: bytes, reason: str, replacement: str | None) -> None:
        """Stores what is needed to put a value back. `replacement` is the digest of the value that the key has now;
        None if it has none, "" if that is not known yet."""
        entry = {"key": key, "reason": reason, "digest": _digest(value), "replacement": replacement}
        self._store.set(f"{prefix}entry.json", json.dumps(entry, indent=1).encode())

    def changed(self, prefix: str, key: str, value: bytes, reason: str) -> None:
        """Records the value that a key has now."""
        current = self._store.get_current(key)
        self.write_entry(prefix, key, value, reason, None if current is None else _digest(bytes(current)))


@dataclass(frozen=True)
class _Keeper:
    """A value in quarantine whose key is about to change."""

    quarantine: Quarantine
    key: str
    value: bytes
    reason: str
    prefix: str

    def done(self) -> None:
        """Call it when the key has its new value."""
        self.quarantine.changed(self.prefix, self.key, self.value, self.reason)


def _digest(value: bytes) -> str:
    return blake2b(value, digest_size=16).hexdigest()


def _exchange(store: Store, key: str, expected: bytes, value: bytes | None) -> bool:
    """Sets a key to `value`, or erases it, if it has the `expected` value."""

    def attempt(access: KeyAccess) -> tuple[bool] | None:
        stored = access.read(key)
        if stored is None or stored[0] is None or bytes(stored[0]) != expected:
            return (False,)
        if value is not None:
            return (True,) if access.write(key, value, stored[1]) else None
        if access.erases:
            return (True,) if access.erase(key, stored[1]) else None
        access.replace(key, None)  # a store that cannot compare and erase in one step
        return (True,)

    return update(store, [key], attempt)[0]


# -- putting back


def restore_values(store: Store, name: str | None, *, dry_run: bool) -> RestoreResult:
    """Puts the values of a quarantine back; those of all, the newest first, if `name` is None."""
    entries = sorted(_entries(store), key=lambda entry: (entry[0], entry[1]), reverse=True)
    if name is not None:
        entries = [entry for entry in entries if entry[0] == name]
    if not entries:
        where = "is no quarantine" if name is None else f"is no quarantine `{name}`"
        raise ArgumentError(f"there {where} in {store.location}", argument="undo")
    restored: list[str] = []
    remaining: list[str] = []
    for quarantine, number, entry in entries:
        prefix = f"{QUARANTINE_PREFIX}{quarantine}/{number}/"
        done = _restore(store, prefix, entry, dry_run=dry_run)
        (restored if done else remaining).append(str(entry["key"]))
        if done and not dry_run:
            _erase_entry(store, prefix)
    return RestoreResult(dry_run, tuple(restored), tuple(remaining))


def _restore(store: Store, prefix: str, entry: dict[str, Any], *, dry_run: bool) -> bool:
    """Puts one value back; False if its key has changed since it was taken."""
    stored = store.get(f"{prefix}value")
    if stored is None or _digest(bytes(stored)) != entry["digest"]:
        raise StoreError(f"the value in quarantine is damaged: {prefix}value", store=repr(store), key=f"{prefix}value")
    key, value = str(entry["key"]), bytes(stored)
    current = store.get_current(key)
    if current is not None and bytes(current) == value:
        return True  # a crash came between the copy and the change, or another writer put it back
    if current is None:
        return entry["replacement"] is None and (dry_run or set_if_absent(store, key, value))
    if _digest(bytes(current)) != entry["replacement"]:
        return False
    return dry_run or _exchange(store, key, bytes(current), value)


def _entries(store: Store) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """The quarantine, the number and the entry of each value."""
    for key in list(store.list_prefix(QUARANTINE_PREFIX)):
        parts = key.removeprefix(QUARANTINE_PREFIX).split("/")
        if len(parts) != 3 or parts[2] != "entry.json" or not parts[1].isdigit():
            continue
        value = store.get(key)
        try:
            entry = json.loads(bytes(value or b""))
            yield parts[0], int(parts[1]), {name: entry[name] for name in ("key", "digest", "replacement")}
        except (ValueError, KeyError, TypeError):
            raise StoreError(f"the entry of a quarantine is damaged: {key}", store=repr(store), key=key) from None


def _erase_entry(store: Store, prefix: str) -> None:
    store.erase(f"{prefix}entry.json")
    store.erase(f"{prefix}value")
