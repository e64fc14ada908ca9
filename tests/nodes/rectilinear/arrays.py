"""Arrays on a rectilinear grid, and their documents."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import omnizarr
from omnizarr.store import MemoryStore

EDGES = ([10, 20, 30], [5, 5, 2])
DATA = np.arange(1, 721, dtype="int32").reshape(60, 12)


def create(store: Any = None, **options: Any) -> omnizarr.Array:
    return omnizarr.create_array(store, **{"data": DATA, "chunks": EDGES, **options})


def grid_of(array: omnizarr.Array) -> Any:
    """The `chunk_grid` of the stored document."""
    value = array.store.get(f"{array.path}/zarr.json".lstrip("/"))
    assert value is not None
    return json.loads(bytes(value))["chunk_grid"]


def rectilinear(*chunk_shapes: Any) -> dict[str, Any]:
    return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": list(chunk_shapes)}}


def with_grid(chunk_grid: Any, shape: tuple[int, ...], codecs: Any = None) -> MemoryStore:
    """A store with an array whose document has this grid, unchecked."""
    array = omnizarr.create_array(None, shape=shape, dtype="int32", chunks=-1, compressors=None)
    document = json.loads(bytes(array.store.get("zarr.json") or b""))
    document["chunk_grid"] = chunk_grid
    if codecs is not None:
        document["codecs"] = codecs
    array.store.set("zarr.json", json.dumps(document).encode())
    assert isinstance(array.store, MemoryStore)
    return array.store
