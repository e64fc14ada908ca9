"""Data types of the kind structured."""

from __future__ import annotations

from omnizarr.compat.zarr.core.dtype.types import Struct, Structured

__all__ = ["Struct", "Structured"]
