"""zarr-python 3 with its own codecs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr
from zarr.core.buffer import default_buffer_prototype

from tests.peers.exchange import pack, pack_dtype

__all__ = ["UNSUPPORTED", "consolidate", "create_group", "describe", "read", "resize", "write"]

zarr.config.set({"array.rectilinear_chunks": True})  # experimental, off by default

UNSUPPORTED = (
    "No Zarr data type found",
    "UnknownCodecError",
    "Unknown chunk grid",
    "Unknown chunk key encoding",
    "storage transformers are not supported",
    "Expected dict, got <class 'str'>",  # the short form of 3.1
)


def write(
    path: Path,
    array_path: str,
    data: npt.NDArray[Any],
    document: dict[str, Any],
    attributes: dict[str, Any] | None = None,
) -> None:
    """Writes the document, opens it, and has the library write both its own document and the data."""
    place = path / array_path
    place.mkdir(parents=True, exist_ok=True)
    version = document["zarr_format"]
    (place / ("zarr.json" if version == 3 else ".zarray")).write_text(json.dumps(document))
    array = zarr.open_array(str(place), mode="r+", zarr_format=version)
    array.update_attributes(attributes or {})
    array[...] = data


def read(path: Path, array_path: str) -> Any:
    array = zarr.open_array(str(path), path=array_path, mode="r")
    found = array[...]
    if isinstance(found, np.ndarray):
        return found
    single = np.empty((), object if array.dtype.kind in "OT" else array.dtype)  # a single text is not an array
    single[()] = found
    return single


def resize(path: Path, array_path: str, shape: list[int]) -> None:
    zarr.open_array(str(path), path=array_path, mode="r+").resize(tuple(shape))


def describe(path: Path, node_path: str) -> dict[str, Any]:
    node = zarr.open(str(path), path=node_path, mode="r")
    documents = {
        key: json.loads(value.to_bytes())
        for key, value in node.metadata.to_buffer_dict(default_buffer_prototype()).items()
    }
    document = documents.get("zarr.json") or documents.get(".zarray") or documents.get(".zgroup")
    description = {"attributes": dict(node.attrs), "document": document}
    if isinstance(node, zarr.Group):
        return {"kind": "group", "members": sorted(name for name, _ in node.members(max_depth=None)), **description}
    shapes = {"shape": list(node.shape), "chunks": list(node.chunks), "order": node.order}
    text = node.dtype.kind == "T"
    fill = None if node.fill_value is None else pack(np.full((), node.fill_value, object if text else node.dtype))
    return {"kind": "array", "dtype": pack_dtype(node.dtype), "fill_value": fill, **shapes, **description}


def create_group(path: Path, group_path: str, attributes: dict[str, Any]) -> None:
    group = zarr.open_group(str(path), mode="a")
    if group_path:
        group = group.require_group(group_path)
    group.update_attributes(attributes)


def consolidate(path: Path) -> None:
    zarr.consolidate_metadata(str(path))
