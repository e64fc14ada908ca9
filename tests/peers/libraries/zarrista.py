"""zarrista, the Python API of zarrs (Rust) without zarr-python in between."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import zarrista
from zarrista.store import FilesystemStore

from tests.peers.exchange import pack_dtype

__all__ = ["UNSUPPORTED", "describe", "read", "write"]

UNSUPPORTED = (" is not supported",)


def _open(path: Path, array_path: str) -> Any:
    return zarrista.Array.open(FilesystemStore(path), f"/{array_path}")


def write(path: Path, array_path: str, data: npt.NDArray[Any], document: dict[str, Any]) -> None:
    if document["zarr_format"] == 3:
        array = zarrista.Array.from_metadata(document, FilesystemStore(path), f"/{array_path}")
        array.store_metadata()
    else:  # it creates arrays of version 3 only, and writes chunks of both
        place = path / array_path
        place.mkdir(parents=True, exist_ok=True)
        (place / ".zarray").write_text(json.dumps(document))
        array = _open(path, array_path)
    array[...] = _decoded(data)


def _decoded(data: npt.NDArray[Any]) -> Any:
    """The elements as plain memory: arrays would go through DLPack, which has no complex numbers, dates or bits."""
    if data.dtype.kind == "O":
        items = [item.encode() if isinstance(item, str) else item for item in data.ravel()]
        offsets = [0, *itertools.accumulate(len(item) for item in items)]
        return zarrista.ArrayBytes(b"".join(items), offsets=offsets)
    return data.astype(data.dtype.newbyteorder("="), copy=False).tobytes()


def read(path: Path, array_path: str) -> Any:
    array = _open(path, array_path)
    tensor = array[...]
    dtype = _unknown_to_numpy(array.metadata.get("data_type"))
    if dtype is None:
        return tensor.to_numpy()
    return np.frombuffer(tensor.buffer(), dtype).reshape(tensor.shape)


def _unknown_to_numpy(data_type: Any) -> np.dtype[Any] | None:
    """The dtype of raw bits, fixed-length text and small numbers, which zarrista decodes but cannot name."""
    if isinstance(data_type, dict) and data_type["name"] == "fixed_length_utf32":
        return np.dtype(f"=U{data_type['configuration']['length_bytes'] // 4}")
    if not isinstance(data_type, str):
        return None
    if data_type[0] == "r" and data_type[1:].isdigit():
        return np.dtype(f"V{int(data_type[1:]) // 8}")
    part = data_type.removeprefix("complex_")
    if hasattr(ml_dtypes, part):
        small: np.dtype[Any] = np.dtype(getattr(ml_dtypes, part))
        return small if part == data_type else np.dtype([("real", small), ("imag", small)])
    return np.dtype([("real", "f2"), ("imag", "f2")]) if data_type == "complex_float16" else None


def describe(path: Path, node_path: str) -> dict[str, Any]:
    store = FilesystemStore(path)
    try:
        array = zarrista.Array.open(store, f"/{node_path}")
    except zarrista.exceptions.ArrayCreateError:
        group = zarrista.Group.open(store, f"/{node_path}")
        start = len(group.path.rstrip("/")) + 1
        members = sorted(node.path[start:] for node in group.traverse())
        return {"kind": "group", "members": members, "attributes": group.attrs, "document": group.metadata}
    empty = array[(slice(0, 0),) * array.ndim] if array.ndim else array[...]
    dtype = _unknown_to_numpy(array.metadata.get("data_type")) or empty.to_numpy().dtype
    origin = [0] * array.ndim
    chunks = list(array.subchunk_shape if array.is_sharded else array.chunk_shape(origin))
    shapes = {"shape": list(array.shape), "chunks": chunks, "dtype": pack_dtype(dtype)}
    return {"kind": "array", **shapes, "attributes": array.attrs, "document": array.metadata}
