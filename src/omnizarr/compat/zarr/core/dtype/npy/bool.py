"""Data types of the kind bool."""

from __future__ import annotations

from omnizarr.compat.zarr.core.dtype.types import Bool

__all__ = ["Bool"]
