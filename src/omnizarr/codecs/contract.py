"""What a codec is: a small value that names itself and its configuration, and, once bound to what it will meet, a pair
of pure functions.

`bind` happens once per array and checks everything that can be checked; `encode` and `decode` happen once per chunk,
in many threads at once, and trust nothing but the spec they were bound to: the decoded size is known from the metadata
and is the limit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr._imports import load_optional
from omnizarr._json import Json, Problems
from omnizarr._registry import Registry, subclass_of
from omnizarr.errors import CodecError

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
    "check_size",
    "codec_library",
    "codecs",
    "compressed",
]

Buffer: TypeAlias = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True, eq=False)
class ChunkSpec:
    """What a codec that takes arrays will meet: all chunks have this shape and type."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fill: npt.NDArray[Any]
    """The fill value, as a 0-d array of `dtype`."""
    nbytes: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nbytes", self.dtype.itemsize * prod(self.shape))


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
    private: ClassVar[bool] = False
    """Whether no document of version 3 names it: it stands for something that only other generations can store."""
    needs: ClassVar[str | None] = None
    """The package without which it can do nothing, if not every installation has it. Arrays that have the codec are
    opened all the same, and no new one is given it where the package is missing."""
    only_decodes: ClassVar[str | None] = None
    """Why it can only decode, if that is so: an array that has it can be read, and no new one can be given it."""

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
    batches: bool = False
    """Whether `decode_many` decodes all values in one call of the library, in which other threads may run."""
    parts: bool = False
    """Whether it has `decode_part`, which takes less time, and may take less of what is stored, than `decode`."""
    from_start: bool = False
    """Whether `decode_part` has to decode all that comes before, too."""
    native: str | None = None
    """Its name in the compiled loop over chunks, which then decodes as `decode` does, or leaves it to it."""
    native_options: tuple[Any, ...] = ()
    """What that has to know to encode."""

    @abstractmethod
    def encode(self, data: Buffer) -> Buffer: ...

    @abstractmethod
    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        """The decoded bytes. A codec that can may put them into `out`, which has exactly the decoded size, and give
        back `out` itself; the others ignore it."""

    def decode_many(
        self,
        values: Sequence[Buffer | None],
        outs: Sequence[memoryview | None],
        room: memoryview | None = None,
    ) -> Sequence[Buffer | None]:
        """The same for many values, None for those that are None; there may be more `outs`. In `room`, where it is
        given, the `outs` lie one after the other without gaps: a codec that can fill it in one call gives back `outs`
        itself. Others can save some of what Python adds to each."""
        decode = self.decode
        return [None if data is None else decode(data, out) for data, out in zip(values, outs, strict=False)]

    def decode_part(self, read: Callable[[int, int], Buffer], encoded: int, start: int, length: int) -> Buffer:
        """`length` of the decoded bytes from `start` on, of a value that has `encoded` bytes; `read` gives some of
        those, from a position on, so many."""
        raise AssertionError(f"{type(self).__name__} says that it decodes no parts")


class ArrayCodec(Codec):
    """array → array."""

    def resolved(self, ndim: int) -> ArrayCodec:
        """The same codec for arrays of `ndim` dimensions, with nothing left to be chosen."""
        return self

    def completed(self, dtype: np.dtype[Any]) -> ArrayCodec:
        """The same codec for arrays of this type, with nothing left open; ArgumentError if it cannot take them."""
        return self

    def becomes(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The type of what it makes of arrays of this type."""
        return dtype

    @abstractmethod
    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundArrayCodec | None: ...


class Serializer(Codec):
    """array → bytes."""

    chunk_keys: ClassVar[Json] = None
    """The `chunk_key_encoding` of new arrays that have it, if there is but one by which others find the chunks."""

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


codecs: Registry[type[Codec]] = Registry("codec", "omnizarr.codecs", subclass_of(Codec))


def codec_library(codec: type[Codec], module: str | None = None) -> Any:
    """The library that a codec `needs`, or a module of it; MissingDependencyError if it is not installed."""
    assert codec.needs is not None
    return load_optional(f"codec `{codec.name}`", codec.needs, module)


def check_size(codec: str, spec: ByteSpec, found: int) -> None:
    """Raises unless a decoded length of `found` is what `spec` says."""
    if spec.size is not None:
        if found != spec.size:
            raise CodecError(codec, f"expected {spec.size} bytes, found {found}", expected=spec.size, found=found)
    elif found > spec.limit:
        raise CodecError(codec, f"expected at most {spec.limit} bytes, found {found}", expected=spec.limit, found=found)


def compressed(spec: ByteSpec) -> ByteSpec:
    """What a compressor turns `spec` into. Compression may lengthen, by headers and by blocks that did not shrink; no
    real writer doubles the length, so a longer input of the next codec is refused as hostile."""
    return ByteSpec(size=None, limit=2 * spec.limit + 4096)
