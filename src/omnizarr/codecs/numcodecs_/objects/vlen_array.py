"""`vlen-array`: elements that are one-dimensional arrays of variable length."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.codecs.config_members import check
from omnizarr.codecs.contract import BoundSerializer, Buffer, ChunkSpec, Serializer
from omnizarr.codecs.numcodecs_.base import Numcodec, dtype_name, to_typestr
from omnizarr.codecs.numcodecs_.filters.base import native
from omnizarr.codecs.numcodecs_.objects.items import check_kind, object_byte_spec
from omnizarr.errors import CodecError

__all__ = ["BoundVlenArray", "VlenArray"]

_LENGTH_SIZE = 4  # bytes
_MAX_BYTES = 2**31 - 1


@dataclass(frozen=True, slots=True)
class VlenArray(Numcodec, Serializer):
    """`{"id": "vlen-array", "dtype": "<i4"}`: the number of elements, then the length in bytes and the bytes of each.
    None is stored as an empty array, and so is the number 0, the fill value of zarr-python 2."""

    name: ClassVar[str] = "numcodecs.vlen-array"
    id: ClassVar[str] = "vlen-array"
    private: ClassVar[bool] = True
    dtype: str = field(metadata=dtype_name("biufcmMSU", "a type such as `<i4`"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", to_typestr(self.dtype))
        check(self)

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundVlenArray | None:
        return BoundVlenArray(spec, np.dtype(self.dtype)) if check_kind(self.name, spec, path, problems, "O") else None


class BoundVlenArray(BoundSerializer):
    """A bound `VlenArray`. It decodes each element to an array in native byte order."""

    __slots__ = ("_count", "_native", "_shape", "_stored", "encoded")

    def __init__(self, spec: ChunkSpec, stored: np.dtype[Any]) -> None:
        self._shape = spec.shape
        self._count = math.prod(spec.shape)
        self._stored = stored
        self._native = native(stored)
        self.encoded = object_byte_spec()

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        parts: list[bytes] = [self._count.to_bytes(_LENGTH_SIZE, "little")]
        for item in array.reshape(-1):
            empty = item is None or (type(item) is int and item == 0)
            try:
                element = np.asarray([] if empty else item, self._stored)
            except (TypeError, ValueError, OverflowError) as error:
                raise CodecError("vlen-array", f"an element cannot be stored as {self._stored.str}: {error}") from None
            if element.ndim != 1:
                raise CodecError("vlen-array", f"expected elements of one dimension, found {element.ndim}")
            if element.nbytes > _MAX_BYTES:
                raise CodecError(
                    "vlen-array", f"expected elements of at most {_MAX_BYTES} bytes, found {element.nbytes}"
                )
            parts += (element.nbytes.to_bytes(_LENGTH_SIZE, "little"), element.tobytes())
        return b"".join(parts)

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        view = memoryview(data)
        count = int.from_bytes(view[:_LENGTH_SIZE], "little")
        if len(view) < _LENGTH_SIZE or count != self._count:
            raise CodecError("vlen-array", f"expected {self._count} elements, found {count}")
        if len(view) < _LENGTH_SIZE * (1 + self._count):
            raise CodecError("vlen-array", "the data are truncated")
        array = np.empty(self._count, object)
        at = _LENGTH_SIZE
        for index in range(self._count):
            start = at + _LENGTH_SIZE
            at = start + int.from_bytes(view[start - _LENGTH_SIZE : start], "little")
            if start > len(view) or at > len(view):
                raise CodecError("vlen-array", "the data are truncated")
            if (at - start) % self._stored.itemsize:
                raise CodecError(
                    "vlen-array", f"expected whole elements of type {self._stored.str}, found {at - start} bytes"
                )
            array[index] = np.frombuffer(view[start:at], self._stored).astype(self._native)
        if at != len(view):
            raise CodecError("vlen-array", f"expected no bytes after the last element, found {len(view) - at}")
        return array.reshape(self._shape)
