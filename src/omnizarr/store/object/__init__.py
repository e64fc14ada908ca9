"""Object stores and web servers, through the library obstore: S3, Google Cloud Storage, Azure, HTTP."""

from __future__ import annotations

from omnizarr.store.object.store import ObjectStore

__all__ = ["ObjectStore"]
