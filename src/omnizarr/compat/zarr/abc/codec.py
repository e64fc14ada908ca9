"""Base classes of codecs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from omnizarr.compat.zarr.abc.metadata import Metadata

__all__ = ["ArrayArrayCodec", "ArrayBytesCodec", "BytesBytesCodec", "Codec", "CodecPipeline"]

I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741


class BaseCodec(Metadata, Generic[I, O]):
    """Encodes and decodes chunks. A subclass defines `_encode_single` and `_decode_single`."""

    is_fixed_size: bool = False

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        """The size of an encoded chunk, for codecs that do not compress."""
        raise NotImplementedError

    def resolve_metadata(self, chunk_spec: Any) -> Any:
        """What the next codec knows about a chunk."""
        return chunk_spec

    def evolve_from_array_spec(self, array_spec: Any) -> Self:
        """The codec with all parameters set for an array."""
        return self

    def validate(self, *, shape: Any, dtype: Any, chunk_grid: Any) -> None:
        """Raises if the codec does not fit an array."""

    async def _decode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        raise NotImplementedError

    async def _encode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        raise NotImplementedError

    async def decode(self, chunks_and_specs: Iterable[tuple[Any, Any]]) -> Iterable[Any]:
        """Decodes chunks."""
        return [None if data is None else await self._decode_single(data, spec) for data, spec in chunks_and_specs]

    async def encode(self, chunks_and_specs: Iterable[tuple[Any, Any]]) -> Iterable[Any]:
        """Encodes chunks."""
        return [None if data is None else await self._encode_single(data, spec) for data, spec in chunks_and_specs]


class ArrayArrayCodec(BaseCodec[Any, Any]):
    """Turns an array into an array."""


class ArrayBytesCodec(BaseCodec[Any, Any]):
    """Turns an array into bytes."""


class BytesBytesCodec(BaseCodec[Any, Any]):
    """Turns bytes into bytes."""


Codec = ArrayArrayCodec | ArrayBytesCodec | BytesBytesCodec


class ArrayBytesCodecPartialDecodeMixin:
    """A codec that decodes parts of a chunk."""


class ArrayBytesCodecPartialEncodeMixin:
    """A codec that encodes parts of a chunk."""


class CodecPipeline:
    """A list of codecs. A subclass defines all methods."""

    @classmethod
    def from_codecs(cls, codecs: Iterable[Any]) -> Self:
        """The pipeline of a list of codecs."""
        raise NotImplementedError

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: Any, store: Any) -> Self:
        """The pipeline of an array."""
        raise NotImplementedError(f"{cls.__name__} does not implement from_array_metadata_and_store")

    def evolve_from_array_spec(self, array_spec: Any) -> Self:
        """The pipeline with all parameters set for an array."""
        raise NotImplementedError

    @property
    def supports_partial_decode(self) -> bool:
        """Whether parts of a chunk can be decoded."""
        return False

    @property
    def supports_partial_encode(self) -> bool:
        """Whether parts of a chunk can be encoded."""
        return False

    def validate(self, *, shape: Any, dtype: Any, chunk_grid: Any) -> None:
        """Raises if a codec does not fit an array."""
        raise NotImplementedError

    def compute_encoded_size(self, byte_length: int, array_spec: Any) -> int:
        """The size of an encoded chunk, for codecs that do not compress."""
        raise NotImplementedError

    async def decode(self, chunk_bytes_and_specs: Iterable[tuple[Any, Any]]) -> Iterable[Any]:
        """Decodes chunks."""
        raise NotImplementedError

    async def encode(self, chunk_arrays_and_specs: Iterable[tuple[Any, Any]]) -> Iterable[Any]:
        """Encodes chunks."""
        raise NotImplementedError

    async def read(self, batch_info: Iterable[Any], out: Any, drop_axes: tuple[int, ...] = ()) -> Any:
        """Reads chunks into `out`."""
        raise NotImplementedError

    async def write(self, batch_info: Iterable[Any], value: Any, drop_axes: tuple[int, ...] = ()) -> None:
        """Writes chunks."""
        raise NotImplementedError


CodecJSON_V2: TypeAlias = Any
CodecJSON_V3: TypeAlias = Any
CodecInput = TypeVar("CodecInput")
CodecOutput = TypeVar("CodecOutput")


@runtime_checkable
class SupportsSyncCodec(Protocol):
    """A codec that also encodes and decodes without coroutines."""

    def _decode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any: ...
    def _encode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any: ...
