"""Zarr data types."""

from __future__ import annotations

from omnizarr.compat.zarr.core.dtype import *  # noqa: F403
from omnizarr.compat.zarr.core.dtype import __all__  # noqa: F401
