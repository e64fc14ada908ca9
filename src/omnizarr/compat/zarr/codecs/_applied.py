"""Encoding and decoding single chunks with omnizarr's codecs."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from omnizarr._json import Problems
from omnizarr.codecs import ByteSpec, ChunkSpec, codec_of
from omnizarr.errors import CodecError

__all__ = ["Applied", "AppliedArrayArray", "AppliedArrayBytes", "AppliedBytesBytes"]

_LIMIT = 2**40  # these calls know no limit of the decoded size; omnizarr's own reads do


def plain_json(document: Any) -> Any:
    """A document whose tuples are lists."""
    if isinstance(document, dict):
        return {name: plain_json(value) for name, value in document.items()}
    return [plain_json(value) for value in document] if isinstance(document, (list, tuple)) else document


def _bind(codec: Any, spec: Any) -> Any:
    problems = Problems()
    own: Any = codec_of(plain_json(codec.to_dict()), "codec")
    bound = own.bind(spec, "codec", problems)
    if bound is None or problems:
        raise CodecError(own.name, "; ".join(map(str, problems.found)) or "does not fit the chunk")
    return bound


def _spec(chunk_spec: Any) -> ChunkSpec:
    dtype = chunk_spec.dtype.to_native_dtype()
    fill = np.empty((), dtype)
    fill[()] = chunk_spec.dtype.default_scalar() if chunk_spec.fill_value is None else chunk_spec.fill_value
    return ChunkSpec(chunk_spec.shape, dtype, fill)


class Applied:
    """A codec that omnizarr implements, with the coroutines that zarr-python's codecs have."""

    def _encode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        raise NotImplementedError

    def _decode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        raise NotImplementedError

    async def _encode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return await asyncio.to_thread(self._encode_sync, chunk_data, chunk_spec)

    async def _decode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return await asyncio.to_thread(self._decode_sync, chunk_data, chunk_spec)


class AppliedArrayArray(Applied):
    """Encodes arrays to arrays."""

    def _encode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        encoded = _bind(self, _spec(chunk_spec)).encode(chunk_data.as_numpy_array())
        return chunk_spec.prototype.nd_buffer.from_numpy_array(encoded)

    def _decode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        decoded = _bind(self, _spec(chunk_spec)).decode(chunk_data.as_numpy_array())
        return chunk_spec.prototype.nd_buffer.from_numpy_array(decoded)


class AppliedArrayBytes(Applied):
    """Encodes arrays to bytes."""

    def _encode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        encoded = _bind(self, _spec(chunk_spec)).encode(chunk_data.as_numpy_array())
        return chunk_spec.prototype.buffer.from_bytes(bytes(encoded))

    def _decode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        decoded = _bind(self, _spec(chunk_spec)).decode(chunk_data.to_bytes())
        return chunk_spec.prototype.nd_buffer.from_numpy_array(decoded)


class AppliedBytesBytes(Applied):
    """Encodes bytes to bytes."""

    def _encode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        data = chunk_data.to_bytes()
        encoded = _bind(self, ByteSpec(len(data), len(data))).encode(data)
        return chunk_spec.prototype.buffer.from_bytes(bytes(encoded))

    def _decode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        decoded = _bind(self, ByteSpec(None, _LIMIT)).decode(chunk_data.to_bytes())
        return chunk_spec.prototype.buffer.from_bytes(bytes(decoded))
