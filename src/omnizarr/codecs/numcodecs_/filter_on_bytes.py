"""`FilterOnBytes`: an array filter that follows a codec with bytes as output.

The filter list of v2 allows this. The filter interprets the bytes as elements of the type in its configuration.
"""

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
    """An array filter as a bytes → bytes codec."""

    name: ClassVar[str] = "numcodecs.over_bytes"
    private: ClassVar[bool] = True
    filter: Filter

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Codec | None:
        raise AssertionError("documents contain the filter itself, never FilterOnBytes")

    def configuration(self) -> dict[str, Json]:
        return self.filter.configuration()

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundFilterOnBytes | None:
        filter = self.filter
        decoded, encoded = filter.decoded_dtype, filter.encoded_dtype
        if decoded is None or encoded is None:
            problems.add(path, f"codec `{filter.name}` encodes arrays and cannot follow a codec with bytes as output")
            return None
        if spec.size is not None and spec.size % decoded.itemsize:
            problems.add(
                path, f"codec `{filter.name}`: expected whole elements of type {decoded.str}, found {spec.size} bytes"
            )
            return None
        reason = filter.unsupported_reason(native(decoded))
        if reason is not None:
            problems.add(path, f"codec `{filter.name}` does not support its own `dtype` {decoded.str}: {reason}")
            return None
        return BoundFilterOnBytes(spec, filter, decoded, encoded)


class BoundFilterOnBytes(BoundBytesCodec):
    """A bound `FilterOnBytes`. Input and output have the byte orders of the filter's configuration."""

    __slots__ = ("_decoded", "_encoded", "_filter", "_spec", "encoded")

    def __init__(self, spec: ByteSpec, filter: Filter, decoded: np.dtype[Any], encoded: np.dtype[Any]) -> None:
        self._spec = spec
        self._filter = filter
        self._decoded = decoded
        self._encoded = encoded
        size = None if spec.size is None else self._encoded_size(spec.size)
        self.encoded = ByteSpec(size, self._encoded_size(spec.limit), encoded.itemsize)

    def _encoded_size(self, size: int) -> int:
        (count,) = self._filter.encoded_shape((size // self._decoded.itemsize,))
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
            raise CodecError(self._filter.id, f"expected whole elements of type {before.str}, found {len(data)} bytes")
        try:
            with np.errstate(all="ignore"):
                elements = np.frombuffer(data, before).astype(native(before), copy=False)
                result = np.ascontiguousarray(function(elements), after)
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise CodecError(self._filter.id, str(error) or "not enough memory") from None
        return result.view(np.uint8).data
