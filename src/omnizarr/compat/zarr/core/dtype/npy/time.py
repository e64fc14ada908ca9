"""Data types of the kind time."""

from __future__ import annotations

from omnizarr.compat.zarr.core.dtype.types import DateTime64, TimeDelta64

__all__ = ["DateTime64", "TimeDelta64"]
