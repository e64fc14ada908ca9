"""A store in an SQLite database."""

from __future__ import annotations

from omnizarr.store.sqlite.store import SQLiteStore, open_inside

__all__ = ["SQLiteStore", "open_inside"]
