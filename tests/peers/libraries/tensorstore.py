"""TensorStore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorstore

from tests.peers.exchange import pack_dtype

__all__ = ["UNSUPPORTED", "describe", "read", "write"]

UNSUPPORTED = (
    "is not one of the supported data types",
    "is not registered",
    "Unsupported zarr dtype",
    "No storage transformers supported",
    'Expected "regular"',
    'Expected one of "default", "v2"',
    "Expected base64-encoded string for raw_bytes",  # no specification has its spelling of the fill value of r*
    "Expected object, but received: ",  # the short form of 3.1
    "UNIMPLEMENTED",
)


def _spec(place: Path, version: int | str, **members: Any) -> dict[str, Any]:
    driver = {2: "zarr", 3: "zarr3", "n5": "n5"}[version]
    return {"driver": driver, "kvstore": {"driver": "file", "path": f"{place}/"}, **members}


def _open(place: Path, **members: Any) -> Any:
    version: int | str = 3 if (place / "zarr.json").exists() else "n5" if _is_n5(place) else 2
    array = tensorstore.open(_spec(place, version, **members), open=True).result()
    return array.T if version == "n5" else array  # its dimensions are those of the document, in reverse


def _is_n5(place: Path) -> bool:
    return (place / "attributes.json").exists()


def _fields(place: Path) -> list[str]:
    """The fields of a structured array, which TensorStore opens one at a time."""
    if _is_n5(place):
        return []
    if not (place / "zarr.json").exists():
        dtype = json.loads((place / ".zarray").read_text())["dtype"]
        return [name for name, *_ in dtype] if isinstance(dtype, list) else []
    data_type = json.loads((place / "zarr.json").read_text()).get("data_type")
    if not isinstance(data_type, dict) or data_type.get("name") != "struct":
        return []
    return [field["name"] for field in data_type["configuration"]["fields"]]


def write(path: Path, array_path: str, data: npt.NDArray[Any], document: dict[str, Any]) -> None:
    place = path / array_path
    fields = data.dtype.names or ()
    first = {"field": fields[0]} if fields else {}
    version = document.get("zarr_format", "n5")
    array = tensorstore.open(_spec(place, version, metadata=document, **first), create=True).result()
    array = array.T if version == "n5" else array
    if not fields:
        array.write(data).result()
    for field in fields:
        _open(place, field=field).write(data[field]).result()


def read(path: Path, array_path: str) -> Any:
    place = path / array_path
    fields = _fields(place)
    if not fields:
        return _elements(_open(place))
    columns = {field: _elements(_open(place, field=field)) for field in fields}
    rank = min(column.ndim for column in columns.values())  # fields that are arrays have more dimensions
    shape = columns[fields[0]].shape[:rank]
    table = np.empty(shape, [(field, column.dtype, column.shape[rank:]) for field, column in columns.items()])
    for field, column in columns.items():
        table[field] = column
    return table


class _Memory:
    """The memory of an array, as an array of single bytes."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "typestr": "|u1"}


def _elements(array: Any) -> Any:
    """All elements of an array. TensorStore returns fixed-length bytes one by one, in an extra dimension and with a
    type of size 0, which NumPy cannot use."""
    found = array.read().result()
    if found.dtype.itemsize:
        return found
    letters = np.ascontiguousarray(np.asarray(_Memory(found)))
    return letters.view(f"{found.dtype.kind}{letters.shape[-1]}")[..., 0]


def describe(path: Path, node_path: str) -> dict[str, Any]:
    fields = _fields(path / node_path)
    array = _open(path / node_path, **({"field": fields[0]} if fields else {}))
    document = array.spec(retain_context=False).to_json()["metadata"]
    return {
        "kind": "array",
        "shape": list(array.shape),
        "chunks": list(array.chunk_layout.read_chunk.shape),
        "dtype": pack_dtype(array.dtype.numpy_dtype),
        "attributes": document.get("attributes", {}),
        "document": document,
    }
