"""Data types that zarr-python 3 wrote under its own names: `structured`, before `struct` was registered, and
`raw_bytes`. We read them and keep them in existing documents, but never write them for a new array (R150, A47)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from omnizarr._json import Json, Problems, from_base64
from omnizarr.codecs import Bytes, Codec, Sharding
from omnizarr.codecs.array_to_bytes.bytes_ import has_byte_order
from omnizarr.dtypes import DataType, Scalar

__all__ = ["has_zarr_python_name", "is_structured", "parse_packed_fill", "with_byte_order"]

_NAMES = ("structured", "raw_bytes")


def is_structured(data_type: Json) -> bool:
    """Whether a `data_type` member is `structured`, the earlier name of `struct`."""
    return isinstance(data_type, dict) and data_type.get("name") == "structured"


def has_zarr_python_name(data_type: Json) -> bool:
    """Whether a `data_type` member, or a field in it, has one of these names."""
    if isinstance(data_type, dict):
        return data_type.get("name") in _NAMES or any(map(has_zarr_python_name, data_type.values()))
    return isinstance(data_type, list) and any(map(has_zarr_python_name, data_type))


def with_byte_order(codecs: tuple[Codec, ...], data_type: DataType, problems: Problems) -> tuple[Codec, ...]:
    """The codecs of a `structured` array. If `bytes` has no byte order, zarr-python means little-endian."""
    if not has_byte_order(data_type.dtype):
        return codecs
    completed = tuple(map(_with_endian, codecs))
    if completed != codecs:
        problems.warn(
            "$.codecs", "`bytes` has no byte order for `structured` elements: little-endian is assumed", rule="R150"
        )
    return completed


def _with_endian(codec: Codec) -> Codec:
    if isinstance(codec, Sharding):
        return replace(codec, codecs=tuple(map(_with_endian, codec.codecs)))
    return Bytes("little") if codec == Bytes() else codec


def parse_packed_fill(
    value: str, codecs: tuple[Codec, ...], data_type: DataType, path: str, problems: Problems
) -> Scalar | None:
    """A fill value that is the base64 of an element's bytes, in the byte order of the codec `bytes`."""
    data = from_base64(value)
    if data is None:
        problems.expected(path, "base64 text, or an object with a member for each field", value, rule="R150")
        return None
    from omnizarr.dtypes import fill_from_bytes  # lazy import: it loads the types of v2

    return fill_from_bytes(data, data_type.dtype.newbyteorder(_endian(codecs) or "little"), path, problems)


def _endian(codecs: tuple[Codec, ...]) -> Literal["little", "big"] | None:
    for codec in codecs:
        if isinstance(codec, Sharding):
            return _endian(codec.codecs)
        if isinstance(codec, Bytes):
            return codec.endian
    return None
