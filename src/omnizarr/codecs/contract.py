"""The codec contract: `Codec` is a value with a name and a configuration; its bound form encodes and decodes chunks.

`bind` runs once per array and checks everything that the metadata allows to check. `encode` and `decode` run once per
chunk, in many threads at once. They are pure functions. They trust only the spec they were bound to: it gives the
decoded size, which is the limit for any size found in the data.
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
from omnizarr.config import config
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
    "check_codec_count",
    "check_size",
    "codec_library",
    "codecs",
    "compressed",
    "intermediate_limit",
    "limited",
    "with_slack",
]

Buffer: TypeAlias = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True, eq=False)
class ChunkSpec:
    """Input of a codec that encodes arrays: the shape, type and fill value of every chunk."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fill: npt.NDArray[Any]
    """The fill value, as a 0-d array of `dtype`."""
    nbytes: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nbytes", self.dtype.itemsize * prod(self.shape))


@dataclass(frozen=True, slots=True)
class ByteSpec:
    """Input of a codec that encodes bytes."""

    size: int | None
    """Length of the decoded bytes; None if it differs from chunk to chunk."""
    limit: int
    """Maximum length of the decoded bytes."""
    itemsize: int = 1
    """Bytes per element, if the bytes are the memory of an array; otherwise 1."""
    ceiling: int | None = field(default=None, compare=False)
    """Maximum length of a chunk after any of the following codecs; None outside a `Chain`."""


class Codec(ABC):
    """A codec and its configuration: an immutable value that can be compared, hashed and pickled."""

    name: ClassVar[str]
    spec_rule: ClassVar[str | None] = None
    """The number of the rule that defines the configuration (docs/rules.md)."""
    private: ClassVar[bool] = False
    """Whether the name must not appear in a v3 document, because only other generations can store this codec."""
    needs: ClassVar[str | None] = None
    """The optional package that the codec requires. Without it, existing arrays still open, but encoding, decoding and
    creating an array with this codec fail."""
    shares_bound: ClassVar[bool] = False
    """Whether arrays with equal codecs may share the bound codec: `bind` depends on nothing but the fields that are
    compared, its arguments and the limits of `config`. Subclasses do not inherit it."""
    only_decodes: ClassVar[str | None] = None
    """The reason why the codec cannot encode, or None. Such arrays can be read but not created."""

    @classmethod
    @abstractmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Codec | None:
        """Parse the `configuration` member at `path`. If it is invalid, add to `problems` and return None."""

    @abstractmethod
    def configuration(self) -> dict[str, Json]:
        """The `configuration` member of a document; empty to leave it out."""

    def to_json(self) -> dict[str, Json]:
        """The codec in a v3 document. Always an object, because readers of Zarr 3.0 accept no bare name (R19, A32)."""
        configuration = self.configuration()
        return {"name": self.name, "configuration": configuration} if configuration else {"name": self.name}


class BoundArrayCodec(ABC):
    """An array → array codec, bound to a `ChunkSpec`."""

    __slots__ = ()

    encoded: ChunkSpec
    """The output of `encode`."""
    order: tuple[int, ...] | None = None
    """The permutation, if the codec only permutes dimensions."""

    @abstractmethod
    def encode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The array that the next codec gets."""

    @abstractmethod
    def decode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The array that `encode` got."""


class BoundSerializer(ABC):
    """An array → bytes codec, bound to a `ChunkSpec`."""

    __slots__ = ()

    encoded: ByteSpec
    """The output of `encode`."""
    plain: bool = False
    """Whether the bytes equal the memory of the array in C order, so that `decode` can return a view."""
    peak: int = 0
    """The `Chain.peak` of codecs inside this one; 0 if it has none."""

    @abstractmethod
    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        """The bytes of the array."""

    @abstractmethod
    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        """The array, which may be a read-only view of `data`."""


class BoundBytesCodec(ABC):
    """A bytes → bytes codec, bound to a `ByteSpec`."""

    __slots__ = ()

    encoded: ByteSpec
    """The output of `encode`."""
    pace: int = 500
    """Approximate decoding speed in bytes per microsecond. The engine uses it to decide whether threads pay off."""
    batches: bool = False
    """Whether `decode_many` decodes all values in one library call that releases the interpreter's lock."""
    parts: bool = False
    """Whether the codec implements `decode_part`, which is faster than `decode` and may read fewer stored bytes."""
    from_start: bool = False
    """Whether `decode_part` must decode everything before the requested part as well."""
    native: str | None = None
    """Name of this codec in the kernel, or None if the kernel does not implement it. Values that the kernel cannot
    decode are passed to `decode`."""
    native_options: tuple[Any, ...] = ()
    """Parameters that the kernel needs for encoding."""

    @abstractmethod
    def encode(self, data: Buffer) -> Buffer:
        """The bytes that are stored, or that the next codec gets."""

    @abstractmethod
    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        """The decoded bytes. `out` has exactly the decoded size: a codec may write into it and return `out` itself, or
        ignore it."""

    def decode_many(
        self,
        values: Sequence[Buffer | None],
        outs: Sequence[memoryview | None],
        room: memoryview | None = None,
    ) -> Sequence[Buffer | None]:
        """`decode` for many values; None stays None. `outs` may be longer than `values`.

        If `room` is given, the `outs` follow each other in it without gaps. A codec that fills `room` in one library
        call returns `outs` itself. Override this also to reduce the Python overhead per value.
        """
        decode = self.decode
        return [None if data is None else decode(data, out) for data, out in zip(values, outs, strict=False)]

    def decode_part(self, read: Callable[[int, int], Buffer], encoded: int, start: int, length: int) -> Buffer:
        """The decoded bytes from `start` to `start + length`. `encoded` is the length of the stored value, and
        `read(position, count)` returns `count` bytes of it."""
        raise AssertionError(f"{type(self).__name__}.parts is false, so decode_part must not be called")


