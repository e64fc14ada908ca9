"""Data types of the kind structured."""

from __future__ import annotations

from omnizarr.compat.zarr.core.dtype.types import Structured

__all__ = ["Structured"]
