"""Data types of the kind float."""

from __future__ import annotations

from omnizarr.compat.zarr.core.dtype.types import Float16, Float32, Float64

__all__ = ["Float16", "Float32", "Float64"]