class ArrayCodec(Codec):
    """An array → array codec (in `create_array`: a filter)."""

    def resolved(self, ndim: int) -> ArrayCodec:
        """The codec for a new array of `ndim` dimensions, with options that depend on `ndim` filled in."""
        return self

    def completed(self, dtype: np.dtype[Any]) -> ArrayCodec:
        """The codec for a new array of this type, with options that depend on the type filled in. Raises
        ArgumentError if the codec does not support the type."""
        return self

    def becomes(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The type after encoding, for arrays of type `dtype`."""
        return dtype

    @abstractmethod
    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundArrayCodec | None:
        """The codec for chunks as `spec` describes them. If it does not support them, it adds to `problems`, with the
        `path` in the document, and returns None."""


class Serializer(Codec):
    """An array → bytes codec."""

    chunk_keys: ClassVar[Json] = None
    """The `chunk_key_encoding` for new arrays with this codec, if other readers find the chunks only under that one."""
    only_read: ClassVar[frozenset[str]] = frozenset()
    """The names of data types that new arrays with this codec cannot have, because most readers reject them."""

    @abstractmethod
    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundSerializer | None:
        """The codec for chunks as `spec` describes them. If it does not support them, it adds to `problems`, with the
        `path` in the document, and returns None."""


class BytesCodec(Codec):
    """A bytes → bytes codec (in `create_array`: a compressor)."""

    def resolved(self, itemsize: int) -> BytesCodec:
        """The codec for a new array with elements of `itemsize` bytes, with options that depend on it filled in. The
        document must record the values used (R91)."""
        return self

    @abstractmethod
    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundBytesCodec | None:
        """The codec for chunks as `spec` describes them. If it does not support them, it adds to `problems`, with the
        `path` in the document, and returns None."""


codecs: Registry[type[Codec]] = Registry("codec", "omnizarr.codecs", subclass_of(Codec))


def codec_library(codec: type[Codec], module: str | None = None) -> Any:
    """Import the package that a codec `needs`, or a module of it. Raises MissingDependencyError if not installed."""
    assert codec.needs is not None
    return load_optional(f"codec `{codec.name}`", codec.needs, module)


def check_size(codec: str, spec: ByteSpec, size: int) -> None:
    """Raise CodecError unless `spec` allows a decoded value of `size` bytes."""
    if spec.size is not None:
        if size != spec.size:
            raise CodecError(codec, f"expected {spec.size} bytes, found {size}", expected=spec.size, found=size)
    elif size > spec.limit:
        raise CodecError(codec, f"expected at most {spec.limit} bytes, found {size}", expected=spec.limit, found=size)


def compressed(spec: ByteSpec) -> ByteSpec:
    """The output of a compressor whose input is `spec`.

    Headers and incompressible blocks can make the output longer than the input, but no real writer doubles it. The
    next codec rejects anything longer as malicious. `Chain.bind` also limits the growth by all codecs together.
    """
    return ByteSpec(size=None, limit=2 * spec.limit + 4096)


# -- limits for lists of codecs. Each compressor may lengthen its input. Without a common limit the allowances multiply,
# so that a document with many codecs could make a chunk of a few bytes take gigabytes between two of them.

_FACTOR = 16  # the largest growth that a filter has: from uint8 to complex128
_EXTRA = 2**17  # bytes for the headers of many codecs
_LARGEST = 2**62  # libraries take sizes as signed numbers of 64 bits


def check_codec_count(count: int, path: str, problems: Problems) -> bool:
    """Whether a list may have `count` codecs; otherwise add to `problems`."""
    limit = config.current.max_codecs
    if count > limit:
        problems.add(
            path,
            f"has {count} codecs, more than the {limit} allowed",
            hint="if you trust it, raise the limit with `omnizarr.config.set(max_codecs=...)`",
            rule="R18",
        )
    return count <= limit


def with_slack(limit: int) -> int:
    """`limit` plus an eighth and 128 KiB: how long a chunk of `limit` bytes may be between two codecs."""
    return min(limit + limit // 8 + _EXTRA, _LARGEST)


def intermediate_limit(serialized: ByteSpec, peak: int) -> int:
    """The largest size of a chunk between two bytes → bytes codecs: 16 times the serialized chunk plus 128 KiB, and not
    more than `with_slack` of `max_chunk_bytes`, or of `peak`, the largest size that the metadata give exactly."""
    return min(_FACTOR * serialized.limit + _EXTRA, with_slack(max(config.current.max_chunk_bytes, peak)))


def limited(spec: ByteSpec, ceiling: int) -> ByteSpec:
    """`spec` with this ceiling. It also limits the length, unless the length is exact, which `Layout.check_size`
    checks."""
    return ByteSpec(
        spec.size, spec.limit if spec.size is not None else min(spec.limit, ceiling), spec.itemsize, ceiling
    )
