"""Arrays as they travel between the tests and a peer: plain JSON, exact to the bit, without pickles.

Both sides run this file, so it needs no more than NumPy (and ml_dtypes for the types that only ml_dtypes has).
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["pack", "pack_dtype", "unpack", "unpack_dtype"]


def pack(array: npt.ArrayLike) -> dict[str, Any]:
    """An array as JSON. Strings and bytes of any length travel as such, all else as raw memory in C order."""
    array = np.asarray(array)
    packed = {"dtype": pack_dtype(array.dtype), "shape": list(array.shape)}
    if packed["dtype"] != "object":
        return {**packed, "data": base64.b64encode(array.tobytes()).decode()}
    items = [_pack_item(item) for item in array.ravel()]
    return {**packed, "items": items}


def unpack(packed: dict[str, Any]) -> npt.NDArray[Any]:
    """The array that was packed; variable-length strings and bytes come back as Python objects."""
    shape = tuple(packed["shape"])
    if packed["dtype"] == "object":
        array = np.empty(shape, object)
        array.ravel()[:] = [_unpack_item(item) for item in packed["items"]]
        return array
    data = bytearray(base64.b64decode(packed["data"]))  # not bytes, so that the array can be written to
    return np.frombuffer(data, unpack_dtype(packed["dtype"])).reshape(shape)


def _pack_item(item: object) -> Any:
    return {"bytes": base64.b64encode(item).decode()} if isinstance(item, bytes) else str(item)


def _unpack_item(item: Any) -> str | bytes:
    return base64.b64decode(item["bytes"]) if isinstance(item, dict) else str(item)


def pack_dtype(dtype: np.dtype[Any]) -> Any:
    """A NumPy dtype as JSON."""
    if dtype.kind in "OT":
        return "object"
    if dtype.subdtype is not None:
        item, shape = dtype.subdtype
        return {"item": pack_dtype(item), "shape": list(shape)}
    if dtype.fields is not None:
        assert dtype.names is not None
        return [[name, pack_dtype(dtype.fields[name][0])] for name in dtype.names]
    if dtype.type.__module__.partition(".")[0] == "ml_dtypes":
        return {"ml_dtypes": dtype.name}
    return dtype.str


def unpack_dtype(packed: Any) -> np.dtype[Any]:
    """The dtype that was packed; structures come back without padding."""
    if isinstance(packed, list):
        return np.dtype([(name, unpack_dtype(field)) for name, field in packed])
    if isinstance(packed, dict) and "item" in packed:
        return np.dtype((unpack_dtype(packed["item"]), tuple(packed["shape"])))
    if isinstance(packed, dict):
        import ml_dtypes

        packed = getattr(ml_dtypes, packed["ml_dtypes"])
    simple: np.dtype[Any] = np.dtype(packed)
    return simple
