"""`vlen-array`: arrays of one dimension and any length as the elements of an array."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.codecs.config_fields import check
from omnizarr.codecs.contract import BoundSerializer, Buffer, ChunkSpec, Serializer
from omnizarr.codecs.numcodecs_.base import Numcodec, dtype_name, to_typestr
from omnizarr.codecs.numcodecs_.filters.base import native
from omnizarr.codecs.numcodecs_.objects.items import check_kind, object_byte_spec
from omnizarr.errors import CodecError

__all__ = ["BoundVlenArray", "VlenArray"]

_COUNT = 4  # bytes
_LONGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class VlenArray(Numcodec, Serializer):
    """`{"id": "vlen-array", "dtype": "<i4"}`: the number of elements, then each as its length in bytes and its bytes.
    None is stored as an empty array, and so is the number 0, which zarr-python 2 takes for what nobody wrote."""

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
    """Every element comes back as an array of its own, in native byte order."""

    __slots__ = ("_count", "_native", "_shape", "_stored", "encoded")

    def __init__(self, spec: ChunkSpec, stored: np.dtype[Any]) -> None:
        self._shape = spec.shape
        self._count = math.prod(spec.shape)
        self._stored = stored
        self._native = native(stored)
        self.encoded = object_byte_spec()

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        parts: list[bytes] = [self._count.to_bytes(_COUNT, "little")]
        for item in array.reshape(-1):
            nothing = item is None or (type(item) is int and item == 0)
            try:
                element = np.asarray([] if nothing else item, self._stored)
            except (TypeError, ValueError, OverflowError) as error:
                raise CodecError("vlen-array", f"an element cannot be stored as {self._stored.str}: {error}") from None
            if element.ndim != 1:
                raise CodecError("vlen-array", f"elements have one dimension, and one has {element.ndim}")
            if element.nbytes > _LONGEST:
                raise CodecError("vlen-array", f"an element has {element.nbytes} bytes, more than {_LONGEST}")
            parts += (element.nbytes.to_bytes(_COUNT, "little"), element.tobytes())
        return b"".join(parts)

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        view = memoryview(data)
        found = int.from_bytes(view[:_COUNT], "little")
        if len(view) < _COUNT or found != self._count:
            raise CodecError("vlen-array", f"expected {self._count} elements, found {found}")
        if len(view) < _COUNT * (1 + self._count):
            raise CodecError("vlen-array", "the data are cut off")
        array = np.empty(self._count, object)
        at = _COUNT
        for index in range(self._count):
            start = at + _COUNT
            at = start + int.from_bytes(view[start - _COUNT : start], "little")
            if start > len(view) or at > len(view):
                raise CodecError("vlen-array", "the data are cut off")
            if (at - start) % self._stored.itemsize:
                raise CodecError("vlen-array", f"{at - start} bytes are no array of type {self._stored.str}")
            array[index] = np.frombuffer(view[start:at], self._stored).astype(self._native)
        if at != len(view):
            raise CodecError("vlen-array", f"{len(view) - at} bytes are left over")
        return array.reshape(self._shape)
