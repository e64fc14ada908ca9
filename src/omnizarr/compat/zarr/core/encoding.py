"""The default codecs and chunk keys of new arrays, as objects of this package."""

from __future__ import annotations

from typing import Any

from omnizarr.compat.zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from omnizarr.compat.zarr.codecs._classes import BytesCodec, VLenBytesCodec, VLenUTF8Codec, ZstdCodec, parse_codecs
from omnizarr.compat.zarr.core.chunk_key_encodings import ChunkKeyEncoding
from omnizarr.compat.zarr.core.dtype.common import HasEndianness, HasObjectCodec
from omnizarr.compat.zarr.core.metadata.v2 import parse_compressor, parse_filters

__all__ = ["default_filters_v2", "default_serializer_v3", "parse_chunk_encoding_v2", "parse_chunk_encoding_v3"]


def parse_chunk_key_encoding(data: Any, zarr_format: Any) -> Any:
    """The chunk key encoding that a user gives, or the default."""
    if data is None:
        data = {"name": "v2", "separator": "."} if zarr_format == 2 else {"name": "default", "separator": "/"}
    result = ChunkKeyEncoding.from_dict(data)
    if zarr_format == 2 and result.name != "v2":
        raise ValueError(
            "Invalid chunk key encoding. For Zarr format 2 arrays, the `name` field of the chunk key encoding must be "
            f"'v2'. Got `name` field={result.name!r}."
        )
    return result


def default_filters_v2(dtype: Any) -> tuple[Any, ...] | None:
    """The filters of a new v2 array."""
    return parse_filters([{"id": dtype.object_codec_id}]) if isinstance(dtype, HasObjectCodec) else None


def default_compressor_v2(dtype: Any) -> Any:
    """The compressor of a new v2 array."""
    return parse_compressor({"id": "zstd", "level": 0})


def default_serializer_v3(dtype: Any) -> Any:
    """The array → bytes codec of a new v3 array."""
    if isinstance(dtype, HasObjectCodec):
        return VLenBytesCodec() if dtype.object_codec_id == "vlen-bytes" else VLenUTF8Codec()
    return BytesCodec() if isinstance(dtype, HasEndianness) else BytesCodec(endian=None)


def default_compressors_v3(dtype: Any) -> tuple[Any, ...]:
    """The compressors of a new v3 array."""
    return (ZstdCodec(level=0, checksum=False),)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def parse_chunk_encoding_v2(*, compressor: Any, filters: Any, dtype: Any) -> tuple[Any, Any]:
    """The filters and the compressor that a user gives, or the defaults."""
    if compressor is None or compressor == ():
        new_compressor = None
    elif _is_auto(compressor):
        new_compressor = default_compressor_v2(dtype)
    elif isinstance(compressor, (tuple, list)) and len(compressor) == 1:
        new_compressor = parse_compressor(compressor[0])
    elif isinstance(compressor, (tuple, list)):
        raise ValueError(f"For Zarr format 2 arrays, the `compressor` must be a single codec. Got {compressor!r}.")
    else:
        new_compressor = parse_compressor(compressor)
    return (default_filters_v2(dtype) if _is_auto(filters) else parse_filters(filters)), new_compressor


def _as_list(value: Any) -> list[Any]:
    return [value] if isinstance(value, dict) or not isinstance(value, (list, tuple)) else list(value)


def _checked(codecs: tuple[Any, ...], kind: type, what: str) -> tuple[Any, ...]:
    for codec in codecs:
        if not isinstance(codec, kind):
            raise TypeError(f"Expected a representation of a {what}; got a representation of {type(codec)} instead.")
    return codecs


def parse_chunk_encoding_v3(*, compressors: Any, filters: Any, serializer: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """The filters, the serializer and the compressors that a user gives, or the defaults."""
    arrays = () if filters is None or _is_auto(filters) else parse_codecs(_as_list(filters))
    to_bytes = default_serializer_v3(dtype) if _is_auto(serializer) else parse_codecs([serializer])[0]
    if _is_auto(compressors):
        packed = default_compressors_v3(dtype)
    else:
        packed = () if compressors is None else parse_codecs(_as_list(compressors))
    return (
        _checked(arrays, ArrayArrayCodec, "ArrayArrayCodec"),
        _checked((to_bytes,), ArrayBytesCodec, "ArrayBytesCodec")[0],
        _checked(packed, BytesBytesCodec, "BytesBytesCodec"),
    )
