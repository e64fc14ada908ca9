"""zarr-python 1, the only writer of version 1: its Python files, with the Blosc of numcodecs instead of its compiled
module."""

from __future__ import annotations

import collections
import collections.abc
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.peers.exchange import pack, pack_dtype
from tests.peers.libraries import zarr1_blosc

__all__ = ["UNSUPPORTED", "describe", "read", "resize", "write"]

UNSUPPORTED = ("compressor not available", "cannot include dtype", "ModuleNotFoundError")


def _load() -> Any:
    """Imports the library in a newer Python, which has moved modules that it imports, and without its compiled
    module."""
    setattr(collections, "MutableMapping", collections.abc.MutableMapping)  # noqa: B010 - mypy knows that it is gone
    sys.modules["zarr.blosc"] = zarr1_blosc
    sys.path.insert(0, str(Path(sys.prefix) / "source"))
    import zarr

    zarr.blosc = zarr1_blosc
    return zarr


zarr = _load()


def write(
    path: Path,
    array_path: str,
    data: npt.NDArray[Any],
    document: dict[str, Any] | None,
    attributes: dict[str, Any] | None = None,
    **arguments: Any,
) -> None:
    """Creates the array from a document, or from arguments of `zarr.create`, and writes all of it."""
    place = path / array_path
    place.mkdir(parents=True, exist_ok=True)
    if document is not None:
        (place / "meta").write_text(json.dumps(document))
        array = zarr.open(str(place), mode="r+")
    else:
        arguments = {"shape": data.shape, "chunks": data.shape, "dtype": data.dtype, **arguments}
        array = zarr.open(str(place), mode="w", **arguments)
    if attributes is not None:
        array.attrs.update(attributes)
    array[...] = data


def read(path: Path, array_path: str) -> Any:
    return np.asarray(zarr.open(str(path / array_path), mode="r")[...])


def resize(path: Path, array_path: str, shape: list[int]) -> None:
    zarr.open(str(path / array_path), mode="r+").resize(shape)


def describe(path: Path, node_path: str) -> dict[str, Any]:
    array = zarr.open(str(path / node_path), mode="r")
    shapes = {"shape": list(array.shape), "chunks": list(array.chunks), "dtype": pack_dtype(array.dtype)}
    fill = None if array.fill_value is None else pack(np.full((), array.fill_value, array.dtype))
    document = json.loads((path / node_path / "meta").read_text())
    return {
        "kind": "array",
        **shapes,
        "order": array.order,
        "fill_value": fill,
        "attributes": array.attrs.asdict(),
        "document": document,
    }
