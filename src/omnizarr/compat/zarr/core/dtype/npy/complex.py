"""Data types of the kind complex."""

from __future__ import annotations

from omnizarr.compat.zarr.core.dtype.types import Complex64, Complex128

__all__ = ["Complex64", "Complex128"]
