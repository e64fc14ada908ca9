"""A store that keeps what was read from another one."""

from __future__ import annotations

from omnizarr.store.caching.store import CacheStore

__all__ = ["CacheStore"]
