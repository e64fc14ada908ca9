"""`ArrayCodecOnBytes`: an array codec that follows a codec with bytes as output, which the draft of 2022 allows (S34).

The codec receives the bytes as a one-dimensional array of type uint8.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.array_to_bytes.bytes_ import Bytes
from omnizarr.codecs.contract import (
    ArrayCodec,
    BoundArrayCodec,
    BoundBytesCodec,
    BoundSerializer,
    Buffer,
    BytesCodec,
    ByteSpec,
    ChunkSpec,
    Codec,
    Serializer,
    check_size,
)
from omnizarr.codecs.third_party import wrap_third_party
from omnizarr.errors import CodecError

__all__ = ["ArrayCodecOnBytes", "BoundArrayCodecOnBytes"]

_BYTES = np.dtype(np.uint8)


@dataclass(frozen=True, slots=True)
class ArrayCodecOnBytes(BytesCodec):
    """An array → array or array → bytes codec as a bytes → bytes codec."""

    name: ClassVar[str] = "omnizarr.array_codec_on_bytes"
    private: ClassVar[bool] = True
    codec: ArrayCodec | Serializer

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Codec | None:
        raise AssertionError("documents contain the codec itself, never ArrayCodecOnBytes")

    def configuration(self) -> dict[str, Json]:
        return self.codec.configuration()

    def resolved(self, itemsize: int) -> ArrayCodecOnBytes:
        codec = self.codec
        return ArrayCodecOnBytes(codec.resolved(1).completed(_BYTES)) if isinstance(codec, ArrayCodec) else self

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundArrayCodecOnBytes | None:
        name = self.codec.name
        if spec.size is None:
            problems.add(
                path, f"codec `{name}` needs an array of a known size, but follows a codec whose output varies in size"
            )
            return None
        array = ChunkSpec((spec.size,), _BYTES, np.zeros((), _BYTES))
        bound = self.codec.bind(array, path, problems)
        if bound is None:
            return None
        if isinstance(bound, BoundSerializer):
            return BoundArrayCodecOnBytes(name, spec, None, wrap_third_party(name, bound, array))
        # Elements have their default binary representation, which is little-endian (S16, S34).
        serializer = Bytes("little").bind(bound.encoded, path, problems)
        if serializer is None:
            return None
        return BoundArrayCodecOnBytes(name, spec, wrap_third_party(name, bound, array), serializer)


class BoundArrayCodecOnBytes(BoundBytesCodec):
    """A bound `ArrayCodecOnBytes`."""

    __slots__ = ("_array_codec", "_name", "_serializer", "_spec", "encoded")

    def __init__(
        self, name: str, spec: ByteSpec, array_codec: BoundArrayCodec | None, serializer: BoundSerializer
    ) -> None:
        self._name = name
        self._spec = spec
        self._array_codec = array_codec
        self._serializer = serializer
        self.encoded = serializer.encoded

    def encode(self, data: Buffer) -> Buffer:
        array = np.frombuffer(data, np.uint8)
        return self._serializer.encode(array if self._array_codec is None else self._array_codec.encode(array))

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        array = self._serializer.decode(data)
        if self._array_codec is not None:
            array = self._array_codec.decode(array)
        check_size(self._name, self._spec, prod(array.shape))
        if array.dtype != np.uint8:
            raise CodecError(self._name, f"expected elements of type uint8, found {array.dtype}")
        return np.ascontiguousarray(array).data
