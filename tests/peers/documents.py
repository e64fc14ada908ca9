"""Metadata documents of versions 3, 2 and 1, for arrays that peers write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["array_document", "array_document_v1", "array_document_v2"]

_LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
_INDEX_CODECS = [_LITTLE, {"name": "crc32c"}]


def array_document(
    shape: Sequence[int],
    dtype: Any,
    *,
    chunks: Sequence[int] | None = None,
    shards: Sequence[int] | None = None,
    codecs: Sequence[dict[str, Any]] = (_LITTLE,),
    fill_value: Any = None,
    separator: str = "/",
    **members: Any,
) -> dict[str, Any]:
    """A `zarr.json` for an array of a core data type. `codecs` are those of the innermost chunks; `members` add to or
    replace fields of the document."""
    dtype = np.dtype(dtype)
    inner = list(shape if chunks is None else chunks)
    pipeline: list[dict[str, Any]] = list(codecs)
    if shards is not None:
        sharding = {"chunk_shape": inner, "codecs": pipeline, "index_codecs": _INDEX_CODECS, "index_location": "end"}
        pipeline = [{"name": "sharding_indexed", "configuration": sharding}]
    if fill_value is None:
        fill_value = {"b": False, "c": [0.0, 0.0], "V": [0] * dtype.itemsize}.get(dtype.kind, 0)
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": f"r{dtype.itemsize * 8}" if dtype.kind == "V" else dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": inner if shards is None else list(shards)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": separator}},
        "fill_value": fill_value,
        "codecs": pipeline,
        "attributes": {},
        **members,
    }


def array_document_v2(
    shape: Sequence[int], dtype: Any, *, chunks: Sequence[int] | None = None, separator: str = ".", **members: Any
) -> dict[str, Any]:
    """A `.zarray` for an array, without codecs; `members` add to or replace fields."""
    return {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": list(shape if chunks is None else chunks),
        "dtype": _descr(np.dtype(dtype)),
        "compressor": None,
        "fill_value": None,
        "order": "C",
        "filters": None,
        "dimension_separator": separator,
        **members,
    }


def array_document_v1(
    shape: Sequence[int], dtype: Any, *, chunks: Sequence[int] | None = None, **members: Any
) -> dict[str, Any]:
    """A `meta` for an array, without compression; `members` add to or replace fields."""
    return {
        "zarr_format": 1,
        "shape": list(shape),
        "chunks": list(shape if chunks is None else chunks),
        "dtype": _descr(np.dtype(dtype)),
        "compression": "none",
        "compression_opts": None,
        "fill_value": None,
        "order": "C",
        **members,
    }


def _descr(dtype: np.dtype[Any]) -> Any:
    """A type as v1 and v2 write it. Structures are lists of names, types and, in v2, shapes."""
    if dtype.names is None:
        return dtype.str
    fields = []
    for name in dtype.names:
        field = dtype[name]
        fields.append([name, _descr(field.base), *([list(field.shape)] if field.shape else [])])
    return fields
