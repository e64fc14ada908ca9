"""Types for annotations."""

from __future__ import annotations

from typing import TypeAlias

from omnizarr.compat.zarr.core.array import Array, AsyncArray

__all__ = ["AnyArray", "AnyAsyncArray"]

AnyArray: TypeAlias = Array
AnyAsyncArray: TypeAlias = AsyncArray
ArrayV2: TypeAlias = Array
ArrayV3: TypeAlias = Array
AsyncArrayV2: TypeAlias = AsyncArray
AsyncArrayV3: TypeAlias = AsyncArray
