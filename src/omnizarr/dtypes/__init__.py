"""Data types: what an element is, in metadata and in memory; one file per family."""

from __future__ import annotations

from omnizarr.dtypes import boolean, complex_, floating, integer, struct_  # noqa: F401  each registers its types
from omnizarr.dtypes.bits import is_fill, same_bits
from omnizarr.dtypes.contract import DataType, Reader, Scalar, data_types
from omnizarr.dtypes.lookup import data_type_of, parse_data_type

__all__ = ["DataType", "Reader", "Scalar", "data_type_of", "data_types", "is_fill", "parse_data_type", "same_bits"]
