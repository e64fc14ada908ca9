"""Stores on the file systems of the library fsspec."""

from __future__ import annotations

from omnizarr.store.fsspec_.store import FsspecStore

__all__ = ["FsspecStore"]
