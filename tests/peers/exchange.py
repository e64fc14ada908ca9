"""Arrays as JSON, exact to the bit and without pickles, for the exchange between tests and peers.

Both sides run this file, so it needs only NumPy (and ml_dtypes for the types of ml_dtypes).
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["pack", "pack_arguments", "pack_dtype", "unpack", "unpack_arguments", "unpack_dtype"]


def pack(array: npt.ArrayLike) -> dict[str, Any]:
    """An array as JSON: Python objects one by one, all other elements as raw memory in C order."""
    array = np.asarray(array)
    packed = {"dtype": pack_dtype(array.dtype), "shape": list(array.shape)}
    if packed["dtype"] != "object":
        if array.dtype.hasobject:
            raise TypeError("structures that hold Python objects cannot be exchanged")
        return {**packed, "data": base64.b64encode(array.tobytes()).decode()}
    items = [_pack_item(item) for item in array.ravel()]
    return {**packed, "items": items}


def unpack(packed: dict[str, Any]) -> npt.NDArray[Any]:
    """The array that was packed. Strings and bytes of variable length become Python objects."""
    shape = tuple(packed["shape"])
    if packed["dtype"] == "object":
        flat = np.empty(len(packed["items"]), object)
        for index, item in enumerate(packed["items"]):  # one by one: NumPy would take lists apart
            flat[index] = _unpack_item(item)
        return flat.reshape(shape)
    data = bytearray(base64.b64decode(packed["data"]))  # not bytes, so that the array is writable
    return np.frombuffer(data, unpack_dtype(packed["dtype"])).reshape(shape)


def pack_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments as JSON. Some, such as fill values, may be NumPy scalars, arrays, or bytes."""
    return {
        name: {"packed": pack(value)} if isinstance(value, (np.generic, np.ndarray, bytes)) else value
        for name, value in arguments.items()
    }


def unpack_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that were packed. Arrays without dimensions become scalars."""
    return {
        name: unpack(value["packed"])[()] if isinstance(value, dict) and value.keys() == {"packed"} else value
        for name, value in arguments.items()
    }


def _pack_item(item: Any) -> Any:
    """An element as JSON: a value that JSON supports as such, any other as an object that names its kind."""
    if item is None or isinstance(item, (str, bool)):
        return str(item) if isinstance(item, str) else item
    if isinstance(item, (bytes, bytearray)):
        return {"bytes": base64.b64encode(item).decode()}
    if isinstance(item, np.ndarray):
        return {"array": pack(item)}
    if isinstance(item, np.generic):
        return _pack_item(item.item())
    if isinstance(item, int):
        return item
    if isinstance(item, float):
        return {"float": item.hex()}
    if isinstance(item, (list, tuple)):
        return {"list": [_pack_item(one) for one in item]}
    if isinstance(item, dict):
        return {"dict": [[_pack_item(name), _pack_item(value)] for name, value in item.items()]}
    raise TypeError(f"an element of type {type(item).__name__} cannot be exchanged")


def _unpack_item(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    ((kind, value),) = item.items()
    if kind == "bytes":
        return base64.b64decode(value)
    if kind == "array":
        return unpack(value)
    if kind == "float":
        return float.fromhex(value)
    if kind == "list":
        return [_unpack_item(one) for one in value]
    return {_unpack_item(name): _unpack_item(one) for name, one in value}


def pack_dtype(dtype: np.dtype[Any]) -> Any:
    """A NumPy dtype as JSON."""
    if dtype.kind in "OT":
        return "object"
    if dtype.subdtype is not None:
        item, shape = dtype.subdtype
        return {"item": pack_dtype(item), "shape": list(shape)}
    if dtype.fields is not None:
        assert dtype.names is not None
        fields = [[name, pack_dtype(dtype.fields[name][0])] for name in dtype.names]
        if unpack_dtype(fields) == dtype:
            return fields
        return {"fields": fields, "offsets": [dtype.fields[name][1] for name in dtype.names], "size": dtype.itemsize}
    if dtype.type.__module__.partition(".")[0] == "ml_dtypes":
        return {"ml_dtypes": dtype.name}
    return dtype.str


def unpack_dtype(packed: Any) -> np.dtype[Any]:
    """The dtype that was packed."""
    if isinstance(packed, list):
        return np.dtype([(name, unpack_dtype(field)) for name, field in packed])
    if isinstance(packed, dict) and "item" in packed:
        return np.dtype((unpack_dtype(packed["item"]), tuple(packed["shape"])))
    if isinstance(packed, dict) and "fields" in packed:  # padding between the fields
        spec: Any = {"offsets": packed["offsets"], "itemsize": packed["size"]}
        spec["names"] = [name for name, _ in packed["fields"]]
        spec["formats"] = [unpack_dtype(field) for _, field in packed["fields"]]
        padded: np.dtype[Any] = np.dtype(spec)
        return padded
    if isinstance(packed, dict):
        import ml_dtypes

        packed = getattr(ml_dtypes, packed["ml_dtypes"])
    simple: np.dtype[Any] = np.dtype(packed)
    return simple
