"""Tokens of arrays for dask: text that is the same for equal elements at one location, and changes when they change.

A token contains the location, the document that the handle loaded, and a cheap state of the stored elements:

- In a folder, the times of the array's directory and document. `change_recorder` sets the time of the directory after
  each write, so that tokens of all processes change. A chunk that another program writes may leave it unchanged.
- In other stores, the number of writes of this process to the array.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from itertools import count

from omnizarr.store import PrefixStore, ReadOnlyStore, Store

__all__ = ["change_recorder", "location_text", "stored_state"]

_numbers = count(1)
_last_writes: dict[str, int] = {}
"""The number of the last write of this process, by location, for stores without files."""
_MOST_ENTRIES = 10_000  # locations; beyond that, the oldest is forgotten


def location_text(store: Store, prefix: str) -> str:
    """The location of a prefix as text, which does not depend on the root of the store."""
    while True:
        if isinstance(store, PrefixStore):
            prefix, store = store.prefix + prefix, store.inner
        elif isinstance(store, ReadOnlyStore):
            store = store.inner
        elif (above := store.parent()) is not None:
            store, prefix = above[0], f"{above[1]}/{prefix}"
        else:
            break
    return f"{type(store).__name__}({store.full_location}) {prefix}"


def change_recorder(store: Store, prefix: str) -> Callable[[], None]:
    """A function to call after each change of elements of the array whose chunk keys start with `prefix`."""
    folder = _folder(store, prefix)
    key = _key(store, prefix)

    def set_time() -> None:
        now = time.time_ns()  # the clock of a file system may have a resolution of milliseconds
        try:
            os.utime(folder, ns=(now, now))  # type: ignore[arg-type]
        except OSError:
            pass  # no directory yet, or no right to change its time

    def count_write() -> None:
        _last_writes.pop(key, None)
        _last_writes[key] = next(_numbers)
        if len(_last_writes) > _MOST_ENTRIES:
            _last_writes.pop(next(iter(_last_writes)), None)

    return count_write if folder is None else set_time


def stored_state(store: Store, prefix: str, documents: Sequence[str]) -> list[object]:
    """The cheap state of the stored elements; `documents` are the keys of the array's documents."""
    folder = _folder(store, prefix)
    if folder is None:
        return [_last_writes.get(_key(store, prefix), 0)]
    return [_version(path) for path in (folder, *map(store.file, documents))]


def _folder(store: Store, prefix: str) -> str | None:
    """The directory of the array; None if values are no files."""
    file = store.file(f"{prefix}zarr.json")  # the name does not matter
    return None if file is None else os.path.dirname(file)


def _key(store: Store, prefix: str) -> str:
    return f"{store.full_location.rstrip('/')}/{prefix}"


def _version(path: str | None) -> tuple[int, int] | None:
    try:
        status = os.stat(path or "")
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino
