"""`LoggingStore`."""

from __future__ import annotations

from omnizarr.compat.zarr.storage._wrapper import LoggingStore

__all__ = ["LoggingStore"]
