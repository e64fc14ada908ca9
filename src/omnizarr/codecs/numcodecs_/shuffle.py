"""`shuffle`: the first bytes of all elements, then all second bytes, and so on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.config_fields import check, integer, or_null, read_config
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, check_size
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.errors import CodecError

__all__ = ["BoundShuffle", "Shuffle"]

_MOST_STRIDES = 64
"""How many bytes of an element are moved one by one; a transposed copy of a whole array is slower for few of them (a
quarter of the speed for 4)."""


@dataclass(frozen=True, slots=True)
class Shuffle(Numcodec, BytesCodec):
    """`{"id": "shuffle", "elementsize": 4}`. Left None, it is the size of the array's elements, as in zarr-python 3; in
    version 2 a missing one is 4."""

    name: ClassVar[str] = "numcodecs.shuffle"
    id: ClassVar[str] = "shuffle"
    elementsize: int | None = field(default=None, metadata=or_null(integer(0, 2**31 - 1, optional=True)))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def from_config(cls, config: dict[str, Json], path: str, problems: Problems) -> Self | None:
        config = {"elementsize": 4, **config}
        if config["elementsize"] == 0:  # netCDF writes so where it shuffles elements of the array's type
            config["elementsize"] = None
        return cls._create(read_config(cls, config, path, problems), path, problems)

    def configuration(self) -> dict[str, Json]:
        return {} if self.elementsize is None else {"elementsize": self.elementsize}

    def to_config(self) -> dict[str, Json]:
        return {"elementsize": 4 if self.elementsize is None else self.elementsize}

    def resolved(self, itemsize: int) -> Shuffle:
        return self if self.elementsize is not None else replace(self, elementsize=itemsize)

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundShuffle | None:
        size = max(1, spec.itemsize if self.elementsize is None else self.elementsize)
        if spec.size is not None and spec.size % size:
            problems.add(
                f"{path}.configuration.elementsize", f"{spec.size} bytes cannot be divided into elements of {size}"
            )
            return None
        return BoundShuffle(spec, size)


class BoundShuffle(BoundBytesCodec):
    """Moves bytes, and changes none."""

    pace = 2000

    __slots__ = ("_element", "_spec", "encoded")

    def __init__(self, spec: ByteSpec, element: int) -> None:
        self._spec = spec
        self._element = element
        self.encoded = ByteSpec(spec.size, spec.limit)

    def encode(self, data: Buffer) -> Buffer:
        return self._reorder(data, None, forth=True)

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        check_size("shuffle", self._spec, len(data))
        return self._reorder(data, out, forth=False)

    def _reorder(self, data: Buffer, out: memoryview | None, *, forth: bool) -> Buffer:
        size = self._element
        if len(data) % size:
            raise CodecError("shuffle", f"{len(data)} bytes cannot be divided into elements of {size}")
        if size == 1:
            return data
        source = np.frombuffer(data, np.uint8)
        room = out if out is not None and len(out) == len(data) else np.empty(len(data), np.uint8).data
        target = np.frombuffer(room, np.uint8)
        elements, planes = (source, target) if forth else (target, source)
        elements, planes = elements.reshape(-1, size), planes.reshape(size, len(data) // size)
        if size > _MOST_STRIDES:
            if forth:
                planes[...] = elements.T
            else:
                elements[...] = planes.T
        else:
            for byte in range(size):
                if forth:
                    planes[byte] = elements[:, byte]
                else:
                    elements[:, byte] = planes[byte]
        return room
