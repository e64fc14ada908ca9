"""A store of references to parts of other files."""

from __future__ import annotations

from omnizarr.store.references.store import ReferenceStore, open_inside

__all__ = ["ReferenceStore", "open_inside"]
