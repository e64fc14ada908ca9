"""Types for annotations."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from omnizarr.compat.zarr.core.array import Array, AsyncArray

__all__ = ["AnyArray", "AnyAsyncArray"]

AnyArray: TypeAlias = Array
AnyAsyncArray: TypeAlias = AsyncArray
ArrayV2: TypeAlias = Array
ArrayV3: TypeAlias = Array
AsyncArrayV2: TypeAlias = AsyncArray
AsyncArrayV3: TypeAlias = AsyncArray
DTypeConfig_V2: TypeAlias = Any
DTypeJSON: TypeAlias = Any
JSON: TypeAlias = Any
ZarrFormat: TypeAlias = Literal[2, 3]
