"""A lock per handle, for threads that share it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from omnizarr.store.process_locks import Stripes

__all__ = ["handle_lock"]

_HANDLES = Stripes()


def handle_lock(*handles: object | None) -> AbstractContextManager[Any]:
    """Locks what these handles remember of the store, while the caller asks the store and takes up the answer.

    Without the lock an older answer that arrives later would undo what this thread has just changed. A thread that
    holds it takes no second one and waits for no turn.
    """
    return _HANDLES.of(*[f"{id(handle)}" for handle in handles if handle is not None])
