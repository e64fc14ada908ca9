"""What a codec is: a small value that names itself and its configuration, and, once bound to what it will meet, a pair
of pure functions.

`bind` happens once per array and checks everything that can be checked; `encode` and `decode` happen once per chunk,
in many threads at once, and trust nothing but the spec they were bound to: the decoded size is known from the metadata
and is the limit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems
from omnizarr._registry import Registry

__all__ = [
    "ArrayCodec",
    "BoundArrayCodec",
    "BoundBytesCodec",
    "BoundSerializer",
    "Buffer",
    "ByteSpec",
    "BytesCodec",
    "ChunkSpec",
    "Codec",
    "Serializer",
    "codecs",
]

Buffer: TypeAlias = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True, eq=False)
class ChunkSpec:
    """What a codec that takes arrays will meet: all chunks have this shape and type."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fill: npt.NDArray[Any]
    """The fill value, as a 0-d array of `dtype`."""

    @property
    def nbytes(self) -> int:
        size = self.dtype.itemsize
        for length in self.shape:
            size *= length
        return size


@dataclass(frozen=True, slots=True)
class ByteSpec:
    """What a codec that takes bytes will meet."""

    size: int | None
    """How long the decoded bytes are; None if that differs from chunk to chunk."""
    limit: int
    """How long they may be at most."""
    itemsize: int = 1
    """How long one element is, where the bytes are an array's."""


class Codec(ABC):
    """A codec and its configuration: a value that compares equal, hashes, pickles and never changes."""

    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Codec | None:
        """Reads the `configuration` member found at `path`; adds to `problems` and gives None if it is wrong."""

    @abstractmethod
    def configuration(self) -> dict[str, Json]:
        """The `configuration` member; empty if there is none to write."""

    def to_json(self) -> dict[str, Json]:
        """The codec as a v3 document holds it: always an object, for readers of 3.0 (R19, A32)."""
        configuration = self.configuration()
        return {"name": self.name, "configuration": configuration} if configuration else {"name": self.name}


class BoundArrayCodec(ABC):
    """An array → array codec that knows what it will meet."""

    __slots__ = ()

    encoded: ChunkSpec
    order: tuple[int, ...] | None = None
    """If all it does is to permute the dimensions: its permutation."""

    @abstractmethod
    def encode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]: ...

    @abstractmethod
    def decode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]: ...


class BoundSerializer(ABC):
    """An array → bytes codec that knows what it will meet."""

    __slots__ = ()

    encoded: ByteSpec
    plain: bool = False
    """Whether the bytes are the array's own memory in C order, so that decoding is a view."""

    @abstractmethod
    def encode(self, array: npt.NDArray[Any]) -> Buffer: ...

    @abstractmethod
    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        """The array; it may be a read-only view of `data`."""


class BoundBytesCodec(ABC):
    """A bytes → bytes codec that knows what it will meet."""

    __slots__ = ()

    encoded: ByteSpec
    pace: int = 500
    """How many bytes it decodes in a microsecond, roughly: whether it pays to decode chunks in several threads."""

    @abstractmethod
    def encode(self, data: Buffer) -> Buffer: ...

    @abstractmethod
    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        """The decoded bytes. A codec that can may put them into `out`, which has exactly the decoded size, and give
        back `out` itself; the others ignore it."""


class ArrayCodec(Codec):
    """array → array."""

    def resolved(self, ndim: int) -> ArrayCodec:
        """The same codec for arrays of `ndim` dimensions, with nothing left to be chosen."""
        return self

    @abstractmethod
    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundArrayCodec | None: ...


class Serializer(Codec):
    """array → bytes."""

    @abstractmethod
    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundSerializer | None: ...


class BytesCodec(Codec):
    """bytes → bytes."""

    def resolved(self, itemsize: int) -> BytesCodec:
        """The same codec for a new array of elements of `itemsize` bytes, with nothing left to be chosen: what is
        chosen must be recorded (R91)."""
        return self

    @abstractmethod
    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundBytesCodec | None: ...


codecs: Registry[type[Codec]] = Registry("codec", "omnizarr.codecs")
