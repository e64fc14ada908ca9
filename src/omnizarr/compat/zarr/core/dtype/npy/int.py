"""Data types of the kind int."""

from __future__ import annotations

from omnizarr.compat.zarr.core.dtype.types import Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64

__all__ = ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"]
