"""Wrappers for third-party codecs: they turn every exception into a CodecError and check the shape, type or size of
every result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import contract
from omnizarr.codecs.contract import (
    BoundArrayCodec,
    BoundBytesCodec,
    BoundSerializer,
    Buffer,
    ByteSpec,
    ChunkSpec,
    check_size,
)
from omnizarr.errors import CodecError, OmnizarrError

__all__ = ["wrap_third_party"]

T = TypeVar("T")
B = TypeVar("B", BoundArrayCodec, BoundSerializer, BoundBytesCodec)


def wrap_third_party(name: str, bound: B, spec: Any) -> B:
    """Wrap a bound codec in checks, unless its class or a base class comes from omnizarr. `spec` is what it was bound
    to."""
    if _is_from_omnizarr(type(bound)):
        return bound
    wrappers = {
        BoundArrayCodec: _CheckedArrayCodec,
        BoundSerializer: _CheckedSerializer,
        BoundBytesCodec: _CheckedBytesCodec,
    }
    wrapped: Any = next((wrap(name, bound, spec) for kind, wrap in wrappers.items() if isinstance(bound, kind)), bound)
    return wrapped  # type: ignore[no-any-return]


@lru_cache(256)
def _is_from_omnizarr(cls: type[Any]) -> bool:
    modules = {base.__module__ for base in cls.__mro__} - {contract.__name__}
    return any(module.startswith("omnizarr.") for module in modules)


def _call(name: str, function: Callable[..., T], *arguments: Any) -> T:
    try:
        return function(*arguments)
    except (OmnizarrError, MemoryError):
        raise
    except Exception as error:
        raise CodecError(name, f"{type(error).__name__}: {error}") from error


def _check_array(name: str, array: Any, spec: ChunkSpec) -> npt.NDArray[Any]:
    if not isinstance(array, np.ndarray) or array.shape != spec.shape or array.dtype != spec.dtype:
        actual = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise CodecError(name, f"expected {spec.dtype} of shape {spec.shape}, found {actual}")
    return array


def _size(data: Buffer) -> int:
    return memoryview(data).nbytes


class _CheckedArrayCodec(BoundArrayCodec):
    __slots__ = ("_bound", "_name", "_spec", "encoded", "order")

    def __init__(self, name: str, bound: BoundArrayCodec, spec: ChunkSpec) -> None:
        self._name, self._bound, self._spec = name, bound, spec
        self.encoded = bound.encoded
        self.order = bound.order

    def encode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return _check_array(self._name, _call(self._name, self._bound.encode, array), self.encoded)

    def decode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return _check_array(self._name, _call(self._name, self._bound.decode, array), self._spec)


class _CheckedSerializer(BoundSerializer):
    __slots__ = ("_bound", "_name", "_spec", "encoded", "plain")

    def __init__(self, name: str, bound: BoundSerializer, spec: ChunkSpec) -> None:
        self._name, self._bound, self._spec = name, bound, spec
        self.encoded = bound.encoded
        self.plain = bound.plain

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        return _call(self._name, self._bound.encode, array)

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        return _check_array(self._name, _call(self._name, self._bound.decode, data), self._spec)


class _CheckedBytesCodec(BoundBytesCodec):
    __slots__ = ("_bound", "_name", "_spec", "batches", "encoded", "pace", "parts")

    def __init__(self, name: str, bound: BoundBytesCodec, spec: ByteSpec) -> None:
        self._name, self._bound, self._spec = name, bound, spec
        self.encoded = bound.encoded
        self.pace, self.batches, self.parts = bound.pace, bound.batches, bound.parts

    def encode(self, data: Buffer) -> Buffer:
        return _call(self._name, self._bound.encode, data)

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        decoded = _call(self._name, self._bound.decode, data, out)
        if decoded is not out:
            check_size(self._name, self._spec, _call(self._name, _size, decoded))
        return decoded

    def decode_many(
        self, values: Sequence[Buffer | None], outs: Sequence[memoryview | None], room: memoryview | None = None
    ) -> Sequence[Buffer | None]:
        return _call(self._name, self._bound.decode_many, values, outs, room)

    def decode_part(self, read: Callable[[int, int], Buffer], encoded: int, start: int, length: int) -> Buffer:
        return _call(self._name, self._bound.decode_part, read, encoded, start, length)
