"""`shuffle`: stores the first bytes of all elements, then the second bytes, and so on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.config_members import check, integer, or_null, read_config
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, check_size
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.errors import CodecError

__all__ = ["BoundShuffle", "Shuffle"]

_MAX_LOOP = 64
"""Element size up to which a loop copies one byte position at a time. For small elements, a transposed copy of the
whole array is slower (a quarter of the speed for 4 bytes)."""


@dataclass(frozen=True, slots=True)
class Shuffle(Numcodec, BytesCodec):
    """`{"id": "shuffle", "elementsize": 4}`. None means the element size of the array, as in zarr-python 3. In v2
    documents, a missing `elementsize` means 4."""

    name: ClassVar[str] = "numcodecs.shuffle"
    id: ClassVar[str] = "shuffle"
    elementsize: int | None = field(default=None, metadata=or_null(integer(0, 2**31 - 1, optional=True)))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def from_config(cls, config: dict[str, Json], path: str, problems: Problems) -> Self | None:
        config = {"elementsize": 4, **config}
        if config["elementsize"] == 0:  # netCDF's value for the element size of the array
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
            problems.add(f"{path}.configuration.elementsize", f"expected a divisor of {spec.size} bytes, found {size}")
            return None
        return BoundShuffle(spec, size)


class BoundShuffle(BoundBytesCodec):
    """A bound `Shuffle`."""

    pace = 2000

    __slots__ = ("_element", "_spec", "encoded")

    def __init__(self, spec: ByteSpec, element: int) -> None:
        self._spec = spec
        self._element = element
        self.encoded = ByteSpec(spec.size, spec.limit)

    def encode(self, data: Buffer) -> Buffer:
        return self._reorder(data, None, shuffle=True)

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        check_size("shuffle", self._spec, len(data))
        return self._reorder(data, out, shuffle=False)

    def _reorder(self, data: Buffer, out: memoryview | None, *, shuffle: bool) -> Buffer:
        size = self._element
        if len(data) % size:
            raise CodecError("shuffle", f"expected whole elements of {size} bytes, found {len(data)} bytes")
        if size == 1:
            return data
        source = np.frombuffer(data, np.uint8)
        room = out if out is not None and len(out) == len(data) else np.empty(len(data), np.uint8).data
        target = np.frombuffer(room, np.uint8)
        elements, planes = (source, target) if shuffle else (target, source)
        elements, planes = elements.reshape(-1, size), planes.reshape(size, len(data) // size)
        if size > _MAX_LOOP:
            if shuffle:
                planes[...] = elements.T
            else:
                elements[...] = planes.T
        else:
            for byte in range(size):
                if shuffle:
                    planes[byte] = elements[:, byte]
                else:
                    elements[:, byte] = planes[byte]
        return room
