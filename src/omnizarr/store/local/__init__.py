"""A store in a directory of the local file system."""

from __future__ import annotations

from omnizarr.store.local.store import LocalStore

__all__ = ["LocalStore"]
