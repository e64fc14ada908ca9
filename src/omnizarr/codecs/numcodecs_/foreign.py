"""Codecs that other packages register with numcodecs.

After a codec with bytes as output, such a codec gets bytes. As the first one it gets the array, as in zarr-python,
because it may depend on shape and type. Its memory use is not limited, but the size of its results is checked. The
codecs of imagecodecs get the memory for their result, so that they need no more than a chunk.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems, describe, is_integer
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
    """The ids that numcodecs knows, including those that other packages register."""
    registry = import_library("numcodecs.registry")
    return {name for name in (*registry.codec_registry, *registry.entries) if isinstance(name, str)}


_IMAGECODECS = "imagecodecs_"
"""The beginning of the ids of the package imagecodecs."""

_LIMITS: dict[str, dict[str, tuple[int, int]]] = {
    "imagecodecs_lz4h5": {"blocksize": (1, 2**31 - 1), "level": (1, 65537)},
    "imagecodecs_rcomp": {"nblock": (1, 2**15)},
}
"""The smallest and largest numbers of options with which the library crashes otherwise."""


def is_in_numcodecs(id: str) -> bool:
    """Whether numcodecs knows a codec with this id. Registers the codecs of imagecodecs, if it is installed: unlike
    other packages, it does not do so itself."""
    if id.startswith(_IMAGECODECS) and id not in numcodecs_ids():
        try:
            import_library("imagecodecs.numcodecs").register_codecs([id], verbose=False)
        except ImportError:
            return False
    return id in numcodecs_ids()


class _Foreign(Codec):
    """Base of `Foreign` and `ForeignArray`: a codec with an opaque configuration, which includes the `id`."""

    private: ClassVar[bool] = True
    config: dict[str, Json]

    @property
    def id(self) -> str:
        return str(self.config["id"])

    @property
    def name(self) -> str:  # type: ignore[override]
        """The id, for error messages. zarr-python has no v3 name for these codecs."""
        return self.id

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Codec | None:
        raise AssertionError("only v2 documents contain such a codec")

    def configuration(self) -> dict[str, Json]:
        return dict(self.config)

    def to_config(self) -> dict[str, Json]:
        return {name: value for name, value in self.config.items() if name != "id"}

    def __hash__(self) -> int:
        return hash(json.dumps(self.config, sort_keys=True, default=str))

    def create(self, path: str, problems: Problems) -> Any:
        """The codec object of numcodecs. If numcodecs rejects the configuration, add to `problems` and return None."""
        for option, (least, most) in _LIMITS.get(self.id, {}).items():
            value = self.config.get(option)
            if value is not None and not (is_integer(value) and least <= value <= most):
                problems.expected(f"{path}.configuration.{option}", f"an integer from {least} to {most}", value)
                return None
        try:
            return import_library("numcodecs.registry").get_codec(dict(self.config))
        except Exception as error:  # third-party code may raise anything
            problems.add(path, f"codec `{self.id}` of numcodecs rejected {describe(self.config)}: {error}")
            return None


@dataclass(frozen=True, slots=True)
class Foreign(_Foreign, BytesCodec):
    """A codec of numcodecs that encodes bytes."""

    config: dict[str, Json]

    __hash__ = _Foreign.__hash__

    @classmethod
    def from_config(cls, config: dict[str, Json], path: str, problems: Problems) -> Self | None:
        """The codec for the object of a v2 document. Unlike for other codecs, `config` includes the `id`."""
        return cls(config)

    def for_array(self, stored: np.dtype[Any]) -> ForeignArray:
        """The codec as the first one, whose input is an array of type `stored`."""
        return ForeignArray(self.config, stored)

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundForeign | None:
        codec = self.create(path, problems)
        return None if codec is None else BoundForeign(spec, self.id, codec)


class BoundForeign(BoundBytesCodec):
    """A bound `Foreign`. It accepts any object with the buffer interface as result."""

    pace = 100

    __slots__ = ("_codec", "_id", "_spec", "encoded")

    def __init__(self, spec: ByteSpec, id: str, codec: Any) -> None:
        self._spec = spec
        self._id = id
        self._codec = codec
        self.encoded = compressed(spec)

    def encode(self, data: Buffer) -> Buffer:
        return _call(self._id, self._codec.encode, np.frombuffer(data, np.uint8))

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        decode = _bounded_decode(self._id, self._codec, (self._spec.size or self._spec.limit,), np.dtype(np.uint8))
        decoded = _call(self._id, decode, np.frombuffer(data, np.uint8))
        check_size(self._id, self._spec, len(decoded))
        return decoded


@dataclass(frozen=True, slots=True)
class ForeignArray(_Foreign, Serializer):
    """A codec of numcodecs that encodes arrays. `dtype` is the stored type, with its byte order."""

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
    """A bound `ForeignArray`. It passes the array in the stored byte order."""

    __slots__ = ("_codec", "_id", "_sanitizer", "_spec", "_stored", "encoded")

    def __init__(self, spec: ChunkSpec, id: str, codec: Any, stored: np.dtype[Any]) -> None:
        self._spec = spec
        self._id = id
        self._codec = codec
        self._stored = stored
        self._sanitizer = Sanitizer(spec.dtype)
        self.encoded = compressed(ByteSpec(spec.nbytes, spec.nbytes))

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        return _call(self._id, self._codec.encode, zeroed_padding(array, self._stored))

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        decode = _bounded_decode(self._id, self._codec, self._spec.shape, self._stored)
        decoded = _call(self._id, decode, np.frombuffer(data, np.uint8))
        check_size(self._id, ByteSpec(self._spec.nbytes, self._spec.nbytes), len(decoded))
        array: npt.NDArray[Any] = np.ndarray(self._spec.shape, self._stored, decoded)
        try:
            return self._sanitizer.sanitize(array.astype(self._spec.dtype))
        except ValueError as error:
            raise CodecError(self._id, str(error)) from None


class BoundForeignObjects(BoundSerializer):
    """A bound `ForeignArray` for arrays of objects."""

    __slots__ = ("_codec", "_id", "_spec", "encoded")

    def __init__(self, spec: ChunkSpec, id: str, codec: Any) -> None:
        self._spec = spec
        self._id = id
        self._codec = codec
        self.encoded = object_byte_spec()

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        return _call(self._id, self._codec.encode, np.ascontiguousarray(array).reshape(array.shape))

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        try:
            array = np.asarray(self._codec.decode(np.frombuffer(data, np.uint8)))
        except Exception as error:  # third-party code may raise anything
            raise CodecError(self._id, f"{type(error).__name__}: {error}") from None
        count = math.prod(self._spec.shape)
        if array.dtype != np.dtype(object) or array.size != count:
            raise CodecError(self._id, f"expected {count} objects, found {array.size} elements of type {array.dtype}")
        return array.reshape(self._spec.shape)


_SHAPED = frozenset(
    (
        *("bfloat16", "byteshuffle", "ccittfax3", "ccittfax4", "ccittrle", "checksum", "cms", "dds", "delta"),
        *("dicomrle", "eer", "float24", "floatpred", "meshopt", "packints", "pcodec", "quantize", "rcomp", "sz3"),
        "zfp",
    )
)
"""The codecs of imagecodecs that decode to arrays of the shape of a chunk and have no option `squeeze`."""


def _bounded_decode(id: str, codec: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The function that decodes a chunk. For a codec of imagecodecs, it includes the memory for the result, so that a
    damaged chunk cannot make it allocate more."""
    if not id.startswith(_IMAGECODECS):
        return codec.decode
    if hasattr(codec, "squeeze") or id.removeprefix(_IMAGECODECS) in _SHAPED:
        return partial(codec.decode, out=np.empty(shape, dtype))
    # Codecs of bytes stop without an error when the memory is full: one byte more shows that there is more. `pglz`
    # decodes only into memory of the right size.
    more = id != f"{_IMAGECODECS}pglz"
    return partial(codec.decode, out=np.empty(math.prod(shape) * dtype.itemsize + more, np.uint8))


def _call(id: str, function: Any, argument: npt.NDArray[Any]) -> memoryview:
    try:
        result = function(argument)
        array = result if isinstance(result, np.ndarray) else np.frombuffer(result, np.uint8)
        if array.dtype.hasobject:
            raise TypeError("expected bytes as result, found objects")
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    except Exception as error:  # third-party code may raise anything
        raise CodecError(id, f"{type(error).__name__}: {error}") from None
