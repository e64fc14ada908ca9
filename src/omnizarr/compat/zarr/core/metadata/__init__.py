"""What documents of arrays say."""

from __future__ import annotations

from typing import Any, TypeAlias

from omnizarr.compat.zarr.core.metadata.v2 import ArrayV2Metadata
from omnizarr.compat.zarr.core.metadata.v3 import ArrayV3Metadata

__all__ = ["ArrayMetadata", "ArrayV2Metadata", "ArrayV3Metadata"]

ArrayMetadata: TypeAlias = ArrayV2Metadata | ArrayV3Metadata
ArrayMetadataDict: TypeAlias = dict[str, Any]
