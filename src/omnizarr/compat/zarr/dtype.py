"""Zarr data types."""

from __future__ import annotations

from omnizarr.compat.zarr.core import dtype as _names
from omnizarr.compat.zarr.core.dtype import *  # noqa: F403
from omnizarr.compat.zarr.core.dtype import __all__  # noqa: F401

globals().update({name: value for name, value in vars(_names).items() if "JSON" in name or name == "DTypeSpec_V2"})
