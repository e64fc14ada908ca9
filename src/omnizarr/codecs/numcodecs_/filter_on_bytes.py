"""A filter that stands behind bytes: in version 2 the filters are one list, in which an array codec may follow upon a
codec that gives bytes, and takes these for the elements that its configuration names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, Codec, check_size
from omnizarr.codecs.numcodecs_.filters.base import Filter, native
from omnizarr.errors import CodecError

__all__ = ["BoundFilterOnBytes", "FilterOnBytes"]


@dataclass(frozen=True, slots=True)
class FilterOnBytes(BytesCodec):
    """`filter`, taking bytes and giving bytes."""

    name: ClassVar[str] = "numcodecs.over_bytes"
    private: ClassVar[bool] = True
    filter: Filter

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Codec | None:
        raise AssertionError("it stands in no document; the filter does")

    def configuration(self) -> dict[str, Json]:
        return self.filter.configuration()

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundFilterOnBytes | None:
        filter = self.filter
        decoded, encoded = filter.decoded_dtype, filter.encoded_dtype
        if decoded is None or encoded is None:
            problems.add(path, f"`{filter.name}` takes an array, and cannot stand behind a codec that gives bytes")
            return None
        if spec.size is not None and spec.size % decoded.itemsize:
            problems.add(path, f"{spec.size} bytes cannot be divided into elements of type {decoded.str}")
            return None
        reason = filter.unsupported_reason(native(decoded))
        if reason is not None:
            problems.add(path, f"`{filter.name}` cannot be used: {reason}")
            return None
        return BoundFilterOnBytes(spec, filter, decoded, encoded)


class BoundFilterOnBytes(BoundBytesCodec):
    """Bytes in the byte orders that the filter's configuration names, on both sides."""

    __slots__ = ("_decoded", "_encoded", "_filter", "_spec", "encoded")

    def __init__(self, spec: ByteSpec, filter: Filter, decoded: np.dtype[Any], encoded: np.dtype[Any]) -> None:
        self._spec = spec
        self._filter = filter
        self._decoded = decoded
        self._encoded = encoded
        size = None if spec.size is None else self._length(spec.size)
        self.encoded = ByteSpec(size, self._length(spec.limit), encoded.itemsize)

    def _length(self, decoded: int) -> int:
        (count,) = self._filter.encoded_shape((decoded // self._decoded.itemsize,))
        return count * self._encoded.itemsize

    def encode(self, data: Buffer) -> Buffer:
        return self._apply(self._filter.encode_flat, data, self._decoded, self._encoded)

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        check_size(self._filter.id, self.encoded, len(data))
        decoded = self._apply(self._filter.decode_flat, data, self._encoded, self._decoded)
        check_size(self._filter.id, self._spec, len(decoded))
        return decoded

    def _apply(self, function: Any, data: Buffer, before: np.dtype[Any], after: np.dtype[Any]) -> Buffer:
        if len(data) % before.itemsize:
            raise CodecError(self._filter.id, f"{len(data)} bytes cannot be divided into elements of type {before.str}")
        try:
            with np.errstate(all="ignore"):
                elements = np.frombuffer(data, before).astype(native(before), copy=False)
                found = np.ascontiguousarray(function(elements), after)
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise CodecError(self._filter.id, str(error) or "not enough memory") from None
        return found.view(np.uint8).data
