"""Handles that several threads share: what they learn of the store is taken up in the order in which it was learnt."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from omnizarr.store.threads import Stripes

__all__ = ["alone"]

_HANDLES = Stripes()


def alone(*handles: object | None) -> AbstractContextManager[Any]:
    """Keeps other threads from asking the store for what these handles remember of it, and from taking up the answer:
    an older one that came later would undo what this thread has just changed. Whoever is in such a block enters no
    other one, and waits for no turn."""
    return _HANDLES.of(*[f"{id(handle)}" for handle in handles if handle is not None])
