"""`BatchedCodecPipeline`, `FusedCodecPipeline`: lists of codecs that encode and decode chunks, outside of an array.

Arrays do not use it: the engine of omnizarr reads and writes their chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from omnizarr.compat.zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec, CodecPipeline

__all__ = ["BatchedCodecPipeline", "FusedCodecPipeline", "codecs_from_list"]


def codecs_from_list(codecs: Iterable[Any]) -> tuple[tuple[Any, ...], Any, tuple[Any, ...]]:
    """The array → array codecs, the array → bytes codec and the bytes → bytes codecs of a list."""
    arrays: list[Any] = []
    serializers: list[Any] = []
    compressors: list[Any] = []
    for codec in codecs:
        if isinstance(codec, ArrayArrayCodec):
            stage, after = arrays, bool(serializers or compressors)
        elif isinstance(codec, ArrayBytesCodec):
            stage, after = serializers, bool(compressors)
        elif isinstance(codec, BytesBytesCodec):
            stage, after = compressors, False
        else:
            raise TypeError(f"Expected a codec, got {type(codec)}")
        if after:
            raise TypeError(f"Invalid codec order: {codec!r} must come before the codecs that encode bytes.")
        stage.append(codec)
    if len(serializers) != 1:
        raise ValueError(f"Expected exactly one ArrayBytesCodec, got {len(serializers)}.")
    return tuple(arrays), serializers[0], tuple(compressors)


@dataclass(frozen=True)
class BatchedCodecPipeline(CodecPipeline):
    """Codecs in the order in which they encode."""

    array_array_codecs: tuple[Any, ...]
    array_bytes_codec: Any
    bytes_bytes_codecs: tuple[Any, ...]

    @classmethod
    def from_codecs(cls, codecs: Iterable[Any]) -> Self:
        return cls(*codecs_from_list(codecs))

    def __iter__(self) -> Iterator[Any]:
        return iter((*self.array_array_codecs, self.array_bytes_codec, *self.bytes_bytes_codecs))

    def evolve_from_array_spec(self, array_spec: Any) -> Self:
        codecs = []
        for codec in self:
            evolved = codec.evolve_from_array_spec(array_spec)
            codecs.append(evolved)
            array_spec = evolved.resolve_metadata(array_spec)
        return type(self).from_codecs(codecs)

    def _specs(self, spec: Any) -> list[tuple[Any, Any]]:
        """The codecs with what each knows about a chunk."""
        pairs = []
        for codec in self:
            pairs.append((codec, spec))
            spec = codec.resolve_metadata(spec)
        return pairs

    async def encode(self, chunk_arrays_and_specs: Iterable[tuple[Any, Any]]) -> list[Any]:
        encoded = []
        for data, spec in chunk_arrays_and_specs:
            for codec, own in self._specs(spec):
                data = None if data is None else await codec._encode_single(data, own)
            encoded.append(data)
        return encoded

    async def decode(self, chunk_bytes_and_specs: Iterable[tuple[Any, Any]]) -> list[Any]:
        decoded = []
        for data, spec in chunk_bytes_and_specs:
            for codec, own in reversed(self._specs(spec)):
                data = None if data is None else await codec._decode_single(data, own)
            decoded.append(data)
        return decoded

    def compute_encoded_size(self, byte_length: int, array_spec: Any) -> int:
        for codec, own in self._specs(array_spec):
            byte_length = codec.compute_encoded_size(byte_length, own)
        return byte_length

    def validate(self, *, shape: Any, dtype: Any, chunk_grid: Any) -> None:
        for codec in self:
            codec.validate(shape=shape, dtype=dtype, chunk_grid=chunk_grid)


class FusedCodecPipeline(BatchedCodecPipeline):
    """The same under another name, because programs compare the name with the setting `codec_pipeline.path`."""
