"""The handle of an array: `Array`, or `VersionedArray` if the array keeps versions."""

from __future__ import annotations

from omnizarr.errors import ArgumentError
from omnizarr.model import ArrayModel
from omnizarr.nodes.array import Array
from omnizarr.nodes.node import NodeContext

__all__ = ["array_handle"]


def array_handle(
    context: NodeContext, model: ArrayModel, *, version: int | None = None, write_empty_chunks: bool = False
) -> Array:
    """The handle of the array whose stored document gives `model`. `version` is one of a versioned array."""
    if model.storage_transformers and model.storage_transformers[-1].keeps_document:
        from omnizarr.nodes.versioned_array import VersionedArray  # lazy import: few arrays keep versions

        return VersionedArray.open(context, model, version=version, write_empty_chunks=write_empty_chunks)
    if version is not None:
        raise ArgumentError(
            f"`version`: expected None, because array `/{context.path}` keeps no versions, found {version!r}",
            argument="version",
        )
    return Array(context, model, write_empty_chunks=write_empty_chunks)
