"""Locks for handles that are shared by threads."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from omnizarr.store.thread_locks import Stripes

__all__ = ["handle_lock"]

_HANDLES = Stripes()


def handle_lock(*handles: object | None) -> AbstractContextManager[Any]:
    """A lock on the cached metadata of these handles; hold it while reading the store and updating the cache.

    Without the lock, a slow thread could replace newer metadata by the older state that it read. A thread that holds
    the lock must not take another handle lock or wait for a task lock.
    """
    return _HANDLES.of(*[f"{id(handle)}" for handle in handles if handle is not None])
