"""Data types of the kind string."""

from __future__ import annotations

from omnizarr.compat.zarr.core.dtype.types import FixedLengthUTF32, VariableLengthUTF8

__all__ = ["FixedLengthUTF32", "VariableLengthUTF8"]

_NUMPY_SUPPORTS_VLEN_STRING = True
UTF8Base = VariableLengthUTF8
