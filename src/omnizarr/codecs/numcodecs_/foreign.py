"""Codecs that others have registered with numcodecs: used through it, without a look inside.

Behind bytes such a codec gets bytes. Directly behind the array it gets an array, as zarr-python gives it, because it
may want to know the shape and the type. How much memory it takes is its own affair; what it gives is checked
afterwards.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems, describe
from omnizarr.codecs.contract import (
    BoundBytesCodec,
    BoundSerializer,
    Buffer,
    BytesCodec,
    ByteSpec,
    ChunkSpec,
    Codec,
    Serializer,
    check_size,
    compressed,
)
from omnizarr.codecs.numcodecs_.objects.items import object_byte_spec
from omnizarr.dtypes.record_padding import native_layout, zeroed_padding
from omnizarr.dtypes.sanitize import Sanitizer
from omnizarr.errors import CodecError

__all__ = ["Foreign", "ForeignArray", "is_in_numcodecs", "numcodecs_ids"]


def numcodecs_ids() -> set[str]:
    """The ids that numcodecs knows, those that other packages offer to it included."""
    registry = import_library("numcodecs.registry")
    return {name for name in (*registry.codec_registry, *registry.entries) if isinstance(name, str)}


def is_in_numcodecs(id: str) -> bool:
    """Whether numcodecs knows a codec of that id."""
    return id in numcodecs_ids()


class _Foreign(Codec):
    """A codec as its configuration, `id` included, which nobody here understands."""

    private: ClassVar[bool] = True
    config: dict[str, Json]

    @property
    def id(self) -> str:
        return str(self.config["id"])

    @property
    def name(self) -> str:  # type: ignore[override]
        """As messages call it: by the id, since zarr-python has no name for it in version 3 either."""
        return self.id

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Codec | None:
        raise AssertionError("it stands in documents of version 2 alone")

    def configuration(self) -> dict[str, Json]:
        return dict(self.config)

    def to_config(self) -> dict[str, Json]:
        return {name: value for name, value in self.config.items() if name != "id"}

    def __hash__(self) -> int:
        return hash(json.dumps(self.config, sort_keys=True, default=str))

    def create(self, path: str, problems: Problems) -> Any:
        """numcodecs' own object, or None with a problem."""
        try:
            return import_library("numcodecs.registry").get_codec(dict(self.config))
        except Exception as error:  # anything may happen in code that nobody here knows
            problems.add(path, f"codec `{self.id}`, which numcodecs offers, refuses {describe(self.config)}: {error}")
            return None


@dataclass(frozen=True, slots=True)
class Foreign(_Foreign, BytesCodec):
    """bytes → bytes."""

    config: dict[str, Json]

    __hash__ = _Foreign.__hash__

    @classmethod
    def from_config(cls, config: dict[str, Json], path: str, problems: Problems) -> Self | None:
        """Reads the object of a document of version 2; this one with its `id`."""
        return cls(config)

    def for_array(self, stored: np.dtype[Any]) -> ForeignArray:
        """The same codec where it stands directly behind an array; `stored` is the type that it gets."""
        return ForeignArray(self.config, stored)

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundForeign | None:
        codec = self.create(path, problems)
        return None if codec is None else BoundForeign(spec, self.id, codec)


class BoundForeign(BoundBytesCodec):
    """Gives the codec bytes, and takes whatever holds bytes."""

    pace = 100

    __slots__ = ("_codec", "_id", "_spec", "encoded")

    def __init__(self, spec: ByteSpec, id: str, codec: Any) -> None:
        self._spec = spec
        self._id = id
        self._codec = codec
        self.encoded = compressed(spec)

    def encode(self, data: Buffer) -> Buffer:
        return _called(self._id, self._codec.encode, np.frombuffer(data, np.uint8))

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        decoded = _called(self._id, self._codec.decode, np.frombuffer(data, np.uint8))
        check_size(self._id, self._spec, len(decoded))
        return decoded


@dataclass(frozen=True, slots=True)
class ForeignArray(_Foreign, Serializer):
    """array → bytes. `dtype` is the type that is stored, with its byte order."""

    config: dict[str, Json]
    dtype: np.dtype[Any]

    __hash__ = _Foreign.__hash__

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundForeignArray | BoundForeignObjects | None:
        codec = self.create(path, problems)
        if codec is None:
            return None
        if spec.dtype == np.dtype(object):
            return BoundForeignObjects(spec, self.id, codec)
        if spec.dtype.hasobject or native_layout(self.dtype) != spec.dtype:
            problems.add(path, f"codec `{self.id}` cannot store elements of type {spec.dtype} as {self.dtype}")
            return None
        return BoundForeignArray(spec, self.id, codec, self.dtype)


class BoundForeignArray(BoundSerializer):
    """Gives the codec an array in the byte order that is stored, and takes whatever holds its bytes."""

    __slots__ = ("_codec", "_id", "_sanitizer", "_spec", "_stored", "encoded")

    def __init__(self, spec: ChunkSpec, id: str, codec: Any, stored: np.dtype[Any]) -> None:
        self._spec = spec
        self._id = id
        self._codec = codec
        self._stored = stored
        self._sanitizer = Sanitizer(spec.dtype)
        self.encoded = compressed(ByteSpec(spec.nbytes, spec.nbytes))

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        return _called(self._id, self._codec.encode, zeroed_padding(array, self._stored))

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        decoded = _called(self._id, self._codec.decode, np.frombuffer(data, np.uint8))
        check_size(self._id, ByteSpec(self._spec.nbytes, self._spec.nbytes), len(decoded))
        array: npt.NDArray[Any] = np.ndarray(self._spec.shape, self._stored, decoded)
        try:
            return self._sanitizer.sanitize(array.astype(self._spec.dtype))
        except ValueError as error:
            raise CodecError(self._id, str(error)) from None


class BoundForeignObjects(BoundSerializer):
    """Gives the codec an array of objects, and takes as many objects from it."""

    __slots__ = ("_codec", "_id", "_spec", "encoded")

    def __init__(self, spec: ChunkSpec, id: str, codec: Any) -> None:
        self._spec = spec
        self._id = id
        self._codec = codec
        self.encoded = object_byte_spec()

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        return _called(self._id, self._codec.encode, np.ascontiguousarray(array).reshape(array.shape))

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        try:
            found = np.asarray(self._codec.decode(np.frombuffer(data, np.uint8)))
        except Exception as error:  # anything may happen in code that nobody here knows
            raise CodecError(self._id, f"{type(error).__name__}: {error}") from None
        count = math.prod(self._spec.shape)
        if found.dtype != np.dtype(object) or found.size != count:
            raise CodecError(self._id, f"expected {count} objects, found {found.size} elements of type {found.dtype}")
        return found.reshape(self._spec.shape)


def _called(id: str, function: Any, argument: npt.NDArray[Any]) -> memoryview:
    try:
        found = function(argument)
        array = found if isinstance(found, np.ndarray) else np.frombuffer(found, np.uint8)
        if array.dtype.hasobject:
            raise TypeError("it gave objects instead of bytes")
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    except Exception as error:  # anything may happen in code that nobody here knows
        raise CodecError(id, f"{type(error).__name__}: {error}") from None
