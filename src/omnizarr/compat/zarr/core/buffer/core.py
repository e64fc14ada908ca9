"""Buffers: bytes (`Buffer`) and arrays (`NDBuffer`) that stores and codecs exchange."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

__all__ = [
    "ArrayLike",
    "Buffer",
    "BufferPrototype",
    "NDArrayLike",
    "NDArrayLikeOrScalar",
    "NDBuffer",
    "default_buffer_prototype",
    "numpy_buffer_prototype",
]


@runtime_checkable
class ArrayLike(Protocol):
    """Anything like a one-dimensional NumPy array."""

    dtype: Any
    ndim: Any
    size: Any

    def __getitem__(self, key: slice) -> Any: ...
    def __setitem__(self, key: slice, value: Any) -> None: ...


@runtime_checkable
class NDArrayLike(Protocol):
    """Anything like a NumPy array."""

    dtype: Any
    ndim: Any
    size: Any
    shape: Any

    def __len__(self) -> int: ...
    def __getitem__(self, key: slice) -> Any: ...
    def __setitem__(self, key: slice, value: Any) -> None: ...
    def __array__(self) -> Any: ...
    def reshape(self, shape: Any, *, order: Any = ...) -> Any: ...
    def view(self, dtype: Any) -> Any: ...
    def astype(self, dtype: Any, order: Any = ..., *, copy: bool = ...) -> Any: ...
    def fill(self, value: Any) -> None: ...
    def copy(self) -> Any: ...
    def transpose(self, axes: Any) -> Any: ...
    def ravel(self, order: Any = ...) -> Any: ...
    def all(self) -> Any: ...


NDArrayLikeOrScalar: TypeAlias = np.generic | bytes | str | NDArrayLike
ScalarType: TypeAlias = Any


def check_item_key_is_1d_contiguous(key: Any) -> None:
    """Raises unless `key` is a slice without a step."""
    if not isinstance(key, slice):
        raise TypeError(f"Item key has incorrect type (expected slice, got {key.__class__.__name__})")
    if key.step not in (None, 1):
        raise ValueError("slice must be contiguous")


class Buffer:
    """Bytes in memory."""

    def __init__(self, array_like: Any) -> None:
        if array_like.ndim != 1:
            raise ValueError("array_like: only 1-dim allowed")
        if array_like.dtype != np.dtype("B"):
            raise ValueError("array_like: only byte dtype allowed")
        self._data = array_like

    @classmethod
    def create_zero_length(cls) -> Self:
        """A buffer without bytes."""
        return cls(np.array([], dtype="B"))

    @classmethod
    def from_array_like(cls, array_like: Any) -> Self:
        """A buffer on a one-dimensional array of bytes."""
        return cls(array_like)

    @classmethod
    def from_buffer(cls, buffer: Buffer) -> Self:
        """A buffer of this class with the bytes of another one."""
        return cls.from_array_like(buffer.as_numpy_array())

    @classmethod
    def from_bytes(cls, bytes_like: Any) -> Self:
        """A buffer on bytes, without a copy."""
        return cls.from_array_like(np.frombuffer(bytes_like, dtype="B"))

    def as_array_like(self) -> Any:
        """The array of bytes."""
        return self._data

    def as_numpy_array(self) -> npt.NDArray[Any]:
        """The bytes as a NumPy array."""
        return np.asanyarray(self._data)

    def as_buffer_like(self) -> Any:
        """The bytes as a memoryview."""
        return memoryview(self.as_numpy_array())  # type: ignore[arg-type]

    def to_bytes(self) -> bytes:
        """A copy of the bytes."""
        return bytes(self.as_numpy_array())

    def __getitem__(self, key: slice) -> Self:
        check_item_key_is_1d_contiguous(key)
        return self.__class__(self._data[key])

    def __setitem__(self, key: slice, value: Any) -> None:
        check_item_key_is_1d_contiguous(key)
        self._data[key] = value.as_numpy_array() if isinstance(value, Buffer) else value

    def __len__(self) -> int:
        return int(self._data.size)

    def combine(self, others: Iterable[Buffer]) -> Self:
        """The bytes of this buffer and of others, one after the other."""
        parts = [self.as_numpy_array(), *(other.as_numpy_array() for other in others)]
        return self.__class__(np.concatenate(parts))

    def __add__(self, other: Buffer) -> Self:
        return self.combine([other])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and np.array_equal(self.as_numpy_array(), other.as_numpy_array())

    __hash__ = None  # type: ignore[assignment]


class NDBuffer:
    """An array in memory."""

    def __init__(self, array: Any) -> None:
        self._data = array

    @classmethod
    def create(cls, *, shape: Iterable[int], dtype: Any, order: Any = "C", fill_value: Any = None) -> Self:
        """A new array."""
        if fill_value is None or (isinstance(fill_value, int) and fill_value == 0):
            return cls(np.zeros(tuple(shape), dtype=dtype, order=order))
        return cls(np.full(tuple(shape), fill_value=fill_value, dtype=dtype, order=order))

    @classmethod
    def empty(cls, shape: tuple[int, ...], dtype: Any, order: Any = "C") -> Self:
        """A new array with arbitrary elements."""
        return cls.create(shape=shape, dtype=dtype, order=order)

    @classmethod
    def from_ndarray_like(cls, ndarray_like: Any) -> Self:
        """A buffer on an array."""
        return cls(ndarray_like)

    @classmethod
    def from_numpy_array(cls, array_like: Any) -> Self:
        """A buffer on a NumPy array."""
        return cls.from_ndarray_like(np.asanyarray(array_like))

    def as_ndarray_like(self) -> Any:
        """The array."""
        return self._data

    def as_numpy_array(self) -> npt.NDArray[Any]:
        """The array as a NumPy array."""
        return np.asanyarray(self._data)

    def as_scalar(self) -> Any:
        """The only element."""
        if self._data.size != 1:
            raise ValueError("Buffer does not contain a single scalar value")
        return self.as_numpy_array()[()]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._data.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""
        return self._data.shape  # type: ignore[no-any-return]

    @property
    def byteorder(self) -> Any:
        """`little` or `big`."""
        return {"<": "little", ">": "big"}.get(self.dtype.byteorder, sys.byteorder)

    def reshape(self, newshape: Any) -> Self:
        """The same elements in another shape."""
        return self.__class__(self._data.reshape(newshape))

    def squeeze(self, axis: tuple[int, ...]) -> Self:
        """The same elements without some dimensions of length 1."""
        return self.reshape(tuple(length for index, length in enumerate(self.shape) if index not in axis))

    def astype(self, dtype: Any, order: Any = "K") -> Self:
        """The elements converted to another type."""
        return self.__class__(self._data.astype(dtype=dtype, order=order))

    def __getitem__(self, key: Any) -> Self:
        return self.__class__(np.asanyarray(self._data[key]))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._data[key] = value._data if isinstance(value, NDBuffer) else value

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"<NDBuffer shape={self.shape} dtype={self.dtype} {self._data!r}>"

    def all_equal(self, other: Any, equal_nan: bool = True) -> bool:
        """Whether all elements equal `other`."""
        if other is None:
            return False
        kinds = equal_nan and self._data.dtype.kind not in "USTOV"
        return bool(np.array_equal(self._data, np.broadcast_to(other, self._data.shape), equal_nan=kinds))

    def fill(self, value: Any) -> None:
        """Sets all elements."""
        self._data.fill(value)

    def copy(self) -> Self:
        """A copy."""
        return self.__class__(self._data.copy())

    def transpose(self, axes: Any) -> Self:
        """The same elements with the dimensions in another order."""
        return self.__class__(self._data.transpose(axes))


class BufferPrototype(NamedTuple):
    """The classes for bytes and for arrays."""

    buffer: type[Buffer]
    nd_buffer: type[NDBuffer]


class CpuBuffer(Buffer):
    """Bytes in the memory of the process."""


class CpuNDBuffer(NDBuffer):
    """An array in the memory of the process."""


CpuBuffer.__name__ = CpuBuffer.__qualname__ = "Buffer"
CpuNDBuffer.__name__ = CpuNDBuffer.__qualname__ = "NDBuffer"
CpuBuffer.__module__ = CpuNDBuffer.__module__ = __name__.replace(".core.buffer.core", ".core.buffer.cpu")

_PROTOTYPE = BufferPrototype(CpuBuffer, CpuNDBuffer)


def default_buffer_prototype() -> BufferPrototype:
    """The classes that are used unless others are named."""
    return _PROTOTYPE


numpy_buffer_prototype = default_buffer_prototype
