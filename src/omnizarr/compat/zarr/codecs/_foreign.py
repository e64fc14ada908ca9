"""Codecs that a program wrote for zarr-python, as codecs of omnizarr.

`zarr.registry.register_codec` and the entry points `zarr.codecs` name them. Their coroutines run on the event loop of
this package, one chunk at a time for each thread of the engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems
from omnizarr._registry import Registry
from omnizarr.codecs.contract import (
    ArrayCodec,
    BoundArrayCodec,
    BoundBytesCodec,
    BoundSerializer,
    Buffer,
    BytesCodec,
    ByteSpec,
    ChunkSpec,
    Codec,
    Serializer,
    check_size,
    codecs,
    compressed,
)
from omnizarr.compat.zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BaseCodec
from omnizarr.compat.zarr.core.array_spec import ArraySpec, parse_array_config
from omnizarr.compat.zarr.core.buffer.core import default_buffer_prototype
from omnizarr.compat.zarr.core.dtype import UInt8, VariableLengthUTF8, of_native
from omnizarr.compat.zarr.core.sync import sync
from omnizarr.errors import CodecError, OmnizarrError

__all__ = ["own_class", "register_lookup"]

_GROWTH = 64  # a chunk as text, such as JSON, is longer than its elements; nothing sensible is this much longer


def _run(codec: Any, action: str, data: Any, spec: Any) -> Any:
    """Encodes or decodes one chunk. Every exception of the codec becomes a CodecError."""
    try:
        plain = getattr(codec, f"_{action}_sync", None)
        if plain is not None:
            return plain(data, spec)
        if getattr(type(codec), action) is not getattr(BaseCodec, action):
            return next(iter(sync(getattr(codec, action)([(data, spec)]))))
        return sync(getattr(codec, f"_{action}_single")(data, spec))
    except (OmnizarrError, MemoryError):
        raise
    except Exception as error:
        raise CodecError(type(codec).__name__, f"{type(error).__name__}: {error}") from error


def _array_spec(spec: ChunkSpec) -> ArraySpec:
    kind = VariableLengthUTF8() if spec.dtype.kind in "OT" else of_native(spec.dtype)
    return ArraySpec(spec.shape, kind, spec.fill[()], parse_array_config(None), default_buffer_prototype())


def _array(name: str, buffer: Any, spec: ChunkSpec) -> npt.NDArray[Any]:
    array = np.asarray(buffer.as_numpy_array())
    if array.shape != spec.shape or array.dtype != spec.dtype:
        raise CodecError(name, f"expected {spec.dtype} of shape {spec.shape}, found {array.dtype} of {array.shape}")
    return array


class _BoundArrayArray(BoundArrayCodec):
    """An array → array codec for chunks of one shape and type."""

    def __init__(self, name: str, codec: Any, spec: ChunkSpec) -> None:
        self._name, self._spec, self._given = name, spec, _array_spec(spec)
        self._codec = codec.evolve_from_array_spec(self._given)
        after = self._codec.resolve_metadata(self._given)
        dtype = spec.dtype if after.dtype == self._given.dtype else after.dtype.to_native_dtype()
        fill = np.empty((), dtype)
        fill[()] = after.fill_value
        self.encoded = ChunkSpec(tuple(after.shape), dtype, fill)

    def encode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        buffer = self._given.prototype.nd_buffer.from_numpy_array(array)
        return _array(self._name, _run(self._codec, "encode", buffer, self._given), self.encoded)

    def decode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        buffer = self._given.prototype.nd_buffer.from_numpy_array(array)
        return _array(self._name, _run(self._codec, "decode", buffer, self._given), self._spec)


class _BoundArrayBytes(BoundSerializer):
    """An array → bytes codec for chunks of one shape and type."""

    def __init__(self, name: str, codec: Any, spec: ChunkSpec) -> None:
        self._name, self._spec, self._given = name, spec, _array_spec(spec)
        self._codec = codec.evolve_from_array_spec(self._given)
        self.encoded = ByteSpec(None, _GROWTH * spec.nbytes + 2**20)

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        buffer = self._given.prototype.nd_buffer.from_numpy_array(array)
        return bytes(_run(self._codec, "encode", buffer, self._given).to_bytes())

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        buffer = self._given.prototype.buffer.from_bytes(bytes(data))
        return _array(self._name, _run(self._codec, "decode", buffer, self._given), self._spec)


class _BoundBytesBytes(BoundBytesCodec):
    """A bytes → bytes codec. omnizarr does not tell it the shape of the chunk: its spec is that of the bytes."""

    def __init__(self, name: str, codec: Any, spec: ByteSpec) -> None:
        self._name, self._codec, self._spec = name, codec, spec
        self._prototype = default_buffer_prototype()
        self.encoded = compressed(spec)

    def _run(self, action: str, data: Buffer) -> bytes:
        bytes_spec = ArraySpec((len(data),), UInt8(), 0, parse_array_config(None), self._prototype)
        return bytes(_run(self._codec, action, self._prototype.buffer.from_bytes(bytes(data)), bytes_spec).to_bytes())

    def encode(self, data: Buffer) -> Buffer:
        return self._run("encode", data)

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        decoded = self._run("decode", data)
        check_size(self._name, self._spec, len(decoded))
        return decoded


_BOUND: dict[Any, Callable[[str, Any, Any], Any]] = {
    ArrayCodec: _BoundArrayArray,
    Serializer: _BoundArrayBytes,
    BytesCodec: _BoundBytesBytes,
}


class _Foreign:
    """What the codecs of omnizarr for classes of zarr-python have in common."""

    name: ClassVar[str]
    _foreign: ClassVar[Any]
    _kind: ClassVar[type[Codec]]
    _codec: Any

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Any:
        document: dict[str, Any] = {"name": cls.name}
        if configuration:
            document["configuration"] = configuration
        try:
            codec = cls._foreign.from_dict(document)
        except Exception as error:
            problems.add(path, f"{type(error).__name__}: {error}")
            return None
        own = cls()
        own._codec = codec
        return own

    def configuration(self) -> dict[str, Json]:
        document = self._codec.to_dict()
        configuration: dict[str, Json] = json.loads(json.dumps(document.get("configuration") or {}))
        return configuration

    def bind(self, spec: Any, path: str, problems: Problems) -> Any:
        try:
            return _BOUND[self._kind](self.name, self._codec, spec)
        except Exception as error:
            problems.add(path, f"codec `{self.name}` does not fit the array: {type(error).__name__}: {error}")
            return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Foreign) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.name, type(self)._foreign, json.dumps(self.configuration(), sort_keys=True)

    def __repr__(self) -> str:
        return repr(self._codec)

    def __reduce__(self) -> Any:
        return _restored, (self.name, type(self)._foreign, self._codec)


def _restored(name: str, foreign: Any, codec: Any) -> Any:
    own: Any = own_class(name, foreign)()
    own._codec = codec
    return own


@lru_cache(256)
def own_class(name: str, foreign: Any) -> Any:
    """The codec class of omnizarr for a class of zarr-python."""
    kind: type[Codec] = (
        ArrayCodec
        if issubclass(foreign, ArrayArrayCodec)
        else Serializer
        if issubclass(foreign, ArrayBytesCodec)
        else BytesCodec
    )
    members = {"name": name, "_foreign": foreign, "_kind": kind, "__module__": __name__}
    return type(foreign.__name__, (_Foreign, kind), members)


def register_lookup(find: Callable[[str], Any]) -> None:
    """Lets omnizarr find classes of zarr-python by name, after its own codecs. `find` returns None without one."""

    def look_up(name: str) -> Any:
        foreign = find(name)
        return None if foreign is None else own_class(name, foreign)

    codecs.further.append(look_up)
    Registry.changes += 1
