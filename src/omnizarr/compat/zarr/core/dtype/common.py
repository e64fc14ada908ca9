"""Traits of data types, and the warning about types that no specification describes."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from omnizarr.compat.zarr.errors import DataTypeValidationError, UnstableSpecificationWarning

__all__ = [
    "DataTypeValidationError",
    "HasEndianness",
    "HasItemSize",
    "HasLength",
    "HasObjectCodec",
    "UnstableSpecificationWarning",
]

EndiannessStr: TypeAlias = Literal["little", "big"]
ENDIANNESS_STR = ("little", "big")


class HasLength:
    """A data type with a length."""

    length: int


class HasEndianness:
    """A data type with a byte order."""

    endianness: str | None


class HasItemSize:
    """A data type whose elements have a fixed size."""

    @property
    def item_size(self) -> int:
        """The size of an element, in bytes."""
        raise NotImplementedError


class HasObjectCodec:
    """A data type of objects, which need a codec of their own in v2."""

    object_codec_id: str


def unpack_dtype_json(data: Any) -> Any:
    """The name in a JSON object for a data type of v2."""
    return data["name"] if isinstance(data, dict) and set(data) == {"name", "object_codec_id"} else data
