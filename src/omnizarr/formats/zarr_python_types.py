"""What zarr-python wrote before `struct` was registered, and what it calls raw bits: read, kept as it is where it lies,
and never given to a new array (R150, A47)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from omnizarr._json import Json, Problems, from_base64
from omnizarr.codecs import Bytes, Codec, Sharding
from omnizarr.codecs.array_to_bytes.bytes_ import has_byte_order
from omnizarr.dtypes import DataType, Scalar, fill_from_bytes

__all__ = ["has_old_name", "is_structured", "parse_packed_fill", "with_byte_order"]

_OLD = ("structured", "raw_bytes")


def is_structured(data_type: Json) -> bool:
    """Whether a `data_type` member is what `struct` was before it was registered."""
    return isinstance(data_type, dict) and data_type.get("name") == "structured"


def has_old_name(data_type: Json) -> bool:
    """Whether a `data_type` member, or a field in it, has a name that its writer knows and others need not."""
    if isinstance(data_type, dict):
        return data_type.get("name") in _OLD or any(map(has_old_name, data_type.values()))
    return isinstance(data_type, list) and any(map(has_old_name, data_type))


def with_byte_order(codecs: tuple[Codec, ...], data_type: DataType, problems: Problems) -> tuple[Codec, ...]:
    """The codecs of such an array, whose `bytes` need not say the byte order: it is little then."""
    if not has_byte_order(data_type.dtype):
        return codecs
    found = tuple(map(_ordered, codecs))
    if found != codecs:
        problems.warn("$.codecs", "`bytes` does not say the byte order of `structured` elements: read as little-endian")
    return found


def _ordered(codec: Codec) -> Codec:
    if isinstance(codec, Sharding):
        return replace(codec, codecs=tuple(map(_ordered, codec.codecs)))
    return Bytes("little") if codec == Bytes() else codec


def parse_packed_fill(
    value: str, codecs: tuple[Codec, ...], data_type: DataType, path: str, problems: Problems
) -> Scalar | None:
    """A fill value that is base64 text of the bytes of an element, in the byte order of `bytes`."""
    data = from_base64(value)
    if data is None:
        problems.expected(path, "base64 text, or an object with a member for each field", value)
        return None
    return fill_from_bytes(data, data_type.dtype.newbyteorder(_endian(codecs) or "little"), path, problems)


def _endian(codecs: tuple[Codec, ...]) -> Literal["little", "big"] | None:
    for codec in codecs:
        if isinstance(codec, Sharding):
            return _endian(codec.codecs)
        if isinstance(codec, Bytes):
            return codec.endian
    return None
