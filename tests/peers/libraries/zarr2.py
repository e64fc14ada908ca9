"""zarr-python 2, which writes version 2 and, as an experiment of its time, the draft of 2020."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

# Read once, at import.
os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"
os.environ["ZARR_V3_SHARDING"] = "1"

import numcodecs
import numpy.typing as npt
import zarr

from tests.peers.exchange import pack_dtype

__all__ = ["UNSUPPORTED", "consolidate", "create_group", "describe", "read", "write"]

UNSUPPORTED = ("codec not available",)


def _version(path: Path) -> int:
    return 3 if (path / "zarr.json").exists() else 2


def write(
    path: Path,
    array_path: str,
    data: npt.NDArray[Any],
    document: dict[str, Any] | None,
    zarr_version: int = 2,
    **arguments: Any,
) -> None:
    if document is not None:
        place = path / array_path
        place.mkdir(parents=True, exist_ok=True)
        (place / ".zarray").write_text(json.dumps(document))
        array = zarr.open_array(str(place), mode="r+")
    else:
        for name in ("compressor", "object_codec"):
            if arguments.get(name):
                arguments[name] = numcodecs.get_codec(arguments[name])
        if arguments.get("filters"):
            arguments["filters"] = [numcodecs.get_codec(configuration) for configuration in arguments["filters"]]
        arguments.setdefault("shape", data.shape)
        arguments.setdefault("dtype", data.dtype)
        array = zarr.create(
            store=str(path), path=array_path or None, overwrite=True, zarr_version=zarr_version, **arguments
        )
    array[...] = data


def read(path: Path, array_path: str) -> Any:
    return zarr.open_array(str(path), path=array_path or None, mode="r", zarr_version=_version(path))[...]


def describe(path: Path, node_path: str) -> dict[str, Any]:
    node = zarr.open(str(path), path=node_path or None, mode="r", zarr_version=_version(path))
    if isinstance(node, zarr.Group):
        members: list[str] = []
        node.visit(members.append)
        return {"kind": "group", "members": sorted(members), "attributes": node.attrs.asdict()}
    shapes = {"shape": list(node.shape), "chunks": list(node.chunks), "dtype": pack_dtype(node.dtype)}
    return {"kind": "array", **shapes, "attributes": node.attrs.asdict()}


def create_group(path: Path, group_path: str, attributes: dict[str, Any], zarr_version: int = 2) -> None:
    group = zarr.open_group(str(path), mode="a", zarr_version=zarr_version)
    if group_path:
        group = group.require_group(group_path)
    group.attrs.update(attributes)


def consolidate(path: Path) -> None:
    zarr.consolidate_metadata(str(path))
