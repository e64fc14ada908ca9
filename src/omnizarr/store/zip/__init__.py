"""A store in a ZIP archive."""

from __future__ import annotations

from omnizarr.store.zip.store import ZipStore, open_inside

__all__ = ["ZipStore", "open_inside"]
