"""Data types of the kind bytes."""

from __future__ import annotations

from omnizarr.compat.zarr.core.dtype.types import NullTerminatedBytes, RawBytes, VariableLengthBytes

__all__ = ["NullTerminatedBytes", "RawBytes", "VariableLengthBytes"]
