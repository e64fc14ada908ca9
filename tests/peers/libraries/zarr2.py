"""zarr-python 2, which writes v2, N5 and, experimentally, the draft of 2020."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

# zarr-python reads it once, at import.
os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"
os.environ["ZARR_V3_SHARDING"] = "1"

import numcodecs
import numpy as np
import numpy.typing as npt
import zarr
from zarr._storage.v3_storage_transformers import ShardingStorageTransformer

from tests.peers.exchange import pack, pack_dtype
from tests.peers.libraries.n5_documents import write_n5_documents

__all__ = ["UNSUPPORTED", "consolidate", "create_group", "describe", "read", "resize", "write"]

UNSUPPORTED = ("codec not available",)


def _version(path: Path) -> int:
    return 3 if (path / "zarr.json").exists() else 2


def write(
    path: Path,
    array_path: str,
    data: npt.NDArray[Any],
    document: dict[str, Any] | None,
    attributes: dict[str, Any] | None = None,
    **arguments: Any,
) -> None:
    """Creates the array from a document, or from arguments of `zarr.create`, and writes all of it."""
    if document is not None and "dimensions" in document:
        write_n5_documents(path, array_path, document)
        array = zarr.open_array(zarr.N5Store(str(path)), path=array_path or None, mode="r+")
    elif document is not None:
        place = path / array_path
        place.mkdir(parents=True, exist_ok=True)
        (place / ".zarray").write_text(json.dumps(document))
        array = zarr.open_array(str(place), mode="r+")
    else:
        array = _create(path, array_path, {"shape": data.shape, "dtype": data.dtype, **arguments})
    if attributes is not None:
        array.attrs.update(attributes)
    array[...] = data


def _create(path: Path, array_path: str, arguments: dict[str, Any]) -> Any:
    for name in ("compressor", "object_codec"):
        if arguments.get(name):
            arguments[name] = numcodecs.get_codec(arguments[name])
    if arguments.get("filters"):
        arguments["filters"] = [numcodecs.get_codec(configuration) for configuration in arguments["filters"]]
    chunks_per_shard = arguments.pop("chunks_per_shard", None)
    if chunks_per_shard is not None:
        shards = ShardingStorageTransformer("indexed", chunks_per_shard=tuple(chunks_per_shard))
        arguments["storage_transformers"] = [shards]
    return zarr.create(store=str(path), path=array_path or None, overwrite=True, **{"zarr_version": 2, **arguments})


def _open(path: Path, array_path: str, mode: str) -> Any:
    if (path / "attributes.json").exists():
        return zarr.open_array(zarr.N5Store(str(path)), path=array_path or None, mode=mode)
    # In the draft, an array without a path would be one called `array`.
    version = _version(path)
    return zarr.open_array(
        str(path), path=array_path or (None if version == 2 else "/"), mode=mode, zarr_version=version
    )


def read(path: Path, array_path: str) -> Any:
    array = _open(path, array_path, "r")
    return np.full((), array[...], array.dtype) if array.shape == () else array[...]


def resize(path: Path, array_path: str, shape: list[int]) -> None:
    _open(path, array_path, "r+").resize(*shape)


def describe(path: Path, node_path: str) -> dict[str, Any]:
    if (path / "attributes.json").exists():
        node = zarr.open(zarr.N5Store(str(path)), path=node_path or None, mode="r")
    else:
        node = zarr.open(str(path), path=node_path or None, mode="r", zarr_version=_version(path))
    if isinstance(node, zarr.Group):
        members: list[str] = []
        node.visit(members.append)
        return {"kind": "group", "members": sorted(members), "attributes": node.attrs.asdict()}
    shapes = {"shape": list(node.shape), "chunks": list(node.chunks), "dtype": pack_dtype(node.dtype)}
    fill = None if node.fill_value is None else pack(np.full((), node.fill_value, node.dtype))
    return {"kind": "array", **shapes, "order": node.order, "fill_value": fill, "attributes": node.attrs.asdict()}


def create_group(path: Path, group_path: str, attributes: dict[str, Any], zarr_version: int = 2) -> None:
    group = zarr.open_group(str(path), mode="a", zarr_version=zarr_version)
    if group_path:
        group = group.require_group(group_path)
    group.attrs.update(attributes)


def consolidate(path: Path) -> None:
    """In the draft, only below an explicit group at the root."""
    zarr.consolidate_metadata(zarr.DirectoryStoreV3(str(path)) if _version(path) == 3 else str(path))
