"""Versioned arrays: a storage transformer that keeps the versions of an array, and publishes changes by `commit`."""

from __future__ import annotations

from omnizarr.transformers.versions.history import History
from omnizarr.transformers.versions.prune import PruneReport, prune_history
from omnizarr.transformers.versions.records import ArrayVersion, Commit
from omnizarr.transformers.versions.session import Session
from omnizarr.transformers.versions.session_state import DOCUMENT
from omnizarr.transformers.versions.transformer import Versions, commit, next_session, open_session

__all__ = [
    "DOCUMENT",
    "ArrayVersion",
    "Commit",
    "History",
    "PruneReport",
    "Session",
    "Versions",
    "commit",
    "next_session",
    "open_session",
    "prune_history",
]
